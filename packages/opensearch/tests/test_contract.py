"""The cluster keeps to the contract of engines, and gives the hits, scores and reasons of the local engine."""

import pytest

from askalike import ArchiveRetriever, SettingsError
from contracts.engine_contract import *  # noqa: F403 (tests and their fixtures)
from contracts.engine_contract import REQUESTS

pytestmark = pytest.mark.long
QUICK, OTHERS = ("hybrid",), ("bm25", "dfr", "ib", "lm_dirichlet", "tfidf", "static", "cascade", "distinct")
RANKERS = (*QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS))
SEMANTIC = {"static", "cascade", "hybrid"}


@pytest.fixture
def address(cluster_url):
    """The cluster that all tests share."""
    return f"opensearch+{cluster_url}"


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize(
    "settings", [{}, pytest.param({"fields": "title,text,answer"}, marks=pytest.mark.long)], ids=str
)
def test_results_are_those_of_the_local_engine(cluster_url, library, name, settings):
    with ArchiveRetriever.open(library, name, settings) as local:
        by_local = local.search_batch(REQUESTS)  # it saves the threshold of silence, for which a cluster takes minutes
    with ArchiveRetriever.open(library, name, settings, f"opensearch+{cluster_url}") as engine:
        for request, result, expected in zip(REQUESTS, engine.search_batch(REQUESTS), by_local, strict=True):
            assert [hit.id for hit in result] == [hit.id for hit in expected], request
            for hit, other in zip(result, expected, strict=True):
                assert hit.score == pytest.approx(other.score, rel=1e-5)
                assert hit.snippet == other.snippet
                assert hit.explanation.spans == other.explanation.spans
                assert hit.explanation.fields == pytest.approx(other.explanation.fields, rel=1e-4, abs=1e-6)
                pairs = zip(hit.explanation.contributions, other.explanation.contributions, strict=True)
                assert all(one.score == pytest.approx(two.score, rel=1e-4, abs=1e-6) for one, two in pairs)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [({"lengths": "exact"}, "lengths=byte")],
)
def test_a_ranker_without_a_counterpart_says_so(cluster_url, library, settings, problem):
    engine = ArchiveRetriever.open(library, "bm25", settings, f"opensearch+{cluster_url}")
    with engine, pytest.raises(SettingsError, match=problem):
        engine.search("anything")
