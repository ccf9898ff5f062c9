"""Given and derived splits: names, order, ids, relevance, candidates."""

from pathlib import Path

import pytest

from askalike.core.errors import ArchiveError
from askalike.core.types import Answer, EvaluationQuery, Judgement, Link, Question
from askalike.labels.splits import default_split, labelled_splits, load_split
from askalike.readers import import_archive
from askalike.store import Archive
from askalike.store.labels import imported_splits


@pytest.fixture
def archive(tmp_path: Path):
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert(Question(str(n), f"question {n}") for n in (3, 1, 2, 10))
        yield archive


def test_an_archive_without_labels_has_no_split(archive):
    assert labelled_splits(archive) == []
    with pytest.raises(ArchiveError, match="no split 'test' with judged questions; there are: none; import"):
        load_split(archive, "test")


def test_duplicates_go_from_each_duplicate_to_its_originals(archive):
    archive.upsert(
        [Link("1", "3"), Link("1", "2"), Link("2", "1"), Link("10", "404"), Link("404", "3"), Link("3", "3")]
    )
    archive.upsert([Link("10", "3", "related")])
    derived = load_split(archive, "duplicates")
    assert labelled_splits(archive) == ["duplicates"]
    assert derived.qrels == {"1": {"3": 1, "2": 1}, "2": {"1": 1}}
    assert list(derived.queries) == ["1", "2"]
    assert derived.queries["1"].title == "question 1"
    assert derived.candidates is None


def test_each_rephrasing_is_a_query_of_its_question(archive):
    archive.upsert([Question("2", "question 2", language="de", rephrasings=("zweite?", "Nummer 2"))])
    derived = load_split(archive, "rephrasings")
    assert labelled_splits(archive) == ["rephrasings"]
    assert derived.qrels == {"2#1": {"2": 1}, "2#2": {"2": 1}}
    assert derived.queries["2#2"] == Question("2#2", "Nummer 2", language="de")


def test_given_splits_come_first_and_in_the_usual_order(archive):
    archive.upsert([Link("1", "3")])
    for name in ("zoo", "test", "train", "dev"):
        archive.upsert([EvaluationQuery(name, Question("q", "?")), Judgement(name, "q", "1", 1)])
    assert labelled_splits(archive) == imported_splits(archive) == ["train", "dev", "test", "zoo"]
    assert load_split(archive, "duplicates").qrels == {"1": {"3": 1}}


def test_candidates_keep_their_positions_and_unjudged_ones_are_not_in_the_qrels(archive):
    archive.upsert(
        [
            EvaluationQuery("test", Question("b", "B", "body", "html", language="en")),
            EvaluationQuery("test", Question("a", "A")),
        ]
    )
    archive.upsert(
        [
            Judgement("test", "b", "10", None, 1),
            Judgement("test", "b", "2", 1, 2),
            Judgement("test", "b", "1", 0, 3),
            Judgement("test", "unknown query", "1", 1, 1),
        ]
    )
    test = load_split(archive, "test")
    assert list(test.queries) == ["b", "a"]
    assert test.queries["b"] == Question("test\nb", "B", "body", "html", language="en")  # no question of the archive
    assert test.qrels == {"b": {"1": 0, "2": 1}}
    assert test.candidates == {"b": ["10", "2", "1"], "a": []}


def test_judgements_without_positions_offer_no_candidates(archive):
    archive.upsert([EvaluationQuery("test", Question("1", "question 1")), Judgement("test", "1", "2", 2)])
    test = load_split(archive, "test")
    assert test.qrels == {"1": {"2": 2}}
    assert test.candidates is None


def test_judged_answers_are_apart_from_judged_questions(archive):
    archive.upsert(
        [
            Answer("a", "1", "yes"),
            EvaluationQuery("dev", Question("q", "?")),
            EvaluationQuery("test", Question("q", "?")),
        ]
    )
    archive.upsert([Judgement("dev", "q", "a", 1, 1, "answers"), Judgement("test", "q", "1", 1, 1)])
    assert labelled_splits(archive) == ["test"]
    assert labelled_splits(archive, "answers") == ["dev"]
    assert load_split(archive, "dev", "answers").qrels == {"q": {"a": 1}}
    assert load_split(archive, "dev").qrels == {}
    assert load_split(archive, "dev").candidates is None


def test_the_210_duplicates_of_a_real_community(shared_data, tmp_path):
    import_archive("stackexchange", [shared_data / "stackexchange/cs.stackexchange.com"], tmp_path / "cs")
    with Archive.open(tmp_path / "cs") as archive:
        derived = load_split(archive, labelled_splits(archive)[0])
    assert len(derived.queries) == 210
    assert sum(map(len, derived.qrels.values())) == 212


def test_the_default_split_is_the_preferred_one_else_the_first_with_enough_queries(archive):
    assert default_split(archive, "test") is None
    archive.upsert([Link("1", "3"), Link("2", "3")])
    assert default_split(archive, "test") == "duplicates"
    assert default_split(archive, "test", min_queries=3) is None
    for name in ("train", "test"):
        archive.upsert([EvaluationQuery(name, Question("q", "?")), Judgement(name, "q", "1", 1)])
    assert default_split(archive) == "train"
    assert default_split(archive, "test", parts=True) == "test"
    assert default_split(archive, "dev", last_resort="train") == "test"
    assert default_split(archive, "dev", last_resort="test", min_queries=2) is None
