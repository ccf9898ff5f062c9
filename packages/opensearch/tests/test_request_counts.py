"""How many requests a search and a write make, and what the threads of a process share."""

import threading

import opensearchpy
import pytest
from cluster.load import make_archive

from askalike import rankers
from askalike.core.records import Question
from askalike.search.archive_retriever import ArchiveRetriever, SearchRequest
from askalike.store import Archive
from askalike_opensearch import state
from askalike_opensearch.state import IndexState, SharedIndex, StoredState

REQUEST = SearchRequest("bake bread", explain=False, min_similarity=0.0)
OLD, NEW = (StoredState("desk-000001", IndexState("f", change=change)) for change in (1, 2))


@pytest.fixture
def archive(cluster_url, tmp_path):
    with Archive.open(make_archive(tmp_path / "desk", 20), f"opensearch+{cluster_url}") as opened:
        rankers.create("bm25").build(opened.view())
        yield opened


@pytest.fixture
def sent(monkeypatch):
    """The requests that are sent: method and last part of the path."""
    send, requests = opensearchpy.Transport.perform_request, []

    def note(self, method, path, **options):
        requests.append(f"{method} {path.rpartition('/')[2]}")
        return send(self, method, path, **options)

    monkeypatch.setattr(opensearchpy.Transport, "perform_request", note)
    monkeypatch.setattr(state, "REFRESH_S", 60.0)
    return requests


def open_engine(archive):
    return ArchiveRetriever(archive, rankers.create("bm25"), archive.view())


def test_write_makes_three_requests_or_five(archive, sent):
    engine = open_engine(archive)
    engine.searcher()
    for question, more in (("new", ()), ("new", ("POST _refresh", "POST _delete_by_query"))):
        sent.clear()
        archive.upsert([Question(question, f"a samovar {len(more)}")])
        engine.searcher()
        assert sent == ["GET state", "POST _bulk", *more, "PUT state"]
    sent.clear()
    archive.delete(["new"])
    engine.searcher()
    assert sent == ["GET state", "POST _refresh", "POST _delete_by_query", "PUT state"]


def test_search_makes_one_request_or_two(archive, sent):
    engine, other = open_engine(archive), open_engine(archive)
    archive.upsert([Question("new", "a samovar")])
    engine.searcher()
    other.searcher()
    sent.clear()
    for searched, requests in ((engine, ["POST _mtermvectors", "POST _msearch"]), (other, ["POST _msearch"])):
        assert searched.search_batch([REQUEST])[0].hits
        assert sent == requests
        sent.clear()
    archive.upsert([Question("more", "a kettle", rephrasings=("an urn",))])
    engine.searcher()
    sent.clear()
    assert engine.search("bake bread", min_similarity=0)  # explained: texts of several phrasings are read, once
    assert sent == ["POST _mtermvectors", "POST _msearch", "POST _msearch"]


def test_waiting_changes_are_sent_together(archive, sent):
    made, failures = threading.Barrier(5), []

    def write(n):
        with Archive.open(archive.path, archive.engine) as opened:
            engine = open_engine(opened)
            opened.upsert([Question(f"new{n}", f"samovar number {n}")])
            made.wait()
            if not any(hit.id == f"new{n}" for hit in engine.search("samovar", 10, min_similarity=0)):
                failures.append(n)

    [index] = rankers.create("bm25").indexes(archive.view())
    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    with index.write_lock():
        for thread in threads:
            thread.start()
        made.wait()
    for thread in threads:
        thread.join()
    assert not failures
    assert sent.count("POST _bulk") == sent.count("PUT state") == 1


def test_state_read_before_a_newer_write_is_ignored():
    shared = SharedIndex[StoredState | None]()
    shared.refresh(lambda: OLD)

    def read_slowly():
        shared.note(NEW, settled=True)
        return OLD

    shared.refresh(read_slowly, now=True)
    assert shared.stored == NEW
    shared.refresh(lambda: OLD)  # it was read lately
    assert shared.searcher(lambda stored: stored) == NEW


def test_searcher_is_remade_once_all_copies_agree(monkeypatch):
    shared, made = SharedIndex[object](), []
    clock = iter(range(100))
    monkeypatch.setattr(state.time, "monotonic", lambda: next(clock) / 10)
    shared.note(OLD, settled=False)
    for _ in range(30):
        shared.searcher(made.append)
    assert made == [OLD, OLD]
    shared.note(NEW, settled=True)
    for _ in range(30):
        shared.searcher(made.append)
    assert made[2:] == [NEW]
