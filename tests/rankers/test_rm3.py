"""Pseudo-relevance feedback against the formula worked out another way."""

import pytest

from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.core.types import Question
from askalike.store import Archive

FILLING = [f"thing{n} of kind{n % 7}" for n in range(40)]
TITLES = ["boil an egg in water", "egg timer for water", "poach an egg softly", "softly poach", *FILLING]
QUERY = Question("q", "boil egg")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    with Archive.create(tmp_path_factory.mktemp("rm3") / "archive") as archive:
        archive.upsert(Question(f"{n:02}", title) for n, title in enumerate(TITLES))
        yield archive


def opened(archive, name, **values):
    return rankers.open_current(rankers.create(name, {"stem": False, **values}), archive.view())


def scores(archive, name, query=QUERY, **values):
    return {hit.id: hit.score for hit in opened(archive, name, **values).rank({"q": query}, 100)["q"]}


def test_its_score_is_that_of_the_mixed_query(archive):
    """P(w|R) from the scores and texts, then BM25 word by word with the mixed weights; words of over 10 % are out."""
    first = scores(archive, "bm25")
    assert set(first) == {"00", "01", "02"}
    relevance = dict.fromkeys({word for id in first for word in TITLES[int(id)].split()}, 0.0)
    for id, score in first.items():
        words = TITLES[int(id)].split()
        for word in words:
            relevance[word] += score / len(words)
    best = sorted(sorted(relevance), key=lambda word: -relevance[word])[:5]
    total = sum(relevance[word] for word in best)
    weights = {word: (1 - 0.6) * relevance[word] / total for word in best}
    for word in ("boil", "egg"):
        weights[word] = weights.get(word, 0) + 0.6 / 2
    expected = dict.fromkeys(scores(archive, "rm3", feedback_terms=5, original_weight=0.6), 0.0)
    for word, weight in weights.items():
        for id, score in scores(archive, "bm25", Question("q", word), spelling=False).items():
            expected[id] += 2 * weight * score
    assert scores(archive, "rm3", feedback_terms=5, original_weight=0.6) == pytest.approx(expected, rel=1e-4)


def test_it_finds_what_shares_no_word_with_the_query(archive):
    assert "03" not in scores(archive, "bm25")
    assert "03" in scores(archive, "rm3")


def test_the_query_alone_is_the_similarity(archive):
    assert scores(archive, "rm3", original_weight=1.0) == pytest.approx(scores(archive, "bm25"), rel=1e-6)


def test_a_question_is_not_read_for_itself(archive):
    """Otherwise its own words would come first among those added."""
    searcher = opened(archive, "rm3")
    assert "00" not in [hit.id for hit in searcher.rank({"q": Question("00", TITLES[0])}, 100)["q"]]
    reason = searcher.explain_ids(QUERY, ["03"])["03"]
    assert {row.word for row in reason.contributions} == {"poach", "softly"}
    assert reason.score == pytest.approx(scores(archive, "rm3")["03"])


def test_another_formula_and_what_is_wrong(archive):
    assert scores(archive, "rm3", similarity="lm_dirichlet", mu=10)
    with pytest.raises(SettingsError, match="rm3: no similarity is called 'static'"):
        rankers.create("rm3", {"similarity": "static"})
    with pytest.raises(SettingsError, match="original_weight"):
        rankers.create("rm3", {"original_weight": 2})
    with pytest.raises(SettingsError, match="for answers, use bm25"):
        rankers.create("rm3").open(archive.view(kind="answers"))
