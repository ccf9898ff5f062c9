"""An archive's index that is damaged, of another format, or gone is built again, and told in one line."""

import shutil

import pytest

from askalike import rankers
from askalike.core.records import Question
from askalike.health import run_checks
from askalike.health.references import damaged_indexes
from askalike.index.files import MANIFEST, VERIFIED_FILE, read_manifest, write_manifest

QUERY = {"x": Question("x", "mend a bicycle")}


@pytest.fixture
def archive(archive):
    archive.upsert(Question(f"q{n}", f"how do I mend bicycle number {n}") for n in range(30))
    return archive


def search(archive, ranker):
    return rankers.rank(rankers.open_current(ranker, archive.view()), QUERY, 5)


def index_of(archive, ranker):
    [path] = ranker.index_paths(archive.view())
    return path


def flip_bit_of_largest_file(path):
    file = max((p for p in path.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)


def set_format(path):
    write_manifest(path, read_manifest(path) | {"format": 99})


def shorten_manifest(path):
    (path / MANIFEST).write_text("{")


@pytest.mark.parametrize("damage", [flip_bit_of_largest_file, set_format, shorten_manifest])
def test_unusable_index_is_rebuilt_and_told_once(archive, caplog, damage):
    ranker = rankers.create("bm25")
    expected = search(archive, ranker)
    path = index_of(archive, ranker)
    damage(path)
    assert search(archive, rankers.create("bm25")) == expected
    [line] = [record.getMessage() for record in caplog.records]
    assert "rebuilding it" in line
    assert "\n" not in line
    assert str(path) in line


@pytest.mark.parametrize("damage", [set_format, shorten_manifest, shutil.rmtree])
def test_an_open_index_that_becomes_unusable_is_rebuilt(archive, damage):
    ranker = rankers.create("bm25")
    expected = search(archive, ranker)
    damage(index_of(archive, ranker))
    assert search(archive, ranker) == expected
    assert search(archive, rankers.create("bm25")) == expected


def test_searcher_keeps_its_state_when_indexes_vanish(archive, caplog):
    ranker = rankers.create("bm25")
    expected = search(archive, ranker)
    view = archive.committed_view()
    shutil.rmtree(index_of(archive, ranker))
    for _ in range(3):
        assert rankers.rank(ranker.open(view), QUERY, 5) == expected
    [record] = caplog.records
    assert "its files have vanished; searches use the state before" in record.getMessage()
    rankers.create("bm25").build(archive.view())
    archive.upsert([Question("new", "mend a bicycle")])
    rankers.create("bm25").build(archive.view())
    assert rankers.rank(ranker.open(view), QUERY, 5)["x"][0].id == "new"


def test_searcher_keeps_its_state_when_the_next_breaks(archive, caplog):
    ranker = rankers.create("bm25")
    expected = search(archive, ranker)
    archive.upsert([Question("new", "mend a bicycle")])
    rankers.create("bm25").build(archive.view())
    path = index_of(archive, ranker)
    (path / VERIFIED_FILE).unlink()
    for file in path.glob("*/*.safetensors"):
        file.write_bytes(file.read_bytes()[:-1])
    for _ in range(2):
        assert rankers.rank(ranker.open(archive.committed_view()), QUERY, 5) == expected
    [record] = caplog.records
    assert "damaged" in record.getMessage()


def test_a_check_finds_a_damaged_index(archive):
    ranker = rankers.create("bm25")
    search(archive, ranker)
    [finding] = run_checks(archive, checks=[damaged_indexes])
    assert (finding.count, finding.n) == (0, 1)
    flip_bit_of_largest_file(index_of(archive, ranker))
    [finding] = run_checks(archive, checks=[damaged_indexes])
    assert (finding.count, finding.n, finding.serious) == (1, 1, True)
    assert index_of(archive, ranker).name in finding.examples[0]
