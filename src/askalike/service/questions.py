"""`questions`: one by one, or many in a batch."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Response

from askalike.archive.editing import links_of
from askalike.archive.store import Archive
from askalike.service.places import Readable, Writable
from askalike.service.records import (
    Batch,
    Done,
    Id,
    LinkFields,
    QuestionFields,
    StoredQuestion,
    WholeAnswer,
    WholeQuestion,
)
from askalike.service.writing import CREATED, commit, missing

router = APIRouter(tags=["questions"])
QuestionId = Annotated[Id, Path(description="the question's id")]


@router.post("/questions:batch", responses=CREATED)
async def post_questions(desk: Writable, batch: Batch[WholeQuestion], response: Response) -> Done:
    """Adds or replaces many questions, all of them or, after an error, none. Found by search within a second."""
    return await commit(desk, [q.question(q.id) for q in batch.items], response)


@router.put("/questions/{id:path}", responses=CREATED)
async def put_question(desk: Writable, id: QuestionId, question: QuestionFields, response: Response) -> Done:
    """Adds a question, or replaces it. Found by search within a second."""
    return await commit(desk, [question.question(id)], response)


@router.get("/questions/{id:path}")
async def get_question(desk: Readable, id: QuestionId) -> StoredQuestion:
    """A question with its answers and links."""
    stored = await desk.store(lambda archive: _stored(archive, id))
    if stored is None:
        raise missing("question", id)
    return stored


@router.delete("/questions/{id:path}", status_code=204)
async def delete_question(desk: Writable, id: QuestionId) -> None:
    """Deletes a question with its answers and links."""
    if not await desk.store(lambda archive: archive.delete([id])):
        raise missing("question", id)


def _stored(archive: Archive, id: str) -> StoredQuestion | None:
    view = archive.view()
    if (question := view.get([id]).get(id)) is None:
        return None
    answers = [WholeAnswer.of(answer) for answer in view.answers_to([id])[id]]
    links = [LinkFields.model_construct(None, **asdict(link)) for link in links_of(archive, id)]
    return StoredQuestion.model_construct(None, **asdict(question), answers=answers, links=links)
