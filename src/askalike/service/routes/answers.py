"""`answers`: one by one, or many in a batch."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from askalike.service.requests.auth import ReadableArchive, WritableArchive
from askalike.service.requests.records import (
    CREATED_RESPONSES,
    AnswerFields,
    AnswerRecord,
    CommitResponse,
    RecordBatch,
    commit,
    not_found,
)
from askalike.service.requests.schema import Id
from askalike.store import editing

router = APIRouter(tags=["answers"])
AnswerId = Annotated[Id, Path(description="the answer's id")]


@router.post("/answers:batch", responses=CREATED_RESPONSES)
async def post_answers(
    served_archive: WritableArchive, batch: RecordBatch[AnswerRecord], response: Response
) -> CommitResponse:
    """Add or replace many answers, all of them or, after an error, none."""
    return await commit(served_archive, [a.to_answer(a.id) for a in batch.items], response)


@router.put("/answers/{id:path}", responses=CREATED_RESPONSES)
async def put_answer(
    served_archive: WritableArchive, id: AnswerId, answer: AnswerFields, response: Response
) -> CommitResponse:
    """Add an answer, or replace it. Its question has to exist."""
    return await commit(served_archive, [answer.to_answer(id)], response)


@router.get("/answers/{id:path}")
async def get_answer(served_archive: ReadableArchive, id: AnswerId) -> AnswerRecord:
    """Return an answer."""
    answer = await served_archive.run_on_archive(lambda archive: editing.get_answer(archive, id))
    if answer is None:
        raise not_found("answer", id)
    return AnswerRecord.from_answer(answer)


@router.delete("/answers/{id:path}", status_code=204)
async def delete_answer(served_archive: WritableArchive, id: AnswerId) -> None:
    """Delete an answer."""
    if not await served_archive.run_on_archive(lambda archive: editing.delete_answer(archive, id)):
        raise not_found("answer", id)
