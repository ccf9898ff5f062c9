"""A program's record of wrong types is refused before it is stored, with the field that is wrong."""

import pytest

import askalike
from askalike.core.errors import InputError
from askalike.core.types import Answer, EvaluationQuery, Judgement, Link, Question


@pytest.fixture
def archive(tmp_path):
    with askalike.Archive.create(tmp_path / "archive") as archive:
        yield archive


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Question(7, "A title"), "Question: id is 7; expected a string"),
        (Question("7", None), "Question: title is None; expected a string"),
        (Question("7", "A title", tags="linux"), "Question: tags is 'linux'; expected a tuple, each a string"),
        (Question("7", "A title", markup="md"), "Question: markup is 'md'; expected one of text, html"),
        (Question("7", "A title", votes=True), "Question: votes is True; expected a whole number or None"),
        (Answer("1", "7", "Yes.", accepted=1), "Answer: accepted is 1; expected True or False"),
        (Link("1", 2), "Link: target is 2; expected a string"),
        (EvaluationQuery("dev", "A title"), "EvaluationQuery: question is 'A title'; expected a Question"),
        (
            Question("7", "A title", votes=2**63),
            f"Question: votes: the number is too large; expected one from {-(2**63)} to {2**63 - 1}",
        ),
        ("A title", "'A title': expected a record, one of Answer, EvaluationQuery, Judgement, Link, Question"),
    ],
)
def test_a_record_of_wrong_types_is_refused(archive, record, message):
    with pytest.raises(InputError) as error:
        archive.upsert([record])
    assert str(error.value) == message
    assert len(archive.view()) == 0


def test_right_records_are_stored(archive):
    archive.upsert([Question("1", "One", tags=["a"], votes=3), Question("2", "Two", marks=("closed",))])
    archive.upsert([Link("1", "2"), Judgement("dev", "q", "1", None), EvaluationQuery("dev", Question("q", "What"))])
    assert archive.view().get_questions(["1"])["1"].tags == ("a",)


def test_a_retriever_names_the_field_that_is_wrong():
    with pytest.raises(InputError, match="Question: id is 7; expected a string"):
        askalike.Retriever([Question(7, "How do I boil an egg?")])
