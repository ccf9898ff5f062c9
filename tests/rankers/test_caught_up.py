"""A command that comes while another process writes an index waits for it, and gives up in the end."""

import threading
import time

import pytest

import askalike
from askalike import rankers
from askalike.core.errors import IndexBusyError
from askalike.core.types import Link, Question
from askalike.tuning.promotion import promote


@pytest.fixture
def archive(archive):
    archive.upsert(Question(f"q{n}", f"how do I mend bicycle number {n}") for n in range(80))
    archive.upsert(Link(f"q{2 * n}", f"q{2 * n + 1}", "duplicate") for n in range(40))
    return archive


def busy_for(archive, ranker, seconds):
    """Another writer of the ranker's index, which is behind the archive by then."""
    ranker.build(archive.view())
    index = ranker._current_index(archive.view())
    archive.upsert([Question("new", "a new one")])
    held = threading.Event()

    def write():
        with index.lock_files():
            held.set()
            time.sleep(seconds)

    thread = threading.Thread(target=write)
    thread.start()
    assert held.wait(60)
    return thread


def test_it_waits_for_another_writer(archive):
    writer = busy_for(archive, rankers.create("tfidf"), 0.5)
    ranker = rankers.open_current(rankers.create("tfidf"), archive.view())
    assert not writer.is_alive() or writer.join() is None
    assert rankers.rank(ranker, {"x": Question("x", "new one")}, 1)["x"][0].id == "new"


def test_a_first_search_waits_for_another_one_that_builds_the_index(archive):
    [index] = rankers.create("tfidf").indexes(archive.view())
    busy = index.lock_files()
    busy.__enter__()
    threading.Timer(0.5, busy.__exit__, (None, None, None)).start()
    with askalike.load(archive.path, "tfidf") as engine:
        assert engine.search("bicycle number 7", k=1)[0].id == "q7"


def test_promotion_is_not_stopped_by_a_writer(archive):
    writer = busy_for(archive, rankers.create("tfidf"), 0.5)
    result = promote(archive, "tfidf", measure="RR")
    writer.join()
    assert "held-out queries" in result.reason


def test_it_gives_up(archive, monkeypatch):
    monkeypatch.setattr(rankers, "LOCK_TIMEOUT_S", 0.3)
    writer = busy_for(archive, rankers.create("tfidf"), 1.0)
    with pytest.raises(IndexBusyError, match="another process is writing"):
        rankers.open_current(rankers.create("tfidf"), archive.view())
    writer.join()


def test_an_index_is_not_discarded_beside_its_writer(archive):
    ranker, view = rankers.create("tfidf"), archive.view()
    ranker.build(view)
    [index] = ranker.indexes(view)
    with index.writer(), pytest.raises(IndexBusyError, match="another process is writing"):
        rankers.delete_indexes(rankers.create("tfidf"), view)
    rankers.delete_indexes(rankers.create("tfidf"), view)
    assert not rankers.create("tfidf").indexes(view)[0].change
