"""The lexical ranker's manners: self-hits, prefixes, odd queries, explanations, settings."""

from collections import Counter

import numpy as np
import pytest

from askalike import rankers
from askalike.core import registry
from askalike.core.errors import SettingsError
from askalike.core.filters import Filter
from askalike.core.records import Answer, Question
from askalike.index.lexical.prepared import TermColumns
from askalike.index.rows import Excluded
from askalike.rankers._queries_and_results import ResolvedQuery
from askalike.rankers.lexical import LexicalSettings, TermExtractor
from askalike.store import Archive

QUESTIONS = (
    Question(
        "egg", "How long do I boil an egg?", "Mine are runny.", rephrasings=("boiling time of eggs", "egg timing")
    ),
    Question("rice", "How do I boil rice?", "It sticks to the pot.", tags=("grain",), created_at="2021-05-01"),
    Question("pot", "Which pot for rice?", tags=("pan", "grain"), created_at="2022-05-01"),
    Question("tea", "茶水 temperature", "How hot?", created_at="2020-05-01"),
    Question("?", "???", ""),
)
NAMES = registry.names("similarity")


@pytest.fixture
def archive(archive):
    archive.upsert([*QUESTIONS, Answer("A1", "rice", "Boil it in water"), Answer("A2", "egg", "Boil six minutes")])
    return archive


def indexed(archive, name="bm25", of="questions", **settings):
    return rankers.open_current(
        rankers.create(name, settings).fit(archive.training_view((), kind=of)), archive.view(of)
    )


def found(ranker, title, k=10, id="q", **more):
    return [h.id for h in rankers.rank(ranker, {id: Question(id, title)}, k, **more)[id]]


@pytest.mark.parametrize("name", NAMES)
def test_rephrasing_finds_its_question_by_other_phrasings(archive, name):
    ranker = indexed(archive, name)
    score = {id: dict(scores(ranker, "egg timing", id)) for id in ("q", "egg#1", "egg#2", "egg#9", "egg#0")}
    assert 0 < score["egg#2"]["egg"] < score["egg#1"]["egg"] == score["q"]["egg"]
    assert score["q"] == score["egg#9"] == score["egg#0"]
    pool = {"egg#2": ["rice", "egg"]}
    ranked = rankers.rank(ranker, {"egg#2": Question("egg#2", "egg timing")}, 5, candidates=pool)["egg#2"]
    assert {h.id: h.score for h in ranked}["egg"] == score["egg#2"]["egg"]


def scores(ranker, title, id="q", **more):
    return [(h.id, h.score) for h in rankers.rank(ranker, {id: Question(id, title)}, 10, **more)[id]]


@pytest.mark.parametrize(
    "id", ["egg#99999", "egg#" + "9" * 5_000, "egg#²", "egg#٣", "#1", "egg#", "#", "", "egg\0", "\ud800"]
)
def test_ids_resembling_a_rephrasings_are_ordinary(archive, id):
    assert scores(indexed(archive), "boil rice", id) == scores(indexed(archive), "boil rice")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "?!…—",
        "zzz qqq",
        "\0\x01\x1f",
        "\ud800",
        "egg\udfff",
        "\U0010ffff",
        "\u0301",
        "e\0gg",
        "茶",
        "#" * 100_000,
    ],
)
@pytest.mark.parametrize("prefix", [False, True])
def test_odd_queries_are_answered(archive, text, prefix):
    for name in NAMES:
        ranker = indexed(archive, name)
        run = rankers.rank(ranker, {"q": Question("q", text, text), "n": Question("n", "rice")}, 3, prefix=prefix)
        assert list(run) == ["q", "n"]
        assert run["n"] == rankers.rank(ranker, {"n": Question("n", "rice")}, 3, prefix=prefix)["n"] != []
        assert all(np.isfinite(h.score) and h.score > 0 for h in run["q"])
        ranked = rankers.rank(
            ranker, {"q": Question("q", text)}, 9, candidates={"q": ["tea", "rice", "egg"]}, prefix=prefix
        )
        assert {h.id for h in ranked["q"]} == {"tea", "rice", "egg"}
        rankers.explain_ids(ranker, Question("q", text, text), ["egg", "rice"])


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name != "bm25")) for name in NAMES])
def test_a_query_of_100_000_words(archive, name):
    ranker = indexed(archive, name)
    rare = " ".join(f"x{i}" for i in range(100_000))
    alone = dict(scores(ranker, "boil rice"))
    assert dict(scores(ranker, f"{rare} boil rice")) == pytest.approx(
        alone, rel=2e-2
    )  # they share one scale, over two fields
    often = scores(ranker, "boil rice " * 50_000)
    assert [id for id, _ in often] == found(ranker, "boil rice")
    assert often[0][1] == pytest.approx(50_000 * scores(ranker, "boil rice")[0][1], rel=1e-6)


def test_k_may_be_larger_than_the_archive(archive):
    assert found(indexed(archive), "boil rice", k=2**40) == found(indexed(archive), "boil rice")


def test_an_unfinished_word_matches_its_completions_and_itself(archive):
    ranker = indexed(archive)
    assert found(ranker, "r", prefix=True) == found(ranker, "rice runny")
    assert set(found(ranker, "which p", prefix=True)) == {"pot", "rice"}
    for whole in ("boiling", "eggs", "sticking", "茶"):
        assert set(found(ranker, whole, prefix=True)) >= set(found(ranker, whole))
    assert found(ranker, "rice ", prefix=True) == found(ranker, "rice")
    assert found(ranker, "xyz", prefix=True) == []


def test_a_filter_never_eats_results(archive):
    ranker = indexed(archive)
    assert set(found(ranker, "boil egg rice", filter=Filter(("grain",)), k=2)) == {"rice", "pot"}
    assert found(ranker, "rice", filter=Filter(("grain", "pan"))) == ["pot"]
    assert found(ranker, "rice", filter=Filter(after="2021-05-02")) == ["pot"]
    assert found(ranker, "rice", filter=Filter(before="2022-05-01", after="2021-05-01")) == ["rice"]
    assert found(ranker, "rice", filter=Filter(("nothing",))) == []
    assert found(ranker, "how", candidates={"q": ["tea", "egg", "rice"]}, filter=Filter(("grain",))) == ["rice"]
    assert found(ranker, "rice", filter=Filter(("gr\ud800ain",))) == []


def test_filter_on_answers_is_one_on_questions(archive):
    ranker = indexed(archive, of="answers")
    assert set(found(ranker, "boil")) == {"A1", "A2"}
    assert found(ranker, "boil", filter=Filter(("grain",))) == ["A1"]
    assert found(ranker, "boil", candidates={"q": ["A2", "A1"]}, filter=Filter(("grain",))) == ["A1"]


def test_answer_id_is_no_question_to_exclude(archive):
    assert set(found(indexed(archive, of="answers"), "boil", id="A1")) == {"A1", "A2"}


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_fields_are_summed_by_weight(archive, name):
    """Each field has statistics of its own; only the title of a query is compared with titles."""
    of_titles, of_texts = (
        dict(scores(indexed(archive, name, fields=field, rephrasings=False), "boil the eggs"))
        for field in ("title", "text")
    )
    values = {"fields": "title,text", "field_weights": "2,0.5", "rephrasings": False}
    summed = {id: 2 * of_titles.get(id, 0.0) + 0.5 * score for id, score in of_texts.items()}
    assert dict(scores(indexed(archive, name, **values), "boil the eggs")) == pytest.approx(summed, rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_questions_without_a_searched_word_do_not_count(archive, name):
    """As in Lucene, N is the number of documents that have the field."""
    with Archive.create(archive.path.parent / "bodies") as other:
        other.upsert(question for question in QUESTIONS if question.body)
        assert scores(indexed(archive, name, fields="body"), "the pot sticks") == scores(
            indexed(other, name, fields="body"), "the pot sticks"
        )


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"fields": "title,text", "field_weights": "1"}, r"field_weights has 1 weight; expected one for each field"),
        ({"fields": "title,text", "field_weights": "0,0"}, r"one of them above 0"),
        ({"fields": "title,title"}, r"each once"),
        ({"fields": "headline"}, r"expected fields"),
    ],
)
def test_fields_and_weights_that_cannot_be_are_refused(archive, settings, problem):
    with pytest.raises(SettingsError, match=problem):
        indexed(archive, **settings)


def test_explanations_say_which_words_matched_where(archive):
    ranker = indexed(archive)
    query = Question("q", "Boiled RICE pots")
    explained = rankers.explain_ids(ranker, query, ["rice", "egg", "pot", "nobody"])
    assert explained.keys() == {"rice", "egg", "pot"}
    assert {(c.word, c.fields) for c in explained["rice"].contributions} == {
        ("Boiled", ("title",)), ("RICE", ("title",)), ("pots", ("body",)),
    }  # fmt: skip
    for id, score in scores(ranker, query.title):
        reason = explained[id]
        assert reason.score == pytest.approx(score, rel=1e-9)
        assert all(reason.text[s.field][s.start : s.end] for s in reason.spans)
    spans = {explained["egg"].text[s.field][s.start : s.end] for s in explained["egg"].spans}
    assert spans in ({"boil"}, {"boiling"})


def test_unfinished_word_is_explained_by_its_completion(archive):
    ranker = indexed(archive)
    query = Question("q", "egg tim")
    hit = rankers.rank(ranker, {"q": query}, 1, prefix=True)["q"][0]
    reason = rankers.explain_ids(ranker, query, ["egg"], prefix=True)["egg"]
    assert {(c.word, c.fields) for c in reason.contributions} == {("egg", ("rephrasing",)), ("tim", ("rephrasing",))}
    assert reason.score == pytest.approx(hit.score, rel=1e-9)
    assert [reason.text[s.field][s.start : s.end] for s in reason.spans] == ["egg", "timing"]
    assert [c.word for c in rankers.explain_ids(ranker, query, ["egg"])["egg"].contributions] == ["egg"]


def test_outdated_index_is_explained(archive):
    ranker = indexed(archive)
    archive.upsert([Question("egg", "Something else entirely")])
    assert rankers.explain_ids(ranker, Question("q", "egg timing"), ["egg"])["egg"].score > 0
    archive.delete(["egg"])
    assert "egg" not in found(ranker, "egg timing boil")
    assert rankers.explain_ids(ranker, Question("q", "egg timing"), ["egg"]) == {}


def test_an_index_of_another_analyzer_is_rebuilt(archive, monkeypatch, caplog):
    before = scores(indexed(archive), "boil rice")
    monkeypatch.setattr("askalike.text.analyzer.VERSION", 2)
    assert scores(indexed(archive), "boil rice") == before
    assert "another analyzer" in caplog.text


def test_other_settings_have_an_index_of_their_own(archive):
    assert found(indexed(archive, stem=False), "eggs boiling") == ["egg"]
    assert set(found(indexed(archive), "eggs boiling")) == {"egg", "rice"}
    assert found(indexed(archive, rephrasings=False), "timing") == []
    assert found(indexed(archive, fields="body"), "rice") == []


@pytest.mark.parametrize("fields", ["title", "text", "body", "title,text,answer"])
def test_terms_of_many_queries_are_those_of_each(fields):
    extractor = TermExtractor(LexicalSettings(fields=fields, title_factor=0.3))
    titles = ["the cat and the hat", "", "x = [y] * z;", "Häuser bauen"]
    texts = [(title, body) for title in titles for body in ("", "the <b>cat</b> sat", "...")]
    queries = [
        ResolvedQuery(
            Question("q", title, body, "html"),
            Excluded(n, n % 3) if n else None,
            text=title,
            language=("en", "de", None)[n % 3],
        )
        for n, (title, body) in enumerate(texts)
    ]
    for kind in ("questions", "answers"):
        columns = extractor.many_query_terms(queries, kind)
        assert isinstance(columns, TermColumns)
        one_by_one = [extractor.query_terms(one, kind) for one in queries]
        for found, one in zip(columns, one_by_one, strict=True):
            assert Counter(found.terms) == Counter(one.terms)
            assert found.excluded == one.excluded
            assert list(found.field_factors or [1.0] * len(one.field_factors)) == list(
                one.field_factors or [1.0] * len(found.field_factors)
            )
        collected = TermColumns.of_queries(one_by_one, lambda _: (), len(extractor.fields))
        assert columns.terms is not None
        assert [columns.names[place] for place in columns.terms] == collected.names
        assert columns.counts.tolist() == collected.counts.tolist()
        assert columns.offsets.tolist() == collected.offsets.tolist()
