"""What rankers keep to that score candidates only, here a small cross-encoder: see test_rankers for all others."""

import pytest

from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.core.records import Question
from askalike.store import Archive
from needs import need
from small_models import write_cross_encoder

TITLES = (
    "how do I boil an egg", "how long does an egg boil", "boil rice", "boil an egg", "boil an egg",
    "why is rice sticky", "salt in water", "water for rice", "pasta water", "how much salt for pasta", "",
    "an egg in a microwave",
)  # fmt: skip
QUERIES = {
    "q1": Question("q1", "boil egg"),
    "q2": Question("q2", "how much water for rice", "and how much salt"),
    "03": Question("03", "boil an egg"),
    "none": Question("none", ""),
}
POOL = [f"{n:02}" for n in (7, 10, 2, 1, 6, 3)]
POOLS = dict.fromkeys(QUERIES, POOL)


def fill(path):
    archive = Archive.create(path)
    archive.upsert(Question(f"{n:02}", title, tags=("even",)[n % 2 :]) for n, title in enumerate(TITLES))
    return archive


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    with fill(tmp_path_factory.mktemp("candidates") / "archive") as archive:
        yield archive


@pytest.fixture(scope="module")
def ranker(archive):
    need("onnx", "onnxruntime", "tokenizers")
    words = sorted({word for title in TITLES for word in title.split()})
    return rankers.create("cross_encoder", {"encoder": str(write_cross_encoder(archive.path / "cross", words))})


@pytest.fixture
def searcher(ranker, archive):
    return rankers.open_current(ranker, archive.view())


def columns(run):
    return {q: [(h.id, h.score) for h in run[q]] for q in run}


def test_its_values_make_it_again(ranker, searcher, archive):
    again = rankers.create(ranker.name, ranker.values, archive.path)
    assert (again.name, again.values, again.fingerprint) == (searcher.name, ranker.values, ranker.fingerprint)


def test_without_candidates_it_names_what_proposes_some(searcher):
    with pytest.raises(SettingsError, match=f"ranks given candidates only.*--ranker cascade.*{searcher.name}"):
        rankers.rank(searcher, QUERIES, 5)


def test_an_unknown_setting_is_a_clear_error(ranker, archive):
    with pytest.raises(SettingsError, match="nonsense"):
        rankers.create(ranker.name, {**ranker.values, "nonsense": 1}, archive.path)


def test_all_candidates_are_ranked_best_first(searcher):
    run = columns(rankers.rank(searcher, QUERIES, 100, candidates={q: [*POOL, "nowhere", "07"] for q in QUERIES}))
    for query, hits in run.items():
        assert sorted(id for id, _ in hits) == sorted(set(POOL) - {query})
        assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True)
    assert len({score for _, score in run["q1"]}) > 2
    assert columns(rankers.rank(searcher, QUERIES, 2, candidates=POOLS)) == {q: hits[:2] for q, hits in run.items()}
    assert columns(rankers.rank(searcher, {"q1": QUERIES["q1"]}, 5, candidates={})) == {"q1": []}


def test_query_without_a_word_keeps_candidates_in_order(searcher):
    assert [hit.id for hit in rankers.rank(searcher, QUERIES, 100, candidates=POOLS)["none"]] == POOL


def test_batch_is_its_queries_one_by_one(ranker, searcher, archive):
    together = columns(rankers.rank(searcher, QUERIES, 10, candidates=POOLS))
    reopened = rankers.open_current(ranker, archive.view())
    assert together == columns(rankers.rank(reopened, QUERIES, 10, candidates=POOLS))
    assert together == {
        id: columns(rankers.rank(searcher, {id: query}, 10, candidates=POOLS))[id]
        for id, query in reversed(QUERIES.items())
    }


def test_the_words_of_hits_explain_the_scores(searcher):
    hits = rankers.rank(searcher, QUERIES, 10, candidates=POOLS)["q1"]
    reasons = rankers.explain_ids(searcher, QUERIES["q1"], [hit.id for hit in hits])
    assert [reasons[hit.id].score for hit in hits] == pytest.approx([hit.score for hit in hits], rel=1e-5)
    assert {part.word for part in reasons["01"].contributions} == {"boil", "egg"}


def test_cascade_orders_what_is_proposed_whatever_k(ranker, archive):
    own = {f"{ranker.name}.{key}": value for key, value in ranker.values.items()}
    cascade = rankers.create("cascade", {"parts": ["bm25", ranker.name], **own}, archive.path)
    behind = rankers.open_current(cascade, archive.view())
    proposed = rankers.rank(rankers.open_current(rankers.create("bm25"), archive.view()), QUERIES, 100)
    whole = columns(rankers.rank(behind, QUERIES, 100))
    assert {q: sorted(id for id, _ in hits) for q, hits in whole.items()} == {
        q: sorted(hit.id for hit in proposed[q]) for q in QUERIES
    }
    assert columns(rankers.rank(behind, QUERIES, 3)) == {q: hits[:3] for q, hits in whole.items()}
