"""Actions that the API and the pages share: search, load a question, store feedback, decide on a pair, commit."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Generic, Literal, Self, TypeVar

from fastapi import HTTPException, Request, Response
from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, model_validator

from askalike.core.types import MARKS, Answer, Link, Mark, Question
from askalike.core.values import ISO_639_1, parse_language, parse_utc
from askalike.search.engine import SearchResult
from askalike.service import telemetry
from askalike.service.callers import caller_id
from askalike.service.schema import (
    MAX_BODY_LENGTH,
    MAX_TITLE_LENGTH,
    FeedbackRequest,
    Id,
    RequestModel,
    SimilarRequest,
)
from askalike.service.served_archive import ServedArchive
from askalike.store import Archive, MissingRecordError, PairProposal
from askalike.store.candidate_pairs import ProposalDecision, decide_proposal, undo_decision
from askalike.store.editing import MAX_RECORDS, get_answers, get_links, put_records
from askalike.store.query_log import LoggedQuery, UseEvent, count_use, insert_feedback
from askalike.text.analyzer import Analyzer
from askalike.text.clean import replace_forbidden

MAX_ANSWERS, MAX_LINKS = 100, 1_000
DecisionOrUndo = Literal[ProposalDecision, "undo"]


@dataclass(frozen=True, slots=True)
class QuestionDetails:
    """A question with its answers, the accepted one first, and its links in both directions.

    source: the name of the source that it was imported from; None if it was written in the archive itself.
    """

    question: Question
    answers: Sequence[Answer]
    links: Sequence[Link]
    source: str | None


def load_question(archive: Archive, id: str, max_links: int = MAX_LINKS) -> QuestionDetails:
    """Return a question with its first answers and links. Raises MissingRecordError."""
    view = archive.view()
    if (question := view.get_questions([id]).get(id)) is None:
        raise MissingRecordError(f"no question {id!r}")
    answers, source = get_answers(archive, id, MAX_ANSWERS), view.sources([id]).get(id)
    return QuestionDetails(question, answers, get_links(archive, id, limit=max_links), source)


async def search_similar(archive: ServedArchive, query: SimilarRequest) -> tuple[str, SearchResult]:
    """Return the ranker's name and its hits; the search is counted and timed."""
    start = time.perf_counter()
    model, hits = await archive.search(query.to_search_request())
    telemetry.SEARCH_SECONDS.labels(archive.name).observe(time.perf_counter() - start)
    if not hits:
        telemetry.ABSTENTIONS.labels(archive.name).inc()
        if not Analyzer().analyze(f"{query.title} {query.body}", None):
            telemetry.ZERO_TOKEN_QUERIES.labels(archive.name).inc()
    elif hits[0].probability is not None:
        telemetry.TOP_PROBABILITY.labels(archive.name).observe(hits[0].probability)
    if hits and query.count_shown:
        await record_use(archive, "shown")
    return model, hits


async def record_use(archive: ServedArchive, *events: UseEvent) -> None:
    """Count how similar questions are used, per day and for Prometheus."""
    await archive.note(lambda store: count_use(store, events))
    for event in events:
        telemetry.USE.labels(archive.name, event).inc()


async def record_feedback(archive: ServedArchive, feedback: FeedbackRequest) -> None:
    """Store a piece of feedback. Raises HTTPException (422) if its verdict and the chosen question do not fit."""
    if (feedback.verdict in ("accept", "reject")) != (feedback.chosen_id is not None):
        raise HTTPException(422, "body.chosen_id: accept and reject need a question's id; other verdicts have none")
    if feedback.chosen_id is not None and feedback.chosen_id not in feedback.shown_ids:
        raise HTTPException(422, f"body.chosen_id: {feedback.chosen_id!r} is not among those shown")
    query = LoggedQuery(feedback.title, feedback.body, feedback.shown_ids, archive.model)
    verdict, chosen_id, days = feedback.verdict, feedback.chosen_id, archive.settings.keep_days
    await archive.write(lambda store: insert_feedback(store, query, verdict, chosen_id, days))
    telemetry.FEEDBACK.labels(archive.name, feedback.verdict).inc()
    if events := _use_events(feedback):
        await record_use(archive, *events)


def apply_decision(archive: Archive, id: int, decision: DecisionOrUndo, decided_by: str) -> PairProposal:
    """Decide on a proposal or revoke its decision. Raises AlreadyDecidedError, MissingRecordError."""
    if decision == "undo":
        return undo_decision(archive, id)
    return decide_proposal(archive, id, decision, decided_by)


def _use_events(feedback: FeedbackRequest) -> list[UseEvent]:
    if feedback.verdict == "accept":
        return ["accepted"] if feedback.opened else ["accepted", "opened"]
    if feedback.verdict == "posted_anyway":
        return ["posted", "posted_after_opening"] if feedback.opened else ["posted"]
    return []


Text = Annotated[str, Field(max_length=MAX_BODY_LENGTH), AfterValidator(replace_forbidden)]
ShortText = Annotated[str, Field(max_length=MAX_TITLE_LENGTH), AfterValidator(replace_forbidden)]
QuestionTitle = Annotated[str, Field(min_length=1, max_length=MAX_TITLE_LENGTH), AfterValidator(replace_forbidden)]
"""The title of a question that is written here; an imported one may be empty."""
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
    """A question without its id. A missing field other than the title is empty: all of it is replaced."""

    title: QuestionTitle
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
