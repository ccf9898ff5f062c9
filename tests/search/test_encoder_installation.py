"""An archive's own encoder: copied or fetched once, served with words, tuned without being told, checked."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from askalike import rankers
from askalike.core.errors import ArchiveError, InputError, SettingsError
from askalike.core.model_folders import LearnedLabels
from askalike.core.records import Question
from askalike.health import run_checks
from askalike.health.references import changed_encoder_files
from askalike.search.encoder_installation import adopt_encoder
from askalike.store import get_served_ranker
from askalike.store.deployments import get_archive_encoder
from askalike.tuning.models import remove_model
from askalike.tuning.run import _encoder_trial
from commands import askalike
from http_servers import LocalServer, QuietHandler
from needs import need
from small_models import WORDS, write_encoder

need("onnxruntime", "onnx", "safetensors", "tokenizers")

HUB_NAME = "somebody/small-model"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("small") / "Small Model", [*dict.fromkeys(WORDS)])


@pytest.fixture
def archive(archive):
    archive.upsert([Question("a", "how do i cook rice"), Question("b", "my bike was stolen at night")])
    return archive


def test_it_is_copied_and_served_with_words(archive, model):
    encoder = adopt_encoder(archive, str(model))
    assert (encoder.name, encoder.source, encoder.revision) == ("small-model", str(model), None)
    assert get_archive_encoder(archive) == encoder
    copied = archive.path / "models" / "small-model" / "pretrained"
    digest = hashlib.sha256((copied / "model.safetensors").read_bytes()).hexdigest()
    assert encoder.digests["model.safetensors"] == digest
    served = get_served_ranker(archive)
    assert (served.ranker, served.settings) == ("hybrid", {"parts": ["lm_jelinek_mercer", "small-model"]})
    searcher = rankers.open_current(rankers.create(None, {}, archive), archive.view())
    assert [hit.id for hit in rankers.rank(searcher, {"q": Question("q", "rice in a pot")}, 1)["q"]] == ["a"]
    ranker = rankers.create(None, {}, archive)
    assert not ranker.learned_labels, "it has learned nothing from the archive, and may be measured on all of it"
    assert ranker.trained_until is None
    assert adopt_encoder(archive, str(model)) == encoder
    assert get_served_ranker(archive) == served, "nothing is deployed twice"


def test_fine_tuned_model_remembers_its_training_data(archive, model, tmp_path):
    tuned = tmp_path / "elsewhere/models/tuned"
    shutil.copytree(model, tuned / "pretrained")
    (tuned / "model.toml").write_text('encoder = "pretrained"\n[trained]\ntrained_until = "2024-05-06"\n')
    LearnedLabels(frozenset({"a", "b"})).write(tuned)
    adopt_encoder(archive, str(tuned / "pretrained"), name="mine")
    ranker = rankers.create(None, {}, archive)
    assert ranker.learned_labels.duplicates == {"a", "b"}
    assert ranker.trained_until == "2024-05-06"


def test_tuning_takes_it_without_being_told(archive, model):
    assert _encoder_trial(archive, "") is None
    adopt_encoder(archive, str(model), name="mine")
    assert _encoder_trial(archive, "").ranker == "mine"
    assert _encoder_trial(archive, str(model)).settings == {"encoder": str(model)}


def test_check_finds_files_that_were_changed(archive, model):
    adopt_encoder(archive, str(model))
    [finding] = run_checks(archive, checks=[changed_encoder_files])
    assert (finding.count, finding.n > 5) == (0, True)
    folder = archive.path / "models" / "small-model" / "pretrained"
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").unlink()
    [finding] = run_checks(archive, checks=[changed_encoder_files])
    assert finding.examples == ("config.json", "tokenizer.json")


def test_a_removed_model_is_no_longer_the_archives(archive, model):
    adopt_encoder(archive, str(model))
    with pytest.raises(ArchiveError, match="is active"):
        remove_model(archive, "small-model")
    assert askalike("rollback", archive.path).returncode == 0
    remove_model(archive, "small-model")
    assert get_archive_encoder(archive) is None


def test_what_cannot_be_used_leaves_nothing_behind(archive, model, tmp_path):
    broken = Path(shutil.copytree(model, tmp_path / "broken"))
    (broken / "config.json").write_text('{"model_type": "mamba"}')
    with pytest.raises(InputError, match="model_type = 'mamba'"):
        adopt_encoder(archive, str(broken))
    with pytest.raises(SettingsError, match="add --download"):
        adopt_encoder(archive, HUB_NAME)
    with pytest.raises(SettingsError, match="name of a built-in ranker"):
        adopt_encoder(archive, str(model), name="bm25")
    assert not list(archive.path.glob("models/*/model.toml"))
    assert get_archive_encoder(archive) is None
    adopt_encoder(archive, str(model), name="mine")
    with pytest.raises(ArchiveError, match="choose another --name"):
        adopt_encoder(archive, str(broken), name="mine")


class Hub(QuietHandler):
    """What the hub says of one model, and its files."""

    folder: Path
    changed: str | None = None

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path == f"/api/models/{HUB_NAME}":
            self._send(json.dumps(self._describe()).encode(), {"Content-Type": "application/json"})
        elif path.startswith(f"/{HUB_NAME}/resolve/{COMMIT}/"):
            name = path.split(COMMIT + "/")[1]
            content = (self.folder / name).read_bytes() + (b"!" if name == self.changed else b"")
            headers = {"ETag": hashlib.sha256(content).hexdigest(), "X-Repo-Commit": COMMIT}
            self._send(content, headers)
        else:
            self.send_error(404)

    do_HEAD = do_GET

    def _describe(self) -> dict:
        files = {p.relative_to(self.folder).as_posix(): p for p in self.folder.rglob("*") if p.is_file()}
        files |= {"pytorch_model.bin": files["config.json"], "openvino/model.json": files["config.json"]}
        siblings = [{"rfilename": name, "size": p.stat().st_size, "blobId": "0"} for name, p in files.items()]
        for row in siblings:
            if row["rfilename"].endswith(".safetensors"):
                digest = hashlib.sha256(files[row["rfilename"]].read_bytes()).hexdigest()
                row["lfs"] = {"sha256": digest, "size": row["size"], "pointerSize": 134}
        return {"id": HUB_NAME, "modelId": HUB_NAME, "sha": COMMIT, "siblings": siblings}

    def _send(self, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


@pytest.fixture
def hub(model, monkeypatch):
    Hub.folder, Hub.changed = model, None
    with LocalServer(Hub) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        yield Hub


def test_it_is_fetched_when_asked(archive, hub):
    done = askalike("encoder", "use", archive.path, HUB_NAME, "--download", "--json")
    assert done.returncode == 0, done.stderr
    described = json.loads(done.stdout)
    assert (described["name"], described["source"], described["revision"]) == ("small-model", HUB_NAME, COMMIT)
    assert "pytorch_model.bin" not in described["digests"]
    assert not any(name.startswith(("openvino", ".cache")) for name in described["digests"])
    assert f"small-model, from {HUB_NAME} at {COMMIT}" in " ".join(askalike("info", archive.path).stdout.split())


def test_file_unlike_the_hubs_description_is_refused(archive, hub):
    hub.changed = "model.safetensors"
    with pytest.raises(InputError, match="differs from the file that the hub describes") as error:
        adopt_encoder(archive, HUB_NAME, download=True)
    assert "\n" not in str(error.value)
    assert get_archive_encoder(archive) is None


def test_an_unknown_model_is_one_line(archive, hub):
    with pytest.raises(InputError, match="nobody/nothing: could not be fetched") as error:
        adopt_encoder(archive, "nobody/nothing", download=True)
    assert "\n" not in str(error.value)


def test_unreachable_hub_is_one_line(archive, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")  # nothing listens there
    with pytest.raises(InputError, match="could not be fetched .*; check the name and the network"):
        adopt_encoder(archive, HUB_NAME, download=True)


def test_import_takes_an_encoder(tmp_path, model):
    table = tmp_path / "faq.csv"
    table.write_text("question\nhow do i cook rice\nmy bike was stolen\n")
    target = tmp_path / "faq"
    done = askalike("import", "table", table, "-o", target, "--encoder", "no-such-package")
    assert (done.returncode, target.exists()) == (2, False)
    done = askalike("import", "table", table, "-o", target, "--encoder", model)
    assert done.returncode == 0, done.stderr
    assert "encoder: small-model" in done.stderr
    assert "active ranker: hybrid" in askalike("models", target).stdout


def test_no_encoder_is_chosen_by_rollback(archive) -> None:
    with pytest.raises(SettingsError, match="askalike rollback DIR"):
        adopt_encoder(archive, "none")
