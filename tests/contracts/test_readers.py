"""The contract of every reader: records with ids and places, equal in each pass; a bad file is one clear error."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from askalike.core import registry
from askalike.core.config import validate_settings
from askalike.core.errors import InputError, SettingsError
from askalike.core.records import Answer, EvaluationQuery, Judgement, LocatedRecord, Question, RejectedRow
from askalike.readers import SourceFiles, import_archive
from askalike.store import Archive

DATA = Path(__file__).parents[1] / "data"
SETS = {
    "faq_pages": (DATA / "saved-pages", {}),
    "markdown": (DATA / "garden-faq", {}),
    "mbox": (DATA / "list.mbox", {}),
    "beir": (DATA / "allotment-beir", {}),
    "stackexchange": (DATA / "bakery.stackexchange.com", {}),
    "table": (DATA / "library-faq.json", {"records": "root.qapair"}),
}
REMOTE = {"apache_answer", "ir_datasets"}
"""Readers of addresses or names instead of files."""
READERS = sorted({*registry.names("reader")} - REMOTE)
NEEDED = {"discourse": {"category": "all"}, "slack": {"channels": "all"}, "zulip": {"channels": "all"}}
"""Settings without which a reader refuses."""


def missing(path: Path) -> Path:
    return path


def empty(path: Path) -> Path:
    path.write_bytes(b"")
    return path


def binary(path: Path) -> Path:
    path.write_bytes(bytes(range(256)) * 8)
    return path


def html_page(path: Path) -> Path:
    path.write_text("<!doctype html>\n<title>Log in</title>\n<p>Please log in.\n")
    return path


def empty_folder(path: Path) -> Path:
    path.mkdir()
    return path


def cut_gzip(path: Path) -> Path:
    path = path.with_name(path.name + ".gz")
    path.write_bytes(gzip.compress(b"question,answer\n" + b"Why?,So.\n" * 5_000)[:60])
    return path


BAD_FILES = [
    *((make, suffix) for make in (empty, binary, html_page, cut_gzip) for suffix in (".csv", ".json", ".xml")),
    *((make, ".csv") for make in (missing, empty_folder)),
]


@pytest.mark.parametrize(("make", "suffix"), BAD_FILES, ids=lambda value: getattr(value, "__name__", value))
@pytest.mark.parametrize("reader", READERS)
def test_bad_file_is_one_clear_error(reader: str, make: Callable[[Path], Path], suffix: str, tmp_path: Path) -> None:
    path = make(tmp_path / f"test{suffix}")
    try:
        with pytest.raises((InputError, SettingsError)) as error:
            import_archive(reader, path, tmp_path / "archive", options=NEEDED.get(reader, {}))
    except pytest.fail.Exception:
        pytest.fail(f"{reader} imports {path.name} ({make.__name__})")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "archive").exists()


def read(reader: str) -> Iterator[LocatedRecord]:
    path, options = SETS[reader]
    chosen = validate_settings(registry.load("reader", reader), options, reader)
    return iter(chosen.read([path], SourceFiles()))


@pytest.mark.parametrize("reader", SETS)
def test_records_have_ids_and_places(reader: str) -> None:
    records = list(read(reader))
    assert any(isinstance(record, Question) for record, _ in records)
    for record, place in records:
        assert Path(str(place).partition(",")[0]).exists() or str(place).startswith(str(DATA))
        if isinstance(record, Question | Answer):
            assert record.id
        elif isinstance(record, EvaluationQuery):
            assert record.question.id
        elif isinstance(record, Judgement):
            assert record.query_id
        assert not isinstance(record, RejectedRow) or reader in ("faq_pages", "mbox")  # theirs has some


@pytest.mark.parametrize("reader", SETS)
def test_read_twice_gives_equal_records(reader: str) -> None:
    assert list(read(reader)) == list(read(reader))


@pytest.mark.parametrize("reader", SETS)
def test_import_twice_changes_nothing(reader: str, tmp_path: Path) -> None:
    path, options = SETS[reader]
    first = import_archive(reader, path, tmp_path / "archive", options=options)
    with Archive.open(tmp_path / "archive") as archive:
        pool, links = list(archive.view().questions()), list(archive.view().links())
    second = import_archive(reader, path, tmp_path / "archive", options=options)
    assert (second.questions, second.answers) == (first.questions, first.answers)
    with Archive.open(tmp_path / "archive") as archive:
        assert (list(archive.view().questions()), list(archive.view().links())) == (pool, links)


def test_table_is_streamed(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text("question,answer\n" + "".join(f"Why {n}?,So.\n" for n in range(200_000)))
    done = [0]
    source = SourceFiles(lambda n_bytes, total: done.append(n_bytes))
    chosen = validate_settings(registry.load("reader", "table"), {}, "table")
    records = iter(chosen.read([path], source))
    record, place = next(records)
    assert (getattr(record, "title", ""), place.line) == ("Why 0?", 2)
    assert max(done) < path.stat().st_size / 2
