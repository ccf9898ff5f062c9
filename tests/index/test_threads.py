"""Many queries at once are searched side by side in threads: each finds what it finds alone."""

from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import numpy as np
import pytest
from brute import SIX, fresh, search

from askalike.index.lexical.index import LexicalIndex, LexicalLayout
from askalike.index.lexical.prepared import QueryTerms
from askalike.index.rows import Excluded

WORDS = ["egg", "rice", "pot", "tea", "water", "salt", "boil", "stir", "wait", "serve", "hot", "cold"]


def titles() -> list[list[str]]:
    random = np.random.default_rng(0)
    return [random.choice(WORDS, 4).tolist() for _ in range(700)]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 63, 64, 700])
def test_shares_change_nothing(monkeypatch, threads, n):
    monkeypatch.setattr("askalike.index.lexical.searcher.MAX_THREADS", threads)
    searcher = fresh({docid: [(0, terms)] for docid, terms in enumerate(titles())})
    queries = [QueryTerms(terms, None, Excluded(docid)) for docid, terms in enumerate(titles()[:n])]
    together = search(searcher, queries, SIX[0], 10)
    for i in range(0, n, max(1, n // 20)):
        alone = search(searcher, [queries[i]], SIX[0], 10)[0]
        assert together[i].docids.tolist() == alone.docids.tolist()
        assert together[i].scores.tolist() == alone.scores.tolist()


@pytest.mark.long
def test_threads_share_a_searcher():
    """Each thread asks for other terms and similarities, so that what the searcher remembers grows meanwhile."""
    documents = {docid: [(0, [*terms, f"word{docid}"])] for docid, terms in enumerate(titles())}
    shared = fresh(documents)
    tasks = [
        ([QueryTerms([*terms, f"word{docid}"], "wor") for docid, terms in enumerate(titles())][start::40], similarity)
        for start in range(40)
        for similarity in SIX
    ]
    with ThreadPoolExecutor(4) as pool:
        hits = list(pool.map(lambda task: search(shared, *task, 10), tasks))
    alone = fresh(documents)
    assert all(hits)
    for task, of_task in zip(tasks, hits, strict=True):
        for one, other in zip(of_task, search(alone, *task, 10), strict=True):
            assert one.docids.tolist() == other.docids.tolist()
            assert one.scores.tolist() == other.scores.tolist()


def test_searcher_asked_for_during_a_commit_is_dropped(monkeypatch, tmp_path):
    """A searcher of the old segments, made after the reading has begun, is not the one of the new state."""
    writing, shared = (LexicalIndex.open(tmp_path, LexicalLayout("x")) for _ in range(2))
    with writing.writer() as writer:
        writer.add(1, [(0, ["egg"])])
        writer.commit(1)
    read_segment = shared.open_segment

    def read_while_another_thread_searches(*name):
        assert not search(shared.searcher, [QueryTerms(["egg"])], SIX[0], 10)[0].docids.tolist()
        return read_segment(*name)

    monkeypatch.setattr(shared, "open_segment", read_while_another_thread_searches)
    assert shared.refresh()
    assert search(shared.searcher, [QueryTerms(["egg"])], SIX[0], 10)[0].docids.tolist() == [1]


def test_slow_thread_brings_no_older_state_back(monkeypatch, tmp_path):
    writing, shared = (LexicalIndex.open(tmp_path, LexicalLayout("x")) for _ in range(2))
    read_segment, others = shared.open_segment, []

    def commit(number):
        with writing.writer() as writer:
            writer.add(number, [(0, ["egg"])])
            writer.commit(number)

    def read_while_another_thread_reads_the_next(*name):
        monkeypatch.undo()
        segment = read_segment(*name)
        commit(2)
        others.append(Thread(target=shared.refresh))
        others[0].start()
        others[0].join(1)  # it may wait for this one
        return segment

    commit(1)
    monkeypatch.setattr(shared, "open_segment", read_while_another_thread_reads_the_next)
    shared.refresh()
    others[0].join()
    assert shared.change == 2
    assert search(shared.searcher, [QueryTerms(["egg"])], SIX[0], 10)[0].docids.tolist() == [1, 2]
