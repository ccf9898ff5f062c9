"""Given and derived splits: names, order, ids, relevance, candidates."""

import pytest

from askalike import rankers
from askalike.core.errors import ArchiveError
from askalike.core.records import Answer, EvaluationQuery, Judgement, Link, Question, Split
from askalike.labels.partitions import create_partition
from askalike.labels.splits import (
    KNOWN_QUERIES,
    default_split,
    labelled_splits,
    load_split,
    sample_queries,
    splits_to_hold_out,
)
from askalike.readers import import_archive
from askalike.store import Archive
from askalike.store.labels import imported_splits


@pytest.fixture
def archive(archive):
    archive.upsert(Question(str(n), f"question {n}") for n in (3, 1, 2, 10))
    return archive


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


def test_given_splits_come_first_in_usual_order(archive):
    archive.upsert([Link("1", "3")])
    for name in ("zoo", "test", "train", "dev"):
        archive.upsert([EvaluationQuery(name, Question("q", "?")), Judgement(name, "q", "1", 1)])
    assert labelled_splits(archive) == imported_splits(archive) == ["train", "dev", "test", "zoo"]
    assert load_split(archive, "duplicates").qrels == {"1": {"3": 1}}


def test_candidates_keep_positions_and_unjudged_are_no_qrels(archive):
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


def test_default_split_is_preferred_or_large_enough(archive):
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


@pytest.mark.parametrize(
    ("ending", "title"),
    [
        (":title", "a b c d e"),
        ("@1", "a"),
        ("@20", "a"),
        ("@21", "a b"),
        ("@60", "a b c"),
        (":title@99", "a b c d e"),
        (":title@100", "a b c d e"),
    ],
)
def test_typed_split_has_first_words_of_titles(archive, ending, title):
    archive.upsert(
        [Question("1", " a b  c d e", "body", "html"), Question("2", "", "body"), Link("1", "3"), Link("2", "3")]
    )
    whole, typed = load_split(archive, "duplicates"), load_split(archive, f"duplicates{ending}")
    assert typed.queries == {"1": Question("1", title, markup="html"), "2": Question("2", "")}
    assert typed.qrels == whole.qrels
    assert labelled_splits(archive) == ["duplicates"]


@pytest.mark.parametrize("name", ["known@0", "known@101", "known@x", "known:body", "known:", "other:title", "@60"])
def test_no_other_split_is_typed(archive, name):
    with pytest.raises(ArchiveError, match="no split .*; NAME:title and NAME@60 are the titles of a split"):
        load_split(archive, name)


def test_typed_splits_are_held_out_with_their_source(archive):
    archive.upsert([Link("1", "3"), Link("2", "10")])
    create_partition(archive, "cluster", {"shares": [0.5, 0.5]}, name="halves")
    part = load_split(archive, "halves/test:title")
    assert part.queries.keys() == load_split(archive, "halves/test").queries.keys()
    assert splits_to_hold_out(archive, "halves/test:title@60") == ["halves/test"]
    assert [link.source for link in archive.training_view(["duplicates@60"]).links()] == []
    hidden = archive.training_view(["halves/test:title"]).links()
    assert [link.source for link in hidden] == list(load_split(archive, "halves/train").queries)


def test_given_split_may_have_a_typed_ones_name(archive):
    for name in ("test", "test:title", "known"):
        archive.upsert([EvaluationQuery(name, Question("q", f"of {name}", "body")), Judgement(name, "q", "1", 1)])
    assert load_split(archive, "test:title").queries["q"].title == "of test:title"
    assert load_split(archive, "known").queries["q"].title == "of known"
    assert load_split(archive, "known@50").queries["q"].title == "of"
    assert splits_to_hold_out(archive, "test:title") == ["test", "known", "test:title"]


def test_known_titles_find_their_own_questions(archive):
    archive.upsert([Question("x", "question 3", "another body"), Question("y", "", "no title")])
    archive.upsert([Link("1", "3")])
    known = load_split(archive, "known")
    assert known.qrels["3:title"] == known.qrels["x:title"] == {"3": 1, "x": 1}
    assert known.qrels["1:title"] == {"1": 1}
    assert len(known.queries) == 5
    ranker = rankers.create("bm25")
    run = rankers.rank(rankers.open_current(ranker, archive.view()), known.queries, 1)
    assert all(run[query][0].id in known.qrels[query] for query in known.queries)
    assert splits_to_hold_out(archive, "known") == []
    assert not known.has_labels


def test_known_questions_are_drawn_whatever_the_order(tmp_path):
    questions = [Question(f"group/{n}", f"title {n}") for n in range(KNOWN_QUERIES + 100)]
    drawn = []
    for name, order in (("up", questions), ("down", questions[::-1])):
        with Archive.create(tmp_path / name) as archive:
            archive.upsert(order)
            drawn.append(set(load_split(archive, "known").queries))
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == KNOWN_QUERIES


def test_sampled_queries_depend_on_the_seed():
    queries = {f"q{n}": Question(f"q{n}", "egg") for n in range(60)}
    labels = Split(queries, {q: {"long": 1} for q in queries})
    drawn = sample_queries(labels, 7, seed=3)
    assert len(drawn.queries) == len(drawn.qrels) == 7
    assert drawn == sample_queries(labels, 7, seed=3) != sample_queries(labels, 7, seed=4)
    assert sample_queries(labels, 1000) is labels
