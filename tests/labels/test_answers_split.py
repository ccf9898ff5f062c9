"""Answers as what is looked for: the split `answers`, its parts, what is hidden with it, and answers that are alike."""

import pytest

from askalike.core.errors import ArchiveError
from askalike.core.records import Answer, Question
from askalike.labels.partitions import create_partition
from askalike.labels.splits import document_kind, identical_answers, labelled_splits, load_split, splits_to_hold_out
from askalike.labels.training_pairs import training_pairs
from askalike.store.archive import Archive

FOCI = ("asthma", "gout", "measles", "mumps", "rabies", "scurvy", "tetanus", "typhus", "malaria", "cholera")
TYPES = ("symptoms", "treatment", "causes", "outlook")


@pytest.fixture
def archive(archive):
    questions = [
        Question(f"{focus}-{kind}", f"What are the {kind} of {focus}?", category=focus, tags=(kind,))
        for focus in FOCI
        for kind in TYPES
    ]
    answers = [Answer(f"a-{q.id}", q.id, f"{q.category}: {q.tags[0]} differ") for q in questions]
    archive.upsert([*questions, *answers])
    return archive


def test_every_question_with_an_answer_is_a_query(archive):
    archive.upsert([Question("q", "unanswered"), Question("e", "empty answer"), Answer("x", "e", " \n")])
    archive.upsert([Question("b", "badly answered"), Answer("y", "b", "no idea", label="Bad")])
    found = load_split(archive, "answers", "answers")
    assert len(found.queries) == 40
    assert found.qrels["gout-causes"] == {"a-gout-causes": 1}
    assert labelled_splits(archive, "answers") == ["answers"]
    assert labelled_splits(archive) == []


def test_answers_of_a_repeated_question_suit_both(archive):
    archive.upsert([Question("again", "What are the causes of gout?"), Answer("z", "again", "uric acid")])
    found = load_split(archive, "answers", "answers")
    assert found.qrels["again"] == found.qrels["gout-causes"] == {"a-gout-causes": 1, "z": 1}


def test_archives_without_answers_have_no_such_split(tmp_path):
    with Archive.create(tmp_path / "none") as archive:
        archive.upsert([Question("q", "how?")])
        with pytest.raises(ArchiveError, match="no split 'answers' with judged answers"):
            load_split(archive, "answers", "answers")


@pytest.mark.parametrize(("by", "what"), [("category", "category"), ("tag", "tags")])
def test_no_category_or_tag_is_in_two_parts(archive, by, what):
    create_partition(archive, by, {"shares": [0.5, 0.25, 0.25]}, source_split="answers", name="p")
    parts = {name: load_split(archive, f"p/{name}", "answers") for name in ("train", "dev", "test")}
    groups = [{getattr(q, what) for q in part.queries.values()} for part in parts.values()]
    assert all(groups)
    assert sum(map(len, groups)) == len(set.union(*groups))
    assert sum(len(part.queries) for part in parts.values()) == 40
    assert document_kind(archive, "p/test") == "answers"
    assert "p/test" in labelled_splits(archive, "answers")
    assert "p/test" not in labelled_splits(archive)


def test_tag_that_all_share_cannot_cut(archive):
    archive.upsert([Question("all", "everything", tags=TYPES), Answer("w", "all", "it depends")])
    with pytest.raises(ArchiveError, match="would have no queries"):
        create_partition(archive, "tag", source_split="answers")


def test_answers_of_held_out_questions_are_not_learned(archive):
    create_partition(archive, "category", source_split="answers", name="focus")
    view = archive.training_view(splits_to_hold_out(archive, "focus/test"))
    learned = {pair.query.id for pair in training_pairs(view, ["question_answer"])}
    assert learned == set(load_split(archive, "focus/train", "answers").queries)
    everything = {pair.query.id for pair in training_pairs(archive.training_view(()), ["question_answer"])}
    assert len(everything) == 40


def test_equal_answers_are_the_first_of_them(archive):
    archive.upsert([Answer("twin", "gout-causes", "asthma:  symptoms\ndiffer"), Answer("none", "gout-causes", "")])
    found = identical_answers(archive.view(kind="answers"))
    assert found["twin"] == "a-asthma-symptoms"
    assert "none" not in found
    assert found["a-gout-causes"] == "a-gout-causes"
