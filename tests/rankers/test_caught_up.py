"""A command that comes while another process writes an index waits for it, and a search gives up in the end."""

import threading
from contextlib import contextmanager

import pytest

import askalike
from askalike import rankers
from askalike.core.errors import IndexBusyError
from askalike.core.records import Link, Question
from askalike.tuning.promotion import promote


@pytest.fixture
def archive(archive):
    archive.upsert(Question(f"q{n}", f"how do I mend bicycle number {n}") for n in range(80))
    archive.upsert(Link(f"q{2 * n}", f"q{2 * n + 1}", "duplicate") for n in range(40))
    return archive


@contextmanager
def writing(archive, ranker):
    """Yield the event that ends another writer of the ranker's index, which is behind the archive by then."""
    ranker.build(archive.view())
    index = ranker._current_index(archive.view())
    archive.upsert([Question("new", "a new one")])
    held, ended = threading.Event(), threading.Event()

    def write():
        with index.lock_files():
            held.set()
            ended.wait()

    thread = threading.Thread(target=write)
    thread.start()
    held.wait()
    try:
        yield ended
    finally:
        ended.set()
        thread.join()


def test_it_waits_for_another_writer(archive):
    with writing(archive, rankers.create("tfidf")) as ended:
        threading.Timer(0.3, ended.set).start()
        ranker = rankers.open_current(rankers.create("tfidf"), archive.view())
        assert ended.is_set()
    assert rankers.rank(ranker, {"x": Question("x", "new one")}, 1)["x"][0].id == "new"


def test_first_search_waits_for_anothers_build(archive):
    [index] = rankers.create("tfidf").indexes(archive.view())
    busy = index.lock_files()
    busy.__enter__()
    threading.Timer(0.5, busy.__exit__, (None, None, None)).start()
    with askalike.load(archive.path, "tfidf") as engine:
        assert engine.search("bicycle number 7", k=1)[0].id == "q7"


def test_promotion_is_not_stopped_by_a_writer(archive):
    with writing(archive, rankers.create("tfidf")) as ended:
        threading.Timer(0.3, ended.set).start()
        assert "held-out queries" in promote(archive, "tfidf", measure="RR").reason


def test_a_search_gives_up(archive, monkeypatch):
    monkeypatch.setattr(rankers, "LOCK_TIMEOUT_S", 0.3)
    [index] = rankers.create("tfidf").indexes(archive.view())
    with index.lock_files(), pytest.raises(IndexBusyError, match="another process is writing"):
        rankers.follow(rankers.create("tfidf"), archive.view())


def test_build_waits_longer_than_a_search(archive, monkeypatch, caplog):
    monkeypatch.setattr(rankers, "LOCK_TIMEOUT_S", 0)
    monkeypatch.setattr(rankers, "TELL_S", 0)
    seen = []
    with writing(archive, rankers.create("tfidf")) as ended:

        def report(done, total):
            seen.append((done, total))
            if len(seen) == 4:
                ended.set()

        rankers.open_current(rankers.create("tfidf"), archive.view(), report)
    assert seen[0] == (0, 81)
    assert [record.message for record in caplog.records if "waiting for it" in record.message]
