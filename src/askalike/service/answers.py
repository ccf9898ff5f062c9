"""`answers`: one by one, or many in a batch."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from askalike.archive.editing import delete_answer as deleted
from askalike.archive.editing import get_answer as stored
from askalike.service.places import Readable, Writable
from askalike.service.records import AnswerFields, Batch, Done, Id, WholeAnswer
from askalike.service.writing import CREATED, commit, missing

router = APIRouter(tags=["answers"])
AnswerId = Annotated[Id, Path(description="the answer's id")]


@router.post("/answers:batch", responses=CREATED)
async def post_answers(desk: Writable, batch: Batch[WholeAnswer], response: Response) -> Done:
    """Adds or replaces many answers, all of them or, after an error, none."""
    return await commit(desk, [a.answer(a.id) for a in batch.items], response)


@router.put("/answers/{id:path}", responses=CREATED)
async def put_answer(desk: Writable, id: AnswerId, answer: AnswerFields, response: Response) -> Done:
    """Adds an answer, or replaces it. Its question has to be there."""
    return await commit(desk, [answer.answer(id)], response)


@router.get("/answers/{id:path}")
async def get_answer(desk: Readable, id: AnswerId) -> WholeAnswer:
    """An answer."""
    answer = await desk.store(lambda archive: stored(archive, id))
    if answer is None:
        raise missing("answer", id)
    return WholeAnswer.of(answer)


@router.delete("/answers/{id:path}", status_code=204)
async def delete_answer(desk: Writable, id: AnswerId) -> None:
    """Deletes an answer."""
    if not await desk.store(lambda archive: deleted(archive, id)):
        raise missing("answer", id)
