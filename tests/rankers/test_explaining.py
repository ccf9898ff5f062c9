"""Every ranker says why: what adds up is told as a sum, anything else by what is lost without each word."""

import numpy as np
import pytest

from askalike import rankers
from askalike.core.hits import Contribution, Explanation, Span
from askalike.core.records import Question
from askalike.encoders import TextWords
from askalike.rankers._word_explanations import Word, WordComparison
from askalike.rankers.hybrid import merge_explanations
from askalike.rankers.pairwise import explain_by_occlusion
from askalike.store.archive import Archive
from small_models import write_encoder

TITLE = "my bicycle was taken by a thief"


def test_what_is_lost_without_a_word_by_hand():
    def scores(queries, documents):
        return np.array([[float(len(set(q.title.split()) & set(d.title.split()))) for d in documents] for q in queries])

    found = explain_by_occlusion(
        scores, "count", Question("q", "boil an egg"), {"a": Question("a", "egg of a hen")}, {"a": 1.0}
    )["a"]
    assert [(c.word, c.score) for c in found.contributions] == [("egg", 1.0), ("boil", 0.0), ("an", 0.0)]
    assert found.spans == (Span("title", 0, 3),)
    assert found.score == 1.0


@pytest.fixture
def stolen(tmp_path):
    """An archive, and a ranker by an encoder with random weights that knows some of its words."""
    model = write_encoder(tmp_path / "model", ["bike", "stolen", "the", "is", *TITLE.split()])
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question("a", TITLE, "A bike was stolen."), Question("b", "tax form")])
        ranker = rankers.create("pretrained", {"encoder": str(model), "fields": "title,text"}, archive)
        yield rankers.open_current(ranker, archive.view())


def test_exact_contributions_are_what_is_lost(stolen):
    query = Question("q", "the bike is stolen", "bike thief")
    reason = rankers.explain_ids(stolen, query, ["a"], exact=True)["a"]

    def score(title, body):
        [hit] = rankers.rank(stolen, {"q": Question("q", title, body)}, 1, candidates={"q": ["a"]})["q"]
        return hit.score

    texts = [("bike is stolen", "bike thief"), ("the is stolen", "bike thief"), ("the bike stolen", "bike thief")]
    texts += [("the bike is", "bike thief"), ("the bike is stolen", "thief"), ("the bike is stolen", "bike")]
    whole = score(query.title, query.body)
    lost = sorted((whole - score(*text) for text in texts), reverse=True)
    assert [row.score for row in reason.contributions] == pytest.approx(lost, abs=1e-6)


def test_usual_explanation_encodes_nothing(stolen, monkeypatch):
    retrieved = rankers.search(stolen, {"q": Question("q", "the bike is stolen")}, 2)
    monkeypatch.delattr(type(stolen._ranker.encoder), "_encode")
    [reasons] = rankers.explain_retrieved(stolen, retrieved, retrieved.docids)
    reason = reasons[1]
    words = {row.word: row.fields for row in reason.contributions}
    assert "stolen" in words
    assert sum(row.score for row in reason.contributions) == pytest.approx(reason.score)
    with pytest.raises(AttributeError):
        rankers.explain_retrieved(stolen, retrieved, retrieved.docids, exact=True)


def test_merged_word_is_named_as_shared():
    text = {"title": "bicycle rack"}
    lexical = Explanation(
        1.0, (Contribution("bikes", ("title",), 1.0),), (Span("title", 8, 12),), {"title": "bicycle rack"}
    )
    rows = [("Bikes ≈ bicycle", ("body",), 0.6), ("stand ≈ rack", ("title",), 0.4)]
    dense = Explanation(1.0, Contribution.of_rows(rows), (Span("title", 0, 7),), {"title": "bicycle"})
    merged = merge_explanations([lexical, dense], {"bm25": 0.5, "dense": 0.5})
    assert [(row.word, row.fields) for row in merged.contributions] == [
        ("bikes", ("title",)), ("stand ≈ rack", ("title",)),
    ]  # fmt: skip
    assert [row.score for row in merged.contributions] == pytest.approx([0.8, 0.2])
    assert (merged.spans, merged.text) == ((Span("title", 8, 12), Span("title", 0, 7)), text)


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
    compared = WordComparison(encoder, "Reset cards quick (worst)", [document], ["en"])
    assert encoder.asked == 3
    assert [form.text for form in compared.query_forms] == ["Reset", "cards", "quick", "worst"]
    reset, cards, quick, worst = compared.nearest()[0]
    assert reset == Word("reset", Span("body", 9, 14))
    assert cards == Word("cards", Span("title", 6, 11))
    assert quick is None
    assert worst == Word("lost", Span("title", 0, 4))
    words = encoder.words(["Reset cards quick (worst)", *document.values()])
    total = words.vectors[words.tokens.ends[1] :].sum(axis=0)
    np.testing.assert_allclose(compared.products[0], words.vectors[:4] @ total)


def test_a_dash_is_no_words_nearest():
    assert WordComparison(Letters(), "ab-", [{"title": "- c"}], ["en"]).nearest() == [[None]]


def test_function_words_are_nobody_s_words():
    for languages, expected in ((["en"], None), (["de"], Word("there", Span("title", 4, 9)))):
        compared = WordComparison(Letters(), "three", [{"title": "fog there"}], languages)
        assert compared.nearest() == [[expected]]
    assert WordComparison(Letters(), "how", [{"title": "how who"}], [None]).nearest() == [[None]]


def test_first_of_equally_similar_words_is_marked():
    query, document, other = (
        "cards of gold", {"title": "my kards", "body": "kards, cards and cards"}, {"title": "dracs " * 40},
    )  # fmt: skip
    encoder = Letters()
    for documents in ([document], [other, document, other]):
        nearest = WordComparison(encoder, query, documents, ["en"]).nearest()[documents.index(document)]
        assert nearest[0] == Word("cards", Span("body", 7, 12))
    assert WordComparison(encoder, query, [other], ["en"]).nearest()[0][0] == Word("dracs", Span("title", 0, 5))
