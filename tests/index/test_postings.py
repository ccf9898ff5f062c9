"""The index on disk: one writer, many readers, and a committed state that nothing takes away."""

import fcntl
import json
import multiprocessing
import os
import random
import signal
import time

import pytest
from brute import SIX, fresh, search

from askalike.core.errors import IndexBusyError, SearchIndexError
from askalike.index import commits, writing
from askalike.index.files import ARRAYS_FILE, MANIFEST, VERIFIED_FILE, read_manifest, write_manifest
from askalike.index.lexical.index import BYTES_PER_TOKEN, LexicalIndex, LexicalLayout
from askalike.index.lexical.prepared import QueryTerms

LAYOUT = LexicalLayout("x")
WORDS = [f"w{i}" for i in range(40)]
QUERIES = [QueryTerms(WORDS[:3]), QueryTerms(WORDS[3:9], "w1")]
FORKED = multiprocessing.get_context("fork")


def batch(change):
    """What commit number `change` deletes, and adds: the same for everyone who asks."""
    dice = random.Random(change)
    numbers = sorted({dice.randrange(300) for _ in range(25)})
    added = {n: [(p, dice.choices(WORDS, k=dice.randrange(9))) for p in range(dice.choice([1, 1, 3]))] for n in numbers}
    return {dice.randrange(300) for _ in range(12)}, added


def state(change):
    """The documents after commit number `change`."""
    documents = {}
    for c in range(1, change + 1):
        deleted, added = batch(c)
        documents = {n: d for n, d in documents.items() if n not in deleted} | added
    return documents


def commit(index, change):
    deleted, added = batch(change)
    with index.writer() as writer:
        writer.delete(deleted)
        for number, phrasings in added.items():
            writer.add(number, phrasings)
        writer.commit(change)


def answers(searcher):
    found = [f for similarity in SIX for f in search(searcher, QUERIES, similarity, 20)]
    return [(f.docids.tolist(), f.scores.tolist()) for f in found]


def files(path):
    return {p.relative_to(path).as_posix() for p in path.iterdir()} - {VERIFIED_FILE}


def named(path):
    segments = json.loads((path / MANIFEST).read_text())["segments"]
    return {MANIFEST, "lock"} | {name for pair in segments for name in pair if name}


def test_record_holds_intact_files_of_the_index_alone(tmp_path):
    index = LexicalIndex.open(tmp_path, LAYOUT)
    for change in range(1, 20):
        commit(index, change)
    assert json.loads((tmp_path / VERIFIED_FILE).read_text()).keys() == read_manifest(tmp_path)["checksums"].keys()


def commit_for_ever(path):
    index = LexicalIndex.open(path, LAYOUT)
    while True:
        commit(index, index.change + 1)


@pytest.mark.long
def test_killed_writer_leaves_the_last_commit(tmp_path):
    index = LexicalIndex.open(tmp_path, LAYOUT)
    commit(index, 1)  # compiles what there is to compile
    dice, kills = random.Random(5), 0
    while kills < 10 or index.change <= 15:
        writer = FORKED.Process(target=commit_for_ever, args=(tmp_path,))
        writer.start()
        time.sleep(dice.uniform(0.05, 0.8))
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        kills += 1
        index = LexicalIndex.open(tmp_path, LAYOUT)
        assert answers(index.searcher) == answers(fresh(state(index.change)))
        commit(index, index.change + 1)
        assert files(tmp_path) == named(tmp_path)
        assert answers(index.searcher) == answers(fresh(state(index.change)))
    assert kills >= 10


def test_an_exception_in_the_block_changes_nothing(tmp_path):
    index = LexicalIndex.open(tmp_path, LAYOUT)
    commit(index, 1)
    before = answers(index.searcher)
    with pytest.raises(TypeError):
        commit_nonsense(index)
    assert answers(index.searcher) == before == answers(LexicalIndex.open(tmp_path, LAYOUT).searcher)
    assert files(tmp_path) == named(tmp_path)


def commit_nonsense(index):
    with index.writer() as writer:
        writer.delete(range(300))
        writer.add(400, [(0, ["w0"]), (1, None)])


def test_one_writer_at_a_time(tmp_path):
    one, other = LexicalIndex.open(tmp_path, LAYOUT), LexicalIndex.open(tmp_path, LAYOUT)
    with one.writer(), pytest.raises(SearchIndexError, match=r"another process is writing.*wait"), other.writer():
        pass
    commit(other, 1)
    commit(one, 2)  # takes up what the other has committed
    assert answers(one.searcher) == answers(fresh(state(2)))


def test_an_index_is_not_removed_beside_its_writer(tmp_path):
    one, other = LexicalIndex.open(tmp_path, LAYOUT), LexicalIndex.open(tmp_path, LAYOUT)
    commit(one, 1)
    with one.writer(), pytest.raises(IndexBusyError, match=r"another process is writing") as caught:
        commits.remove_index(tmp_path)
    assert caught.value.searchable
    assert answers(LexicalIndex.open(tmp_path, LAYOUT).searcher) == answers(fresh(state(1)))
    commits.remove_index(tmp_path)
    assert not tmp_path.exists()
    commit(other, 1)
    assert answers(other.searcher) == answers(fresh(state(1)))


def test_lock_removed_with_its_index_is_not_held(tmp_path, monkeypatch):
    """A writer that opened the lock before it was removed could otherwise write beside the holder of the next one."""
    index = LexicalIndex.open(tmp_path, LAYOUT)
    commit(index, 1)
    flock = fcntl.flock

    def lock_after_removal(*arguments):
        monkeypatch.setattr(fcntl, "flock", flock)
        commits.remove_index(tmp_path)
        flock(*arguments)

    monkeypatch.setattr(fcntl, "flock", lock_after_removal)
    with pytest.raises(IndexBusyError), index.lock_files():
        pass
    commit(index, 1)
    assert answers(index.searcher) == answers(fresh(state(1)))


def test_removing_a_missing_index_makes_nothing(tmp_path):
    commits.remove_index(tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_a_reader_keeps_its_state_until_it_refreshes(tmp_path):
    writer, reader = LexicalIndex.open(tmp_path, LAYOUT), LexicalIndex.open(tmp_path, LAYOUT)
    commit(writer, 1)
    assert reader.refresh()
    searcher, before = reader.searcher, answers(reader.searcher)
    for change in range(2, 20):
        commit(writer, change)
        assert answers(searcher) == before
    assert len(json.loads((tmp_path / MANIFEST).read_text())["segments"]) < 10
    searcher._forget_terms()  # nothing it needs was only in memory
    assert answers(searcher) == before
    assert reader.refresh()
    assert not reader.refresh()
    assert answers(reader.searcher) == answers(fresh(state(19)))


def test_a_reader_never_meets_half_a_commit(tmp_path):
    commit(LexicalIndex.open(tmp_path, LAYOUT), 1)
    writer = FORKED.Process(target=commit_for_ever, args=(tmp_path,))
    writer.start()
    try:
        seen = set()
        while len(seen) < 8:
            index = LexicalIndex.open(tmp_path, LAYOUT)
            assert answers(index.searcher) == answers(fresh(state(index.change)))
            seen.add(index.change)
    finally:
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
    assert len(seen) == 8


def test_the_same_change_may_be_committed_twice(tmp_path):
    index = LexicalIndex.open(tmp_path, LAYOUT)
    for number in range(6):
        with index.writer() as writer:
            writer.add(number, [(0, ["a", f"b{number}"])])
            writer.delete([number - 1])
            writer.commit(1)
        assert answers_of(index, "a") == [number]


def answers_of(index, word):
    return search(index.searcher, [QueryTerms([word])], SIX[0], 10)[0].docids.tolist()


def test_an_index_thrown_away_is_a_new_one(tmp_path):
    index = LexicalIndex.open(tmp_path / "index", LAYOUT)
    commit(index, 1)
    for file in sorted((tmp_path / "index").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    assert index.refresh()
    assert index.change == 0
    assert answers_of(index, "w0") == []
    commit(index, 1)
    assert answers(index.searcher) == answers(fresh(state(1)))


def test_empty_documents_and_an_empty_index(tmp_path):
    index = LexicalIndex.open(tmp_path, LAYOUT)
    assert answers(index.searcher) == answers(fresh({}))
    with index.writer() as writer:
        for number in range(3):
            writer.add(number, [(0, [])])
        writer.commit(1)
    assert answers(LexicalIndex.open(tmp_path, LAYOUT).searcher) == answers(fresh({}))
    with index.writer() as writer:
        writer.delete(range(3))
        writer.commit(2)
    assert named(tmp_path) == {MANIFEST, "lock"}


def test_segments_of_a_growing_index_stay_few(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "SMALL_SEGMENTS", (8, 64))
    index = LexicalIndex.open(tmp_path, LAYOUT)
    counts = []
    for change in range(1, 64 + 1):
        with index.writer() as writer:
            for number in range(5 * change, 5 * change + 5):
                writer.add(number, [(0, [WORDS[number % len(WORDS)]])])
            writer.commit(change)
        sizes = sorted(segment.live_count for segment in index.segments)
        assert sum(size < 8 for size in sizes) <= 1
        assert sum(8 <= size < 64 for size in sizes) <= 1
        counts.append(len(sizes))
    assert max(counts) <= 2 + writing.MERGE_FACTOR


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"format": LexicalIndex.FORMAT + 1},
            rf"format {LexicalIndex.FORMAT + 1}, but this askalike reads {LexicalIndex.FORMAT}; delete it, it will be",
        ),
        ({"fingerprint": "y"}, r"another analyzer .*fingerprint differs.*delete it, it will be rebuilt"),
        ({"exact_lengths": True}, r"exact_lengths differs.*delete it"),
        ({"field_count": 2}, r"field_count differs.*delete it"),
    ],
)
def test_another_index_than_expected_is_refused(tmp_path, change, message):
    commit(LexicalIndex.open(tmp_path, LAYOUT), 1)
    write_manifest(tmp_path, read_manifest(tmp_path) | change)
    with pytest.raises(SearchIndexError, match=message) as caught:
        LexicalIndex.open(tmp_path, LAYOUT)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"[]", b"3", b"{}", b"null"])
def test_damaged_manifest_is_one_line_and_untouched(tmp_path, content):
    index = LexicalIndex.open(tmp_path, LAYOUT)
    commit(index, 1)
    kept = files(tmp_path)
    (tmp_path / MANIFEST).write_bytes(content)
    for attempt in (lambda: LexicalIndex.open(tmp_path, LAYOUT), lambda: commit(index, 2)):
        with pytest.raises(
            SearchIndexError, match=r"damaged \(manifest.json .*\); delete it, it will be rebuilt"
        ) as caught:
            attempt()
        assert "\n" not in str(caught.value)
    assert files(tmp_path) == kept


def test_missing_files_are_named(tmp_path):
    commit(LexicalIndex.open(tmp_path, LAYOUT), 1)
    (segment,) = (p for p in tmp_path.iterdir() if p.is_dir())
    (segment / ARRAYS_FILE).unlink()
    with pytest.raises(SearchIndexError, match=r"missing\); delete it, it will be rebuilt"):
        LexicalIndex.open(tmp_path, LAYOUT)


def test_unmakeable_directory_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    index = LexicalIndex.open(tmp_path / "index", LAYOUT)
    index.path = tmp_path / "file" / "index"
    with pytest.raises(SearchIndexError, match="cannot be written"):
        commit(index, 1)


def test_little_memory_cuts_a_build_into_segments(tmp_path):
    small, whole = LexicalIndex.open(tmp_path / "small", LAYOUT), LexicalIndex.open(tmp_path / "whole", LAYOUT)
    small.memory_bytes = 200 * BYTES_PER_TOKEN
    for index in (small, whole):
        with index.writer() as writer:
            for number in range(100):
                writer.add(number, [(0, [f"w{(number + n) % 97}" for n in range(20)])])
            writer.commit(1)
    assert len(whole.segments) == 1
    assert len(small.segments) == 10
    assert answers(small.searcher) == answers(whole.searcher)
