"""`questions`: one by one, or many in a batch."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Response

from askalike.service.requests.actions import load_question
from askalike.service.requests.auth import ReadableArchive, WritableArchive
from askalike.service.requests.records import (
    CREATED_RESPONSES,
    AnswerRecord,
    CommitResponse,
    LinkFields,
    QuestionFields,
    QuestionRecord,
    RecordBatch,
    StoredQuestion,
    commit,
    not_found,
)
from askalike.service.requests.schema import Id

router = APIRouter(tags=["questions"])
QuestionId = Annotated[Id, Path(description="the question's id")]


@router.post("/questions:batch", responses=CREATED_RESPONSES)
async def post_questions(
    served_archive: WritableArchive, batch: RecordBatch[QuestionRecord], response: Response
) -> CommitResponse:
    """Add or replace many questions, all of them or, after an error, none. Found by search within a second."""
    return await commit(served_archive, [q.to_question(q.id) for q in batch.items], response)


@router.put("/questions/{id:path}", responses=CREATED_RESPONSES)
async def put_question(
    served_archive: WritableArchive, id: QuestionId, question: QuestionFields, response: Response
) -> CommitResponse:
    """Add a question, or replace it. Found by search within a second."""
    return await commit(served_archive, [question.to_question(id)], response)


@router.get("/questions/{id:path}")
async def get_question(served_archive: ReadableArchive, id: QuestionId) -> StoredQuestion:
    """Return a question with its answers and links."""
    stored = await served_archive.run_on_archive(lambda archive: load_question(archive, id))
    return StoredQuestion.model_construct(
        None,
        **asdict(stored.question),
        answers=[AnswerRecord.from_answer(answer) for answer in stored.answers],
        links=[LinkFields.model_construct(None, **asdict(link)) for link in stored.links],
    )


@router.delete("/questions/{id:path}", status_code=204)
async def delete_question(served_archive: WritableArchive, id: QuestionId) -> None:
    """Delete a question with its answers and links."""
    if not await served_archive.run_on_archive(lambda archive: archive.delete([id])):
        raise not_found("question", id)
