"""Questions, answers and links in requests and responses, and how they are committed."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Generic, Literal, Self, TypeVar

from fastapi import HTTPException, Request, Response
from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, model_validator

from askalike.core.types import MARKS, Answer, Link, Mark, Question
from askalike.core.values import ISO_639_1, parse_language, parse_utc
from askalike.service.requests.context import caller_id
from askalike.service.requests.schema import MAX_BODY_LENGTH, MAX_TITLE_LENGTH, Id, RequestModel
from askalike.service.state.served_archive import ServedArchive
from askalike.store import MissingRecordError
from askalike.store.editing import MAX_RECORDS, put_records
from askalike.text.clean import replace_forbidden

Text = Annotated[str, Field(max_length=MAX_BODY_LENGTH), AfterValidator(replace_forbidden)]
ShortText = Annotated[str, Field(max_length=MAX_TITLE_LENGTH), AfterValidator(replace_forbidden)]
DATE_TYPE = {"type": "string", "format": "date-time", "maxLength": 40}
DATE_SCHEMA = WithJsonSchema(DATE_TYPE | {"description": "ISO 8601; in UTC without an offset"}, mode="validation")
Date = Annotated[str, Field(max_length=40), AfterValidator(parse_utc), DATE_SCHEMA]
"""A date with an offset or without one; stored without, in UTC."""
WebAddress = Annotated[str, Field(max_length=2_000, pattern="^https?://[^\\s\\u0000-\\u0020\\u007f-\\u00a0]+$")]
LANGUAGE_PATTERN = f"^({'|'.join(sorted(ISO_639_1))}|[a-z]{{3}})$"
Language = Annotated[
    str, Field(pattern="^[a-z]{2,3}$", json_schema_extra={"pattern": LANGUAGE_PATTERN}), AfterValidator(parse_language)
]
Votes = Annotated[int, Field(ge=-(2**53), le=2**53)]


class QuestionFields(RequestModel):
    """A question without its id. A missing field is empty: a question is always replaced as a whole."""

    title: ShortText
    body: Text = ""
    markup: Literal["text", "html"] = "text"
    tags: Annotated[tuple[ShortText, ...], Field(max_length=50)] = ()
    category: ShortText | None = None
    language: Language | None = None
    created_at: Date | None = None
    closed_at: Date | None = None
    author: ShortText | None = None
    url: WebAddress | None = None
    license: ShortText | None = None
    votes: Votes | None = None
    accepted_answer_id: Id | None = None
    rephrasings: Annotated[tuple[ShortText, ...], Field(max_length=100)] = ()
    marks: Annotated[tuple[Mark, ...], Field(max_length=len(MARKS))] = ()
    solved_in: ShortText | None = None

    def to_question(self, id: str) -> Question:
        """Return the question with that id."""
        return Question(id, **self.model_dump(exclude={"id"}))


class AnswerFields(RequestModel):
    """An answer without its id. Which answer is accepted is a field of the question."""

    question_id: Id
    body: Text
    markup: Literal["text", "html"] = "text"
    created_at: Date | None = None
    author: ShortText | None = None
    url: WebAddress | None = None
    license: ShortText | None = None
    votes: Votes | None = None

    def to_answer(self, id: str) -> Answer:
        """Return the answer with that id."""
        return Answer(id, **self.model_dump(exclude={"id"}))


class LinkFields(RequestModel):
    """`source` was closed as a duplicate of `target`, or is related to it."""

    source: Id
    target: Id
    kind: Literal["duplicate", "related"] = "duplicate"
    created_at: Date | None = None

    def to_link(self) -> Link:
        """Return the link."""
        return Link(**self.model_dump())


class NewLink(LinkFields):
    """A link between two questions."""

    @model_validator(mode="after")
    def _require_two_questions(self) -> Self:
        if self.source == self.target:
            raise ValueError("source and target are the same; expected two questions")
        return self


class QuestionRecord(QuestionFields):
    """A question with its id."""

    id: Id


class AnswerRecord(AnswerFields):
    """An answer with its id."""

    id: Id
    accepted: bool = False

    @classmethod
    def from_answer(cls, answer: Answer) -> "AnswerRecord":
        """Return a stored answer without validation: an imported one may be longer than the service would accept."""
        return cls.model_construct(None, **{key: getattr(answer, key) for key in cls.model_fields})


RecordT = TypeVar("RecordT")
StoredRecord = Question | Answer | Link


class RecordBatch(RequestModel, Generic[RecordT]):
    """Records of one kind, all committed together or none."""

    items: Annotated[list[RecordT], Field(min_length=1, max_length=MAX_RECORDS)]


class StoredQuestion(QuestionRecord):
    """A stored question with its answers, the accepted one first, and its links in both directions.

    imported_from: the name of the source that it was imported from; null if it was added over HTTP or on the pages.
    """

    imported_from: str | None
    answers: list[AnswerRecord]
    links: list[LinkFields]


class CommitResponse(BaseModel):
    """A commit to disk. `change`: the archive's change number; `created`: how many records are new."""

    change: int
    created: int


async def commit(
    archive: ServedArchive, request: Request, records: Sequence[StoredRecord], response: Response
) -> CommitResponse:
    """Add or replace records and set the status, 201 if one is new; 409 if the question of one is missing."""
    editor = caller_id(request)
    try:
        edit = await archive.write(lambda store: put_records(store, records, editor))
    except MissingRecordError as error:
        raise HTTPException(409, str(error)) from None
    response.status_code = 201 if edit.created else 200
    return CommitResponse(**asdict(edit))
