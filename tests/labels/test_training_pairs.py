"""Training signals: what each yields, the clusters of pairs, and that no hidden label is among them."""

import pytest
from hypothesis import assume, given, strategies as st

import askalike
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.records import Answer, EvaluationQuery, Judgement, Link, Question, Split, TrainingPair
from askalike.labels.partitions import create_partition
from askalike.labels.splits import splits_to_hold_out
from askalike.labels.training_pairs import SIGNALS, collect_learned, count_pairs, training_pairs
from askalike.store import Archive
from askalike.store.contents import groups_sharing
from askalike.store.labels import Clusters, read_labels
from random_examples import examples


def ids(found) -> list[tuple[str, str, str]]:
    return [(pair.query.id, pair.positive.id, pair.cluster) for pair in found]


def test_unknown_signals_are_named(archive):
    with pytest.raises(SettingsError, match="no signal is called telepathy; there are: duplicates, related"):
        training_pairs(archive.training_view(()), ["telepathy", "related"])
    assert count_pairs(archive.training_view(())) == dict.fromkeys(SIGNALS, 0)


def test_duplicates_and_related_links(archive):
    archive.upsert(Question(id, f"title {id}") for id in "abcdef")
    archive.upsert([Link("b", "a"), Link("c", "b"), Link("f", "f")])
    archive.upsert([Link("c", "a", "related"), Link("d", "c", "related"), Link("d", "e", "related")])
    view = archive.training_view(())
    assert ids(training_pairs(view, ["duplicates"])) == [("b", "a", "a"), ("c", "b", "a")]
    assert ids(training_pairs(view, ["related"])) == [("d", "c", "a"), ("d", "e", "e")]
    assert [pair.query_cluster for pair in training_pairs(view, ["related"])] == ["d", "d"]
    assert not any(pair.query_cluster for pair in training_pairs(view, ["duplicates"]))
    assert count_pairs(view, ["related", "duplicates"]) == {"related": 2, "duplicates": 2}
    assert next(training_pairs(view, ["duplicates"])) == TrainingPair(
        Question("b", "title b"), Question("a", "title a"), "a", "duplicates"
    )


def test_titles_with_their_bodies(archive):
    archive.upsert(
        [Question("a", "A", "<p>x</p>", "html", tags=("t",)), Question("b", "B", " "), Question("c", "", "y")]
    )
    found = list(training_pairs(archive.training_view(()), ["title_body"]))
    assert found == [TrainingPair(Question("a", "A"), Question("a", "", "<p>x</p>", "html"), "a", "title_body")]


def test_the_accepted_answer_or_the_best(archive):
    archive.upsert([Question("a", "A", accepted_answer_id="2"), Question("b", "B"), Question("c", "C")])
    archive.upsert([Answer("1", "a", "one", votes=9), Answer("2", "a", "two", votes=1)])
    archive.upsert([Answer("3", "b", "three", votes=2), Answer("4", "b", "four", votes=3)])
    archive.upsert([Answer("5", "c", "five", label="Bad", votes=7), Answer("6", "c", "six", label="Good")])
    assert ids(training_pairs(archive.training_view(()), ["question_answer"])) == [
        ("a", "2", "a"),
        ("b", "4", "b"),
        ("c", "6", "c"),
    ]


def test_categories_and_rare_tags(archive):
    archive.upsert(Question(str(n), "?", category=f"c{n % 2}", tags=("common", f"rare{n // 3}")) for n in range(30))
    view = archive.training_view(())
    category = ids(training_pairs(view, ["same_category"]))
    assert len(category) == 28
    assert all(int(a) % 2 == int(b) % 2 and a != b for a, b, _ in category)
    tag = ids(training_pairs(view, ["same_tag"]))
    assert len(tag) == 20
    assert all(int(a) // 3 == int(b) // 3 and a != b for a, b, _ in tag)
    assert ids(training_pairs(view, ["same_tag"])) == tag != ids(training_pairs(view, ["same_tag"], seed=1))


def test_rephrasings(archive):
    archive.upsert([Question("a", "A", rephrasings=("one", "two"), language="de"), Question("b", "B")])
    archive.upsert([Link("b", "a")])
    first, second = training_pairs(archive.training_view(()), ["rephrasings"])
    assert (first.query, first.positive.title, first.cluster) == (Question("a#1", "one", language="de"), "A", "a")
    assert second.query.id == "a#2"


def test_judgements_of_splits_that_are_not_hidden(archive):
    archive.upsert(Question(id, f"title {id}") for id in "abcd")
    archive.upsert(EvaluationQuery(s, Question("q", s)) for s in ("train", "dev"))
    archive.upsert([EvaluationQuery("train", Question("a", "title a"))])
    archive.upsert([Judgement("train", "q", "a", 1), Judgement("train", "q", "b", 0), Judgement("dev", "q", "c", 2)])
    archive.upsert([Judgement("train", "a", "d", 1), Judgement("train", "a", "a", 1)])
    assert ids(training_pairs(archive.training_view(["dev"]), ["judgements"])) == [
        ("train\nq", "a", "a"),
        ("a", "d", "a"),
    ]
    assert ids(training_pairs(archive.training_view(["train"]), ["judgements"])) == [("dev\nq", "c", "c")]
    assert len(list(training_pairs(archive.training_view(()), ["judgements"]))) == 3


def test_hidden_split_hides_its_clusters_alone(archive):
    archive.upsert(Question(id, f"title {id}", "body") for id in "abcdefg")
    archive.upsert([Link("b", "a"), Link("c", "a"), Link("e", "d")])
    archive.upsert([Link("b", "f", "related"), Link("e", "g", "related"), Link("f", "g", "related")])
    archive.upsert([EvaluationQuery("test", Question("b", "title b")), Judgement("test", "b", "a", 1)])
    view = archive.training_view(["test"])
    assert [(x.source, x.target) for x in view.links()] == [("e", "d")]
    assert [(x.source, x.target) for x in view.links("related")] == [("e", "g"), ("f", "g")]
    assert len(view) == 7
    assert count_pairs(view, ["title_body"]) == {"title_body": 7}
    assert list(archive.view(held_out_splits=["duplicates"]).links()) == []
    with pytest.raises(ArchiveError, match="no split 'nope' to hold out"):
        archive.view(held_out_splits=["test", "nope"])


def test_an_index_is_one_for_all_splits(archive):
    archive.upsert([Question("a", "A"), Question("b", "B"), Link("a", "b")])
    ranker = askalike.build("bm25")
    assert ranker.index_paths(archive.view(held_out_splits=["duplicates"])) == ranker.index_paths(archive.view())


def test_view_that_ends_has_nothing_later(archive):
    early, late = "2010-01-01", "2020-01-01"
    archive.upsert(Question(id, id, "body", created_at=early) for id in "abc")
    archive.upsert([Question("d", "d", "body", created_at=late), Answer("1", "a", "late", created_at=late)])
    archive.upsert([Link("a", "b", created_at=early), Link("b", "c", created_at=late), Link("c", "a"), Link("d", "a")])
    archive.upsert([EvaluationQuery("train", Question("q", "?")), Judgement("train", "q", "a", 1)])
    archive.upsert([EvaluationQuery("train", Question("r", "?", created_at=early)), Judgement("train", "r", "d", 1)])
    archive.upsert([Judgement("train", "r", "b", 1)])
    view = archive.training_view((), before="2015")
    assert [(x.source, x.target) for x in view.links()] == [("a", "b"), ("c", "a")]
    assert count_pairs(view, ["title_body", "question_answer", "judgements"]) == {
        "title_body": 3,
        "question_answer": 0,
        "judgements": 1,
    }


def test_a_group_has_its_own_links_only(archive):
    archive.upsert(Question(id, id, tags=("x",)) for id in ("g/1", "g/2", "h/1", "h/2"))
    archive.upsert([Link("g/1", "g/2"), Link("h/1", "h/2")])
    view = archive.training_view((), group="g")
    assert ids(training_pairs(view, ["duplicates"])) == [("g/1", "g/2", "g/1")]
    assert [set(found) for _, found in groups_sharing(view, "tag")] == [{"g/1", "g/2"}]


def revealed(archive: Archive, hidden: list[str]) -> list[TrainingPair]:
    """The training pairs of two texts that hidden labels say are the same, by whatever chain of links."""
    clusters = Clusters.read(archive)
    secret = {clusters.cluster_of(label.text_id) for name in hidden for label in read_labels(archive, name)}
    across = [
        p for p in training_pairs(archive.training_view(hidden), list(SIGNALS)) if not isinstance(p.positive, Answer)
    ]
    return [p for p in across if p.query.id != p.positive.id and clusters.cluster_of(p.positive.id) in secret]


NUMBERS = st.integers(0, 19).map(str)


@examples(20)
@given(
    st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from(["duplicate", "related"])), min_size=20, max_size=50),
    st.lists(st.tuples(st.sampled_from(["train", "test"]), NUMBERS, NUMBERS), max_size=10),
)
def test_no_hidden_label_is_reachable(tmp_path_factory, links, judged):
    with Archive.create(tmp_path_factory.mktemp("property") / "archive") as archive:
        archive.upsert(Question(str(n), f"question {n}", tags=("x",), category="y") for n in range(20))
        archive.upsert(Link(*link) for link in links)
        archive.upsert(EvaluationQuery(name, Question(query, f"question {query}")) for name, query, _ in judged)
        archive.upsert(Judgement(name, query, document, 1) for name, query, document in judged)
        found: list[list[TrainingPair]] = []
        for of in {"duplicates", *(name for name, _, _ in judged)}:
            try:
                parts = create_partition(archive, "folds", {"folds": 2}, source_split=of, replace=True).parts
            except ArchiveError:
                continue
            found += [revealed(archive, splits_to_hold_out(archive, part.split)) for part in parts]
        assume(found)
        assert found == [[]] * len(found)


def test_dev_query_finding_itself_is_no_label():
    """Titles that find their bodies choose among epochs, and say nothing of what asks the same."""
    queries = {id: Question(id, id) for id in "abc"}
    dev = Split(queries, {"a": {"a": 1}, "b": {"b": 1, "d": 1}, "c": {"c": 1}})
    assert collect_learned((), dev, dev_ranks_answers=False).duplicates == {"b", "d"}
