"""No language is worse off than by its words: function words, foreign languages of an encoder, compounds."""

import numpy as np
import pytest

from askalike import encoders, rankers
from askalike.core.records import Question

GERMAN = {
    "cancel": "Wie storniere ich meine Bestellung?",
    "quit": "Wie kündige ich meinen Vertrag?",
    "postage": "Wie hoch sind die Versandkosten?",
    "sending": "Was kostet der Versand? Die Kosten sind gestaffelt.",
    "number": "Wo steht die Rechnungsnummer?",
}
ENGLISH = {"egg": "How do I boil an egg?", "sort": "How do I sort a list?"}


@pytest.fixture(scope="module")
def static():
    return encoders.build("static")


@pytest.fixture
def archive(archive):
    archive.upsert(Question(id, title, language="de") for id, title in GERMAN.items())
    archive.upsert(Question(id, title, language="en") for id, title in ENGLISH.items())
    return archive


def searcher_of(archive, name="hybrid", **settings):
    return rankers.open_current(rankers.create(name, settings), archive.view())


def found(searcher, title, language="de", k=3):
    return [hit.id for hit in rankers.rank(searcher, {"q": Question("q", title, language=language)}, k)["q"]]


def read_as(searcher, title, **options):
    [one] = rankers.resolve(searcher, {"q": Question("q", title, language="de")}, **options)
    return one.text


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Wie storniere ich meine Bestellung?", "storniere Bestellung?"),
        ("Comment annuler ma commande ?", "annuler commande ?"),
        ("¿Cómo cancelo mi pedido?", "cancelo pedido?"),
        ("Как мне отменить мой заказ?", "отменить заказ?"),
        ("How do I sort it in a war?", "How do I sort it in a war?"),
        ("Was ist das?", "Was ist das?"),
        ("", ""),
    ],
)
def test_function_words_weigh_nothing_except_english_ones(static, text, content):
    skipped = static.ngrams.lookup
    rows, offsets = skipped([text, content])
    assert rows[: offsets[1]].tolist() == rows[offsets[1] :].tolist()


def test_words_of_two_languages_add_up(static):
    texts = ["Was kostet die Lieferung? Was?", "Was it the last delivery? die", "die Lieferung"]
    words = static.words(texts)
    (numbers, _, ends), vectors = words.tokens, words.vectors
    wholes = static.encode_queries([Question(text, text) for text in texts]).parts[0].values
    for n, whole in enumerate(wholes):
        own = slice(ends[n], ends[n + 1])
        assert [words.known[number] for number in numbers[own]] == texts[n].split()
        np.testing.assert_allclose(vectors[own].sum(axis=0), whole, rtol=1e-4, atol=1e-5)
    assert not vectors[0].any()  # the German "Was", unlike the English one
    assert vectors[ends[1]].any()


def test_words_weigh_more_in_unknown_languages(static, archive):
    ranker = rankers.create("hybrid")
    assert ranker.weights_for("en") == ranker.weights_for(None) == ranker.weights
    assert ranker.weights_for("ru")[0] > ranker.weights[0]
    assert sum(ranker.weights_for("ru")) == pytest.approx(1)
    assert rankers.create("hybrid", {"weights": [1, 1]}).weights_for("ru") == (1, 1)
    queries = {code: Question(code, "Bestellung", language=code) for code in ("de", "en")}
    both = rankers.search(searcher_of(archive), queries, 1)
    for one, score, *parts in zip(both.queries, both.scores, *(part.absolute for part in both.parts), strict=True):
        weights = ranker.weights_for(one.language)
        assert score[0] == pytest.approx(max(weights[0] * parts[0] + weights[1] * np.nan_to_num(parts[1])))


def test_a_question_word_decides_nothing(archive):
    assert found(searcher_of(archive), "Wie kann ich wie gestern stornieren?", k=1) == ["cancel"]


def test_foreign_function_words_weigh_less_in_hybrids(archive):
    def weight(language, **settings):
        searcher = searcher_of(archive, "lm_jelinek_mercer", fields="title", **settings)
        query = {"q": Question("q", "wie egg", language=language)}
        return rankers.search(searcher, query, 1, candidates={"q": ["quit"]}).scores[0][0]

    assert weight("de", function_words=0.25) == pytest.approx(0.25 * weight("de"), rel=1e-4)
    assert weight("en", function_words=0.25) == weight("en")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("versandkosten", {"postage", "sending"}),
        ("Kosten für den Versand", {"postage", "sending"}),
        ("Kosten des Versands", {"postage", "sending"}),
        ("Nummer der Rechnung", {"number"}),
    ],
)
def test_compounds_find_their_parts_and_parts_their_compound(archive, typed, expected):
    searcher = searcher_of(archive, "lm_jelinek_mercer", joined=True)
    assert set(found(searcher, typed)) >= expected


def test_only_words_of_the_archive_divide_a_compound(archive):
    searcher = searcher_of(archive, "lm_jelinek_mercer", joined=True)
    assert read_as(searcher, "Versandkosten?") == "Versand-kosten?"
    assert read_as(searcher, "Reisekosten") == "Reisekosten"
    assert read_as(searcher, "Vertragsbestellung") == "Vertrags bestellung"  # itself unknown
    assert read_as(searcher, "die Versandkosten", prefix=True) == "die Versandkosten"  # still being typed
    assert read_as(searcher_of(archive, "lm_jelinek_mercer"), "Versandkosten") == "Versandkosten"
