"""Late interaction: the first hits by their ranker's score and by how near the query's tokens come to a title's."""

import numpy as np
import pytest

from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.core.types import Question
from askalike.rankers.late_interaction import LateInteractionRanker
from askalike.store import Archive
from needs import need
from small_models import WORDS, write_encoder

need("onnxruntime", "onnx", "safetensors", "tokenizers")

DEPTH, WEIGHT = 5, 0.4
QUERIES = {f"q{n}": Question(f"q{n}", " ".join(WORDS[n : n + 4])) for n in range(6)}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    with Archive.create(tmp_path_factory.mktemp("late") / "archive") as archive:
        titles = [" ".join(WORDS[begin : begin + 3 + begin % 4]) for begin in range(18)]
        archive.upsert(
            Question(f"{n:02}", title, "a body", rephrasings=("why was the bike stolen",) if n % 5 == 0 else ())
            for n, title in enumerate(titles)
        )
        yield archive


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    model = str(write_encoder(tmp_path_factory.mktemp("small") / "model", [*dict.fromkeys(WORDS)]))
    parts = {"parts": ["bm25", "pretrained"], "pretrained.model": model}
    return {**parts, "depth": DEPTH, "weight": WEIGHT}


@pytest.fixture(scope="module")
def ranker(archive, values) -> LateInteractionRanker:
    ranker = rankers.create("late_interaction", values, archive)
    assert isinstance(ranker, LateInteractionRanker)
    return ranker


@pytest.fixture(scope="module")
def searcher(archive, ranker):
    return rankers.open_current(ranker, archive.view())


def brute_force(ranker, query: str, titles: list[str]) -> float:
    """The mean over the query's tokens of the greatest cosine, for the title where it is greatest."""
    encode = ranker.encoder.encode_tokens
    means = []
    for title in titles:
        best = [max(float(a @ b) for b in encode(title, "document")) for a in encode(query, "query")]
        means.append(sum(best) / len(best))
    return max(means)


def test_scores_are_the_first_rankers_and_what_tokens_add(archive, ranker, searcher):
    base = rankers.open_current(rankers.create("bm25"), archive.view()).rank(QUERIES, 18)
    texts = {q.id: [q.title, *q.rephrasings] for _, q in archive.view().questions()}
    run = searcher.rank(QUERIES, 18)
    for id, query in QUERIES.items():
        first = {hit.id: hit.score for hit in base[id]}
        pool = [hit.id for hit in base[id]][:DEPTH]
        added = {doc: WEIGHT * max(0, brute_force(ranker, query.title, texts[doc])) for doc in pool}
        expected = {doc: score + added.get(doc, 0) for doc, score in first.items()}
        assert {hit.id: hit.score for hit in run[id]} == pytest.approx(expected, abs=1e-5)
        assert [hit.score for hit in run[id]] == sorted((hit.score for hit in run[id]), reverse=True)


def test_the_first_ranker_searches_once(archive, ranker, monkeypatch):
    searcher, depths = rankers.open_current(ranker, archive.view()), []
    retrieve = searcher.parts[0].retrieve
    monkeypatch.setattr(searcher.parts[0], "retrieve", lambda *given: depths.append(given[1]) or retrieve(*given))
    session = searcher.search(QUERIES, 18)
    assert max(len(top.docids) for top in session.topdocs) > DEPTH
    session.explain(0, session.topdocs[0].docids.tolist())
    assert depths == [18]


def test_scores_move_neither_with_k_nor_with_candidates_nor_with_the_batch(searcher):
    run = searcher.rank(QUERIES, 18)
    for id, query in QUERIES.items():
        scores = {hit.id: hit.score for hit in run[id]}
        assert [h.id for h in searcher.rank({id: query}, 2)[id]] == [h.id for h in run[id]][:2]
        some = list(scores)[::3]
        ranked = searcher.rank({id: query}, 9, candidates={id: some})[id]
        assert {hit.id: hit.score for hit in ranked} == pytest.approx({doc: scores[doc] for doc in some}, abs=1e-6)


def test_an_explanation_adds_up(searcher):
    hits = searcher.rank(QUERIES, 3)["q2"]
    for id, explanation in searcher.explain_ids(QUERIES["q2"], [hit.id for hit in hits]).items():
        score = next(hit.score for hit in hits if hit.id == id)
        assert explanation.score == pytest.approx(score)
        assert sum(explanation.parts.values()) == pytest.approx(score)
        assert sum(c.score for c in explanation.contributions) == pytest.approx(score)
        assert set(explanation.parts) == {"bm25", "late_interaction"}


def test_the_encoder_may_be_the_ranker(archive, values):
    alone = {"parts": ["pretrained"], "pretrained.model": values["pretrained.model"]}
    run = rankers.open_current(rankers.create("late_interaction", alone, archive), archive.view()).rank(QUERIES, 3)
    assert all(len(run[id]) == 3 for id in QUERIES)


def test_other_parts_are_refused(archive, values):
    with pytest.raises(SettingsError, match="expected a ranker and a pre-trained encoder"):
        rankers.create("late_interaction", {"parts": ["bm25", "tfidf"]}, archive)


def test_a_query_without_a_word_finds_what_its_ranker_finds(searcher):
    assert not np.isnan([hit.score for hit in searcher.rank({"q": Question("q", "")}, 3)["q"]]).any()
