"""`questions`, `answers` and `links`: one at a time, or in batches."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from pydantic import BaseModel

from askalike.core.records import DocumentKind
from askalike.service.actions import MAX_ANSWERS, MAX_LINKS, commit, load_question
from askalike.service.authorization import GuardedRoute, ReadableArchive, WritableArchive
from askalike.service.schema import (
    AnswerFields,
    AnswerRecord,
    CommitResponse,
    Id,
    LinkFields,
    NewLink,
    QuestionFields,
    QuestionRecord,
    RecordBatch,
    StoredQuestion,
)
from askalike.store import changes, editing

ROUTERS = questions, answers, links = [
    APIRouter(route_class=GuardedRoute, tags=[tag]) for tag in ("questions", "answers", "links")
]
QuestionId = Annotated[Id, Path(description="the question's id")]
AnswerId = Annotated[Id, Path(description="the answer's id")]
CREATED_RESPONSES: dict[int | str, dict[str, Any]] = {201: {"model": CommitResponse, "description": "A record is new"}}
"""The statuses of a commit, for the OpenAPI description."""


class FieldChangeResponse(BaseModel):
    """A field's text before and after; tags and rephrasings one per line."""

    before: str
    after: str


class RevisionResponse(BaseModel):
    """One change of a question or an answer. `edited_by`: the note or id of a key; `operator`; or an import."""

    number: int
    record_type: DocumentKind
    record_id: str
    created_at: str
    edited_by: str
    changes: dict[str, FieldChangeResponse]


class RevisionsResponse(BaseModel):
    """The revisions of a question and its answers, the latest first."""

    revisions: list[RevisionResponse]


class AnswersResponse(BaseModel):
    """The answers to a question."""

    answers: list[AnswerRecord]


class LinksResponse(BaseModel):
    """The links of a question, in both directions."""

    links: list[LinkFields]


@questions.post("/questions:batch", summary="Add or replace many questions", responses=CREATED_RESPONSES)
async def post_questions(
    archive: WritableArchive, request: Request, batch: RecordBatch[QuestionRecord], response: Response
) -> CommitResponse:
    """Add or replace many questions: all of them, or none after an error. Search finds them within a second."""
    return await commit(archive, request, [question.to_question(question.id) for question in batch.items], response)


@questions.put("/questions/{id:id}", summary="Add or replace a question", responses=CREATED_RESPONSES)
async def put_question(
    archive: WritableArchive, request: Request, id: QuestionId, question: QuestionFields, response: Response
) -> CommitResponse:
    """Add or replace a question. Search finds it within a second."""
    return await commit(archive, request, [question.to_question(id)], response)


@questions.get("/questions/{id:id}", summary="Read a question")
async def get_question(archive: ReadableArchive, id: QuestionId) -> StoredQuestion:
    """Return a question with its first 100 answers and 1,000 links; `answers` and `links` return the others."""
    stored = await archive.run_on_store(lambda store: load_question(store, id))
    return StoredQuestion.model_construct(
        None,
        **asdict(stored.question),
        imported_from=stored.source,
        answers=[AnswerRecord.from_answer(answer) for answer in stored.answers],
        links=[LinkFields.model_construct(None, **asdict(link)) for link in stored.links],
    )


@questions.get("/revisions", summary="Read the history of a question")
async def get_revisions(archive: WritableArchive, question: Id) -> RevisionsResponse:
    """Return who corrected a question and its answers in this archive, when, and the previous texts."""
    found = await archive.run_on_store(lambda store: changes.get_revisions(store, question))
    return RevisionsResponse(revisions=[RevisionResponse.model_validate(each, from_attributes=True) for each in found])


@questions.delete("/questions/{id:id}", summary="Delete a question", status_code=204)
async def delete_question(archive: WritableArchive, id: QuestionId) -> None:
    """Delete a question with its answers and links."""
    if not await archive.write(lambda store: store.delete([id])):
        raise HTTPException(404, f"no question {id!r}")


@answers.post("/answers:batch", summary="Add or replace many answers", responses=CREATED_RESPONSES)
async def post_answers(
    archive: WritableArchive, request: Request, batch: RecordBatch[AnswerRecord], response: Response
) -> CommitResponse:
    """Add or replace many answers: all of them, or none after an error."""
    return await commit(archive, request, [answer.to_answer(answer.id) for answer in batch.items], response)


@answers.put("/answers/{id:id}", summary="Add or replace an answer", responses=CREATED_RESPONSES)
async def put_answer(
    archive: WritableArchive, request: Request, id: AnswerId, answer: AnswerFields, response: Response
) -> CommitResponse:
    """Add or replace an answer. Its question must exist."""
    return await commit(archive, request, [answer.to_answer(id)], response)


@answers.get("/answers", summary="List the answers to a question")
async def get_answers(
    archive: ReadableArchive,
    question: Id,
    limit: Annotated[int, Query(ge=1, le=MAX_ANSWERS)] = MAX_ANSWERS,
    offset: Annotated[int, Query(ge=0, le=2**53, description="number of answers to skip")] = 0,
) -> AnswersResponse:
    """Return the answers to a question, the accepted one first, then by votes, a page at a time."""
    stored = await archive.run_on_store(lambda store: editing.get_answers(store, question, limit, offset))
    return AnswersResponse(answers=[AnswerRecord.from_answer(answer) for answer in stored])


@answers.get("/answers/{id:id}", summary="Read an answer")
async def get_answer(archive: ReadableArchive, id: AnswerId) -> AnswerRecord:
    """Return an answer."""
    answer = await archive.run_on_store(lambda store: editing.get_answer(store, id))
    if answer is None:
        raise HTTPException(404, f"no answer {id!r}")
    return AnswerRecord.from_answer(answer)


@answers.delete("/answers/{id:id}", summary="Delete an answer", status_code=204)
async def delete_answer(archive: WritableArchive, id: AnswerId) -> None:
    """Delete an answer."""
    if not await archive.write(lambda store: editing.delete_answers(store, [id])):
        raise HTTPException(404, f"no answer {id!r}")


@links.post("/links:batch", summary="Add many links", responses=CREATED_RESPONSES)
async def post_links(
    archive: WritableArchive, request: Request, batch: RecordBatch[NewLink], response: Response
) -> CommitResponse:
    """Add or replace many links: all of them, or none after an error."""
    return await commit(archive, request, [link.to_link() for link in batch.items], response)


@links.put("/links", summary="Add a link", responses=CREATED_RESPONSES)
async def put_link(archive: WritableArchive, request: Request, link: NewLink, response: Response) -> CommitResponse:
    """Add a link between two questions, which must exist."""
    return await commit(archive, request, [link.to_link()], response)


@links.get("/links", summary="List the links of a question")
async def get_links(
    archive: ReadableArchive,
    question: Id,
    kind: Annotated[Literal["duplicate", "related"] | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LINKS)] = MAX_LINKS,
    offset: Annotated[int, Query(ge=0, le=2**53, description="number of links to skip")] = 0,
) -> LinksResponse:
    """Return the links of a question, in both directions, a page at a time."""
    stored = await archive.run_on_store(lambda store: editing.get_links(store, question, kind, limit, offset))
    return LinksResponse(links=[LinkFields.model_construct(**asdict(link)) for link in stored])


@links.delete("/links", summary="Delete a link", status_code=204)
async def delete_link(archive: WritableArchive, link: Annotated[LinkFields, Query()]) -> None:
    """Delete a link."""
    if not await archive.write(lambda store: editing.delete_link(store, link.to_link())):
        ends = f"{link.source} → {link.target}"
        raise HTTPException(404, f"no link {ends!r}")
