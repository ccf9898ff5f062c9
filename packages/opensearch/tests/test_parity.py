"""Real archives in three shards: the lists and the scores are those of the local indexes."""

import random

import pytest

from askalike import rankers
from askalike.core.filters import Filter
from askalike.core.records import Question
from askalike.readers import import_archive
from askalike.store import Archive
from askalike_opensearch.connection import connect

pytestmark = pytest.mark.long

SIX = ("tfidf", "bm25", "ib", "dfr", "lm_dirichlet", "lm_jelinek_mercer")
QUERIES, QUERIES_OF_HYBRIDS = 200, 50
ARCHIVES = {
    "cs": ("stackexchange", "stackexchange/cs.stackexchange.com", {}),
    "stackfaq": ("table", "stackfaq/stackExchange-FAQ.json", {"records": "root.qapair"}),
    "askubuntu-titles": ("beir", "askubuntu-titles", {}),
}
CASES = [
    *(("cs", name, fields) for name in (*SIX, "hybrid") for fields in ("title", "text", "title,text")),
    *(("stackfaq", name, "text") for name in (*SIX, "hybrid")),
    *(("askubuntu-titles", name, "title") for name in (*SIX, "hybrid")),
]


@pytest.fixture(scope="module")
def archives(shared_data, tmp_path_factory):
    """Opens an archive with a cluster, or without."""
    folder = tmp_path_factory.mktemp("parity")

    def opened(name, engine=None):
        archive = folder / f"three-shards-{name}"
        if not archive.exists():
            reader, path, options = ARCHIVES[name]
            import_archive(reader, [shared_data / path], archive, options=options)
        return Archive.open(archive, engine)

    return opened


@pytest.fixture(scope="module")
def three_shards(cluster_url):
    """The address of a cluster where the indexes of these archives have three shards each."""
    settings = {"index.number_of_shards": 3}
    template = {"index_patterns": ["askalike-three-shards-*"], "template": {"settings": settings}, "priority": 200}
    connect(cluster_url).request("PUT", "/_index_template/three_shards", template)  # as other workers of this run do
    return f"opensearch+{cluster_url}"


@pytest.mark.parametrize(("name", "ranker", "fields"), CASES)
def test_the_same_hits_with_the_same_scores(archives, three_shards, name, ranker, fields):
    with archives(name) as here, archives(name, three_shards) as there:
        view = here.view()
        ids = [id for _, id, _ in view.titles()]
        drawn = random.Random(1).sample(ids, min(QUERIES_OF_HYBRIDS if ranker == "hybrid" else QUERIES, len(ids)))
        queries = dict(list(view.get_questions(drawn).items()))
        if name != "stackfaq":  # as if they were typed: each finds itself, and what equals it
            queries = {f"typed {id}": Question(f"typed {id}", q.title) for id, q in queries.items()}
        local, remote = (
            rankers.open_current(rankers.create(ranker, {"fields": fields}), archive.view())
            for archive in (here, there)
        )
        expected, run = rankers.rank(local, queries, 10), rankers.rank(remote, queries, 10)
        largest = 0.0
        for query in queries:
            assert [hit.id for hit in run[query]] == [hit.id for hit in expected[query]], query
            for hit, other in zip(run[query], expected[query], strict=True):
                assert hit.score == pytest.approx(other.score, rel=1e-5, abs=1e-6)
                largest = max(largest, abs(hit.score - other.score) / max(abs(other.score), 0.1))
        print(f"{name} {ranker} {fields}: {len(queries)} lists, largest relative difference {largest:.1e}")  # pytest -s
        newest = Filter(after="2015-01-01")
        some = dict(list(queries.items())[:20])
        filtered, wanted = (rankers.rank(s, some, 10, filter=newest) for s in (remote, local))
        assert {q: [h.id for h in filtered[q]] for q in some} == {q: [h.id for h in wanted[q]] for q in some}
