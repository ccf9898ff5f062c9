"""How a cluster follows an archive: bulk requests that are repeated, interrupted, or sent by two."""

import opensearchpy
import pytest
from cluster.load import make_archive

from askalike import rankers
from askalike.core.errors import EngineError, SearchIndexError
from askalike.core.records import Question
from askalike.index.rows import DocAttributes
from askalike.store import Archive
from askalike_opensearch.index import OpenSearchWriter
from askalike_opensearch.maintenance import index_status


@pytest.fixture
def archive(cluster_url, tmp_path):
    with Archive.open(make_archive(tmp_path / "desk", 300), f"opensearch+{cluster_url}") as opened:
        yield opened


def opened_index(ranker, archive):
    [index] = ranker.indexes(archive.view())
    return index


def found(archive, text="bread", ranker=None):
    searcher = rankers.open_current(ranker or rankers.create("bm25"), archive.view())
    return {hit.id for hit in rankers.rank(searcher, {"q": Question("q", text)}, 500)["q"]}


def test_interrupted_build_goes_on_after_acknowledged_changes(archive, monkeypatch):
    monkeypatch.setattr("askalike_opensearch.index.BULK_BYTES", 10_000)
    sent, flush = [], OpenSearchWriter._flush

    def break_off(self):
        flush(self)
        sent.append(self.sent_docid)
        if len(sent) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(OpenSearchWriter, "_flush", break_off)
    ranker = rankers.create("bm25")
    with pytest.raises(KeyboardInterrupt):
        ranker.build(archive.view())
    assert opened_index(ranker, archive).change == 0  # nothing is searched before it is whole
    acknowledged = sent[-1]
    put = OpenSearchWriter.put
    docids = []
    monkeypatch.setattr(
        OpenSearchWriter, "put", lambda self, docid, *rest: (docids.append(docid), put(self, docid, *rest))
    )
    assert len(found(archive)) == 300
    assert min(docids) == acknowledged + 1


def test_concurrent_and_late_followers_change_nothing(archive):
    one, other = rankers.create("bm25"), rankers.create("bm25")
    found(archive, ranker=one)
    archive.upsert([Question("q1", "a samovar for tea", rephrasings=("urn", "kettle"))])
    late = opened_index(other, archive)
    with late.writer(archive.view().change - 1) as writer:  # an older state, sent after a newer one
        assert found(archive, "samovar", one) == {"q1"}
        writer.add(2, [(0, ["bread"])], DocAttributes())
        writer.commit(archive.view().change - 1)
    assert found(archive, "samovar", rankers.create("bm25")) == {"q1"}
    assert found(archive, "kettl", rankers.create("bm25")) == {"q1"}
    archive.upsert([Question("q1", "a samovar for tea")])
    assert found(archive, "kettl") == set()


def test_resent_change_counts_once(archive, monkeypatch):
    send, lost = opensearchpy.Transport.perform_request, []

    def lose_one_answer(self, method, path, **options):
        answer = send(self, method, path, **options)
        if path.endswith("/_bulk") and not lost:
            lost.append(path)
            raise opensearchpy.ConnectionTimeout("TIMEOUT", "the answer is lost", TimeoutError())
        return answer

    monkeypatch.setattr(opensearchpy.Transport, "perform_request", lose_one_answer)
    query = {"q": Question("q", "how do I bake bread number 7")}
    run = rankers.rank(rankers.open_current(rankers.create("bm25"), archive.view()), query, 10)["q"]
    assert lost
    with Archive.open(archive.path) as here:
        expected = rankers.rank(rankers.open_current(rankers.create("bm25"), here.view()), query, 10)["q"]
    assert {hit.id: hit.score for hit in run} == pytest.approx(
        {hit.id: hit.score for hit in expected}, rel=1e-5, abs=1e-6
    )


def test_writes_of_a_lost_node_are_resent(archive, monkeypatch):
    send, refused = opensearchpy.Transport.perform_request, []

    def refuse_first(self, method, path, **options):
        if not path.endswith("/_bulk") or refused:
            return send(self, method, path, **options)
        refused.extend(range(options["body"].count("\n") // 2))
        return {"items": [{"index": {"status": 409, "error": {"type": "version_conflict"}}} for _ in refused]}

    monkeypatch.setattr(opensearchpy.Transport, "perform_request", refuse_first)
    assert len(found(archive)) == len(refused) == 300


def test_index_that_a_lost_answer_created_is_fine(archive):
    index = opened_index(rankers.create("bm25"), archive)
    settings, fields = index.schema()
    for _ in range(2):
        index.cluster.create_index(f"{index.name}-000001", {"settings": settings, "mappings": {"properties": fields}})
    assert index.generations() == [f"{index.name}-000001"]


def test_index_of_another_version_is_rebuilt_beside_it(archive):
    ranker = rankers.create("bm25")
    assert len(found(archive, ranker=ranker)) == 300
    index = opened_index(ranker, archive)
    generation = index.current_generation()
    state = {"fingerprint": index.state.fingerprint, "format": 99, "of_a_later_version": 1}
    index.cluster.request("PUT", f"/{generation}/_doc/state", {"state": state}, refresh="true")
    with pytest.raises(SearchIndexError, match="format 99.*--rebuild"):
        found(archive)
    [status] = index_status(archive, ranker)
    assert "built with other settings or another version; run: askalike index" in status.advice
    assert status.advice.endswith("--rebuild")
    again = rankers.create("bm25")
    rankers.delete_indexes(again, archive.view())
    assert len(found(archive, ranker=again)) == 300
    assert opened_index(again, archive).generations() == [f"{generation[:-1]}2"]


def test_searches_go_on_while_a_generation_is_built(archive, monkeypatch):
    ranker, again = rankers.create("bm25"), rankers.create("bm25")
    found(archive, ranker=ranker)
    searched, put = [], OpenSearchWriter.put

    def search_and_put(self, docid, *rest):
        if docid == 200:
            searched.append(len(found_committed(ranker, archive)))
        put(self, docid, *rest)

    monkeypatch.setattr("askalike_opensearch.index.BULK_BYTES", 10_000)
    monkeypatch.setattr(OpenSearchWriter, "put", search_and_put)
    rankers.delete_indexes(again, archive.view())
    assert len(found(archive, ranker=again)) == 300
    assert searched == [300]
    assert opened_index(again, archive).generations()[0].endswith("-000002")


def test_refused_writes_say_why_and_follow_later(archive, monkeypatch):
    monkeypatch.setattr("askalike_opensearch.connection.RETRY_S", 1.0)
    ranker = rankers.create("bm25")
    found(archive, ranker=ranker)
    index = opened_index(ranker, archive)
    path = f"/{index.current_generation()}/_settings"
    index.cluster.request("PUT", path, {"index.blocks.read_only_allow_delete": True})  # as at the flood-stage watermark
    archive.upsert([Question("new", "a samovar")])
    with pytest.raises(EngineError, match="block"):
        ranker.build(archive.view())
    assert len(found_committed(ranker, archive)) == 300
    index.cluster.request("PUT", path, {"index.blocks.read_only_allow_delete": None})
    assert found(archive, "samovar", ranker) == {"new"}


def found_committed(ranker, archive):
    searcher = ranker.open(archive.view())
    return {hit.id for hit in rankers.rank(searcher, {"q": Question("q", "bread")}, 500)["q"]}
