"""The lexical ranker over a real archive: incremental = rebuilt, and rephrasings only ever help."""

import re
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from askalike import rankers
from askalike.core import registry
from askalike.core.filters import Filter
from askalike.core.records import Answer, Question
from askalike.store import Archive
from askalike.store.editing import delete_answers
from random_examples import examples

WORDS = ["egg", "eggs", "boil", "boiling", "water", "salt", "café", "茶水", "how", "?!"]
DATES = [None, "2020-01-01", "2021-01-01", "2022-01-01"]
PERIODS = [(after, before) for after in DATES for before in DATES if not (after and before) or after < before]
SETTINGS = [
    {},
    {"fields": "text"},
    {"fields": "title", "lengths": "exact"},
    {"fields": "title,text", "field_weights": (2.5, 0.5)},
    {"fields": "title,body"},
    {"fields": "title,text,answer", "field_weights": (1.0, 1.5, 0.5)},
    {"rephrasings": False, "tokenizer": "whitespace"},
]

texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
ids = st.sampled_from([*"abcdefgh", "a#1"])
questions = st.builds(
    Question,
    ids,
    texts,
    texts | st.just(""),
    tags=st.sets(st.sampled_from(["x", "y"])).map(tuple),
    created_at=st.sampled_from(DATES),
    accepted_answer_id=st.sampled_from([None, *"ABC"]),
    rephrasings=st.lists(texts, max_size=3).map(tuple),
)
answers = st.builds(Answer, st.sampled_from("ABCDE"), ids, texts, created_at=st.sampled_from(DATES))
steps = st.lists(
    st.tuples(st.lists(questions | answers, max_size=6), st.sets(ids, max_size=3), st.booleans()),
    min_size=1,
    max_size=5,
)
asked = st.dictionaries(
    st.sampled_from(["q", "a", "b", "a#1", "a#2", "b#1", "c#1", "zzz#1"]),
    st.builds(Question, st.just("q"), texts, texts),
)
filters = st.none() | st.builds(
    lambda tags, period: Filter(tags, *period), st.sampled_from([(), ("x",), ("x", "y")]), st.sampled_from(PERIODS)
)
moderate = examples(25)
pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


@contextmanager
def archive_of(*records):
    with tempfile.TemporaryDirectory() as folder, Archive.create(Path(folder) / "archive") as archive:
        archive._connection.execute("PRAGMA synchronous = OFF")
        archive.upsert(records)
        yield archive


@contextmanager
def copy_of(archive):
    with archive_of() as other:
        archive._connection.backup(other._connection)
        yield other


def runs(archive, views, values, queries, k, where, prefix):
    """What every similarity answers, over every view, with candidates and without."""
    pool = ["c", "a", "nobody", "b", "a", "A", "E", *"defgh"]
    for view in views:
        for name in registry.names("similarity"):
            ranker = rankers.open_current(
                rankers.create(name, values).fit(archive.training_view((), **view)), archive.view(**view)
            )
            yield rankers.rank(ranker, queries, k, filter=where, prefix=prefix)
            yield rankers.rank(ranker, queries, k, filter=where, candidates=dict.fromkeys(queries, pool))


def columns(run):
    return {q: [(h.id, h.score) for h in run[q]] for q in run}


@moderate
@given(steps, st.sampled_from(SETTINGS), asked, st.sampled_from([1, 3, 100]), filters, st.booleans())
def test_incremental_equals_rebuilt(changes, values, queries, k, where, prefix):
    views = [{}, {"kind": "answers"}, {"before": "2021-01-01"}]
    with archive_of() as archive:
        rankers_of_views = [(rankers.create("bm25", values), archive.view(**view)) for view in views]
        for records, gone, again in changes:
            archive.upsert(records)
            archive.delete(gone)
            delete_answers(archive, [id.upper() for id in gone])
            for ranker, view in rankers_of_views:
                ranker.build(view)
            if again:
                rankers_of_views = [(rankers.create("tfidf", values), view) for _, view in rankers_of_views]
        with copy_of(archive) as rebuilt:
            mine = runs(archive, views, values, queries, k, where, prefix)
            theirs = runs(rebuilt, views, values, queries, k, where, prefix)
            expected = [columns(run) for run in theirs]
            assert [columns(run) for run in mine] == expected != []
            assert all(list(run) == list(queries) for run in expected)


def words_of(title):
    return re.findall(r"\w+", title.casefold())


@moderate
@given(st.lists(questions, min_size=1), st.lists(texts, min_size=1, max_size=3), asked, st.sampled_from(SETTINGS))
def test_adding_a_rephrasing_never_lowers_its_questions_score(archived, more, queries, values):
    changed = replace(archived[-1], rephrasings=(*archived[-1].rephrasings, *more))
    with archive_of(*archived) as archive, archive_of(*archived) as other:
        other.upsert([changed])
        pool = dict.fromkeys(queries, "abcdefgh")
        assert len(registry.names("similarity")) > 5
        for name in registry.names("similarity"):
            before, after = (rankers.open_current(rankers.create(name, values), a.view()) for a in (archive, other))
            for candidates in (None, pool):
                old = rankers.rank(before, queries, 100, candidates=candidates)
                new = rankers.rank(after, queries, 100, candidates=candidates)
                for query in queries:
                    scores, later = dict(columns(old)[query]), dict(columns(new)[query])
                    assert len(later) == len(new[query])  # each question is found once
                    assert all(later[id] >= score for id, score in scores.items())
                    typed = {q.id for q in archived if words_of(q.title) == words_of(queries[query].title)}
                    others = scores.keys() - typed - {changed.id}  # a title typed exactly stands above the best
                    assert all(later[id] == scores[id] for id in others)


@moderate
@given(st.lists(questions, min_size=1), asked, st.sampled_from(SETTINGS))
def test_question_scores_as_its_best_phrasing(archived, queries, values):
    """Each rephrasing alone, in an archive with the same own texts, gives one of the scores to be the best of."""
    held = {q.id: q for q in archived}
    most = max(len(q.rephrasings) for q in held.values())
    alone = [[replace(q, rephrasings=q.rephrasings[n : n + 1]) for q in held.values()] for n in range(most)]
    bare = [replace(q, rephrasings=()) for q in held.values()]
    queries = {id: q for id, q in queries.items() if "#" not in id}
    with archive_of(*held.values()) as whole:
        expected = {(name, q): {} for name in registry.names("similarity") for q in queries}
        for part in (bare, *alone):
            with archive_of(*part) as archive:
                for (name, q), run in scores_of(archive, values, queries).items():
                    best = expected[name, q]
                    best.update({id: max(score, best.get(id, 0.0)) for id, score in run.items()})
        assert scores_of(whole, values, queries) == expected


def scores_of(archive, values, queries):
    found = {}
    for name in registry.names("similarity"):
        run = rankers.rank(rankers.open_current(rankers.create(name, values), archive.view()), queries, 1_000)
        found |= {(name, q): {h.id: h.score for h in run[q]} for q in queries}
    return found
