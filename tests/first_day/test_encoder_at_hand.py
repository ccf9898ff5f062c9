"""The first day with an encoder installed, and without: import, search, info, check; nobody asks for the encoder."""

import json
import os
import re
import subprocess
import sys

import pytest

from askalike import rankers
from askalike.calibration.calibration import ABSTENTION_SUFFIX, FOLDER
from askalike.core.errors import InputError
from askalike.core.files import compute_sha256
from askalike.core.records import Question
from askalike.encoders import build, find_package
from askalike.encoders._packaged import ModelPackage, PackagedEncoder, PackageFile
from askalike.rankers import dense
from askalike.search import interim
from askalike.search.encoder_installation import fitting_encoder
from askalike.service.served_archive import ArchiveEncoders
from askalike.store import Archive, get_served_ranker
from askalike.store.deployments import get_archive_encoder
from askalike.store.encoding_progress import announce_encoding, read_encoding, record_encoding
from askalike.tuning.pseudo_queries import try_encoders
from commands import askalike
from needs import need
from small_models import WORDS, write_encoder
from waiting import wait_for

need("onnxruntime", "onnx", "safetensors", "tokenizers")

NAME = "minilm_l6"
TITLES = ["how do i cook rice", "my bike was stolen at night", "the police asks why", "without burning it in a pot"]


@pytest.fixture
def at_hand(tmp_path, monkeypatch):
    """A package with a small encoder in the place of the one that the extra installs."""
    from askalike.encoders.minilm_l6 import MinilmL6Encoder, english_words

    english_words()  # of the real vocabulary, which is read once
    folder = tmp_path / "site" / "small_package"
    write_encoder(folder / "model", [*dict.fromkeys(WORDS)])
    weights = folder / "model" / "model.safetensors"
    file = PackageFile("small", folder.name, "model/model.safetensors", compute_sha256(weights))
    monkeypatch.setattr(MinilmL6Encoder, "package", find_package(NAME)._replace(weights=file, vocabulary=None))
    monkeypatch.setattr(MinilmL6Encoder, "_load_model", PackagedEncoder._load_model)
    monkeypatch.syspath_prepend(str(folder.parent))
    return weights


@pytest.fixture
def not_at_hand(monkeypatch):
    """No package with an encoder."""
    from askalike.encoders.e5_small import E5SmallEncoder
    from askalike.encoders.minilm_l6 import MinilmL6Encoder

    for encoder in (MinilmL6Encoder, E5SmallEncoder):
        missing = encoder.package.weights._replace(module="no_such_package")
        monkeypatch.setattr(encoder, "package", encoder.package._replace(weights=missing))
    monkeypatch.setattr(ModelPackage, "install_command", "install it")


@pytest.fixture
def background(monkeypatch):
    """The archives whose vectors would be computed in the background."""
    started = []

    def start(archive, missing):
        started.append(archive.path)
        return read_encoding(archive.path, missing.encoder)

    monkeypatch.setattr("askalike.cli.archives.start_encoding", start)
    monkeypatch.setattr("askalike.search.archive_retriever.start_encoding", start)
    return started


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "faq.csv"
    path.write_text("title\n" + "\n".join(TITLES), encoding="utf-8")
    return path


def import_table(table, *options):
    archive = table.with_name("archive")
    done = askalike("import", "table", table, "-o", archive, "--language", "en", *options)
    assert done.returncode == 0, done.stderr
    return archive, done.stderr


def served(archive):
    with Archive.open(archive) as opened:
        ranker = get_served_ranker(opened)
        return ranker and ranker.part_names


def test_import_without_an_encoder_keeps_words(table, not_at_hand):
    archive, said = import_table(table)
    assert served(archive) is None
    assert f"install it, askalike encoder use {archive} {NAME}" in said


def test_import_adopts_the_encoder_that_knows_the_language(table, at_hand):
    archive, said = import_table(table)
    assert served(archive) == ("hybrid", "lm_jelinek_mercer", NAME)
    assert f"encoder: {NAME}" in said
    with Archive.open(archive) as opened:
        assert get_archive_encoder(opened).digests == {}, "nothing is copied"
    found = askalike("search", archive, "rice", "--min-similarity", "0", "--explain", "--verbose").stdout
    assert "how do i cook rice" in found
    assert NAME in found
    assert "encoded" not in askalike("info", archive).stdout


def test_import_in_another_language_keeps_words(table, at_hand):
    done = askalike("import", "table", table, "-o", table.with_name("archive"), "--language", "de")
    assert done.returncode == 0
    assert served(table.with_name("archive")) is None


@pytest.mark.parametrize(("german", "adopted"), [(3, NAME), (5, None)])
def test_mixed_archive_gets_an_encoder_knowing_half(archive, at_hand, german, adopted):
    languages = ["de"] * german + ["en"] * 4
    archive.upsert([Question(str(n), "rice", language=language) for n, language in enumerate(languages)])
    assert fitting_encoder(archive) == adopted


def test_encoder_none_keeps_words(table, at_hand):
    archive, _ = import_table(table, "--encoder", "none")
    assert served(archive) is None
    assert "encoder" not in import_table(table)[1], "it is not suggested after that"


def test_an_existing_archive_is_told_once(table, at_hand):
    with Archive.create(table.with_name("archive")) as archive:
        archive.upsert([Question("own", "rice", language="en")])
    archive, said = import_table(table)
    assert f"askalike encoder use {archive} {NAME}" in said
    assert NAME not in import_table(table)[1]
    assert served(archive) is None
    assert askalike("encoder", "use", archive, NAME).returncode == 0
    assert served(archive) == ("hybrid", "lm_jelinek_mercer", NAME)


def test_words_answer_until_the_vectors_are_complete(table, at_hand, background, monkeypatch):
    monkeypatch.setattr(interim, "AT_ONCE", 2)
    monkeypatch.setattr(dense, "MAX_FOLLOWED", 2)
    archive, said = import_table(table)
    assert "words answer now" in said
    assert background == [archive]
    first = askalike("search", archive, "rice", "--min-similarity", "0", "--explain", "--verbose")
    assert "how do i cook rice" in first.stdout
    assert "words answer until the vectors of minilm_l6 are complete: 0 of 4" in first.stderr
    assert NAME not in first.stdout
    assert "0 of 4 questions are encoded" in " ".join(askalike("info", archive).stdout.split())
    [finding] = [f for f in json.loads(askalike("check", archive, "--json").stdout)["findings"]
                 if f["name"] == "missing_vectors"]  # fmt: skip
    assert (finding["count"], finding["n"]) == (4, 4)
    interim.encode(archive)
    second = askalike("search", archive, "rice", "--min-similarity", "0", "--explain", "--verbose")
    assert "words answer" not in second.stderr
    assert NAME in second.stdout
    with Archive.open(archive) as opened:
        assert read_encoding(opened.path, NAME) is None


def test_a_named_ranker_is_not_replaced(table, at_hand, background, monkeypatch):
    monkeypatch.setattr(interim, "AT_ONCE", 2)
    archive, _ = import_table(table)
    done = askalike("search", archive, "rice", "--ranker", NAME, "--min-similarity", "0")
    assert "words answer" not in done.stderr


def test_the_background_process_builds_what_is_active(tmp_path):
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question(str(n), title) for n, title in enumerate(TITLES)])
        interim.start_encoding(archive, interim.MissingVectors(NAME, 4))
    wait_for(lambda: list((tmp_path / "archive" / FOLDER).glob(f"*{ABSTENTION_SUFFIX}")))  # the last file it writes
    with Archive.open(tmp_path / "archive") as archive:
        assert all(index.change for index in rankers.create(None, {}, archive).indexes(archive.view()))


def test_the_background_process_yields_to_other_sessions():
    code = f"from {interim.__name__} import lower_priority; lower_priority(7)\n" + (
        "import os, pathlib; group = pathlib.Path('/proc/self/autogroup')\n"
        "print(os.getpriority(os.PRIO_PROCESS, 0), group.read_text() if group.exists() else 'nice 7')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, start_new_session=True)
    priority = min(os.getpriority(os.PRIO_PROCESS, 0) + 7, 19)
    assert re.fullmatch(rf"{priority} .*nice 7\n*", run.stdout), run.stdout + run.stderr


def test_other_weights_are_refused(at_hand):
    with open(at_hand, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x07")
    with pytest.raises(InputError, match="not the file of all-MiniLM-L6-v2"):
        build(NAME).encode_queries([Question("", "rice")])


def test_progress_of_a_process_that_was_ended(tmp_path):
    announce_encoding(tmp_path, NAME, 10)
    assert read_encoding(tmp_path, NAME).describe() == "0 of 10 questions are encoded"
    with pytest.raises(KeyboardInterrupt), record_encoding(tmp_path, NAME, 10) as report:
        report(3)
        raise KeyboardInterrupt
    assert not read_encoding(tmp_path, NAME).running
    with record_encoding(tmp_path, NAME, 10):
        assert read_encoding(tmp_path, NAME).running
    assert read_encoding(tmp_path, NAME) is None


def test_full_title_is_first_in_a_trial(table, at_hand):
    archive, _ = import_table(table)
    with Archive.open(archive) as opened:
        words, encoder = try_encoders(opened, [NAME])
    assert (words.encoder, encoder.encoder) == (None, NAME)
    assert words.questions == encoder.questions == 4
    assert words.typed_titles == 1.0
    assert words.rephrasings is None


def test_a_trial_asks_rephrasings_of_every_place(tmp_path):
    with Archive.create(tmp_path / "desk") as archive:
        titles = [("rice", "How do I cook rice?"), ("bike", "My bike was stolen at night")]
        archive.upsert([Question(id, title, rephrasings=(title, "zzz")) for id, title in titles])
        [words] = try_encoders(archive, [])
    assert words.rephrasings == 0.5  # the first of one question, the second of the other


def test_list_tries_what_is_installed(table, at_hand):
    archive, _ = import_table(table)
    listed = askalike("encoder", "list", archive)
    assert "words and minilm_l6" in listed.stdout
    assert "at most 300 questions that are first of 4 questions for 60 % of their title" in listed.stderr
    assert listed.stderr.endswith("the archive's encoder: minilm_l6\n")
    assert "no: pip install 'askalike[multilingual]'" in listed.stdout
    assert f"encoder use {archive} sentence-transformers/all-mpnet-base-v2 --download" in listed.stderr
    assert NAME in ArchiveEncoders(archive).names()  # a service encodes with it, too
    assert "askalike encoder list DIR" in askalike("encoder", "list").stderr
    refused = askalike("encoder", "use", archive, "e5_small")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "e5_small is not installed: pip install 'askalike[multilingual]'" in refused.stderr
    described = json.loads(askalike("encoder", "list", "--json").stdout)
    assert described["encoders"][NAME]["installed"]
    assert described["trials"] == []
