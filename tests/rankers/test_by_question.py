"""Ranking answers by their questions."""

import pytest

from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.core.records import Answer, Question


@pytest.fixture
def archive(archive):
    archive.upsert(
        [
            Question("egg", "how long do I boil an egg", accepted_answer_id="egg2"),
            Question("rice", "how long do I boil rice"),
            Question("bike", "how do I mend a flat bicycle tyre"),
            Answer("egg1", "egg", "it depends", votes=9),
            Answer("egg2", "egg", "seven minutes"),
            Answer("rice1", "rice", "twelve minutes"),
            Answer("bike1", "bike", "with a patch"),
        ]
    )
    return archive


def found(archive, query, k=10, **settings):
    ranker = rankers.create("by_question", {"ranker": "bm25", **settings}, archive.path)
    searcher = rankers.open_current(ranker, archive.view(kind="answers"))
    return [hit.id for hit in rankers.rank(searcher, {query.id: query}, k)[query.id]]


def test_nearest_questions_answers_come_first_accepted_one_leading(archive):
    assert found(archive, Question("?", "boil an egg")) == ["egg2", "egg1", "rice1"]
    assert found(archive, Question("?", "boil an egg"), k=2) == ["egg2", "egg1"]


def test_questions_without_an_answer_take_no_place(archive):
    archive.upsert(Question(f"new{n}", "do I boil an egg") for n in range(9))
    assert found(archive, Question("?", "boil an egg"), k=2) == ["egg2", "egg1"]
    assert found(archive, Question("?", "boil an egg"), k=3) == ["egg2", "egg1", "rice1"]


def test_archived_question_does_not_find_its_own_answers(archive):
    assert found(archive, Question("egg", "how long do I boil an egg"))[0] == "rice1"


def test_candidates_are_ranked_by_their_questions(archive):
    ranker = rankers.open_current(rankers.create("by_question", {"ranker": "bm25"}), archive.view(kind="answers"))
    query = Question("?", "boil rice")
    run = rankers.rank(ranker, {"?": query}, 5, candidates={"?": ["bike1", "egg1", "rice1"]})
    assert [hit.id for hit in run["?"]] == ["rice1", "egg1", "bike1"]


def test_it_can_be_a_part_of_a_hybrid(archive):
    ranker = rankers.open_current(
        rankers.create("hybrid", {"parts": ["by_question", "bm25"]}), archive.view(kind="answers")
    )
    run = rankers.rank(ranker, {"?": Question("?", "boil an egg in minutes")}, 5)
    assert run["?"][0].id == "egg2"


def test_questions_have_other_rankers(archive):
    with pytest.raises(SettingsError, match="ranks answers; to rank questions, use bm25"):
        rankers.open_current(rankers.create("by_question", {"ranker": "bm25"}), archive.view())
    with pytest.raises(SettingsError, match="no ranker is called"):
        rankers.create("by_question", {"ranker": "nobody"})


def test_query_without_hits_ranks_given_answers(archive):
    archive.upsert([Answer("lost", "nowhere", "an answer whose question is not there")])
    ranker = rankers.create("by_question", {"ranker": "hybrid", "parts": ["bm25", "tfidf"]})
    searcher = rankers.open_current(ranker, archive.view(kind="answers"))
    run = rankers.rank(searcher, {"?": Question("?", "xylophone")}, 5, candidates={"?": ["lost", "egg1"]})
    assert [(hit.id, hit.score) for hit in run["?"]] == [("lost", 0.0), ("egg1", 0.0)]


def test_rankers_training_data_count_as_its_own(archive):
    ranker = rankers.create("by_question", {"ranker": "static"}, archive.path)
    assert ranker.fingerprint == ranker.inner.fingerprint != ""
    assert ranker.trained_until == ranker.inner.trained_until
