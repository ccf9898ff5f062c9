"""Questions, answers and links as they come in and go out."""

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema

from askalike.archive.editing import MOST
from askalike.readers._values import clean, utc
from askalike.service.schema import LONGEST_BODY, LONGEST_TITLE, Shape
from askalike.types import Answer, Link, Question

Id = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(clean)]
Text = Annotated[str, Field(max_length=LONGEST_BODY), AfterValidator(clean)]
Short = Annotated[str, Field(max_length=LONGEST_TITLE), AfterValidator(clean)]
DATE = {"type": "string", "format": "date-time", "maxLength": 40, "description": "ISO 8601; in UTC without an offset"}
Date = Annotated[str, Field(max_length=40), AfterValidator(utc), WithJsonSchema(DATE, mode="validation")]
"""Taken with an offset or without; given without, in UTC."""
WebAddress = Annotated[str, Field(max_length=2_000, pattern="^https?://[^\\s\\u0000-\\u0020\\u007f-\\u00a0]+$")]
Votes = Annotated[int, Field(ge=-(2**53), le=2**53)]


class QuestionFields(Shape):
    """A question, but for its id. What is not given is empty: a question is always put whole."""

    title: Short
    body: Text = ""
    markup: Literal["text", "html"] = "text"
    tags: Annotated[tuple[Short, ...], Field(max_length=50)] = ()
    category: Short | None = None
    language: Annotated[str, Field(pattern="^[a-z]{2,3}$")] | None = None
    created_at: Date | None = None
    closed_at: Date | None = None
    author: Short | None = None
    url: WebAddress | None = None
    license: Short | None = None
    votes: Votes | None = None
    accepted_answer_id: Id | None = None
    rephrasings: Annotated[tuple[Short, ...], Field(max_length=100)] = ()

    def question(self, id: str) -> Question:
        """The record."""
        return Question(id, **self.model_dump(exclude={"id"}))


class AnswerFields(Shape):
    """An answer, but for its id. Which one is accepted, its question says."""

    question_id: Id
    body: Text
    markup: Literal["text", "html"] = "text"
    created_at: Date | None = None
    author: Short | None = None
    url: WebAddress | None = None
    license: Short | None = None
    votes: Votes | None = None

    def answer(self, id: str) -> Answer:
        """The record."""
        return Answer(id, **self.model_dump(exclude={"id"}))


class LinkFields(Shape):
    """`source` was closed as a duplicate of `target`, or is related to it."""

    source: Id
    target: Id
    kind: Literal["duplicate", "related"] = "duplicate"
    created_at: Date | None = None

    def link(self) -> Link:
        """The record."""
        return Link(self.source, self.target, self.kind, self.created_at)


class WholeQuestion(QuestionFields):
    """A question with its id."""

    id: Id


class WholeAnswer(AnswerFields):
    """An answer with its id."""

    id: Id
    accepted: bool = False

    @classmethod
    def of(cls, answer: Answer) -> "WholeAnswer":
        """A stored answer, as it is: what was imported need not be what the service would take."""
        return cls.model_construct(None, **{key: getattr(answer, key) for key in cls.model_fields})


T = TypeVar("T")


class Batch(Shape, Generic[T]):
    """Several of one kind, taken all together or not at all."""

    items: Annotated[list[T], Field(min_length=1, max_length=MOST)]


class Linked(BaseModel):
    """Links."""

    links: list[LinkFields]


class StoredQuestion(WholeQuestion):
    """A question as it is stored, with its answers, the accepted one first, and the links that it is an end of."""

    answers: list[WholeAnswer]
    links: list[LinkFields]


class Done(BaseModel):
    """What was done is on disk. `change`: the archive's number then; `created`: how many were not there before."""

    change: int
    created: int
