"""`questions`: one by one, or many in a batch."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Response

from askalike.archive.editing import links_of
from askalike.archive.store import Archive
from askalike.service.places import Readable, Writable
from askalike.service.records import Batch, Done, Id, QuestionFields, StoredQuestion, WholeQuestion
from askalike.service.writing import commit, found

router = APIRouter(tags=["questions"])
QuestionId = Annotated[Id, Path(description="the question's id")]


@router.post("/questions:batch")
async def post_questions(desk: Writable, batch: Batch[WholeQuestion], response: Response) -> Done:
    """Adds or replaces many questions, all of them or, after an error, none. Found by search within a second."""
    return await commit(desk, [q.question(q.id) for q in batch.items], response)


@router.put("/questions/{id:path}")
async def put_question(desk: Writable, id: QuestionId, question: QuestionFields, response: Response) -> Done:
    """Adds a question, or replaces it. Found by search within a second."""
    return await commit(desk, [question.question(id)], response)


@router.get("/questions/{id:path}")
async def get_question(desk: Readable, id: QuestionId) -> StoredQuestion:
    """A question with its answers and links."""
    stored = await desk.store(lambda archive: _stored(archive, id))
    found(stored is not None, "question", id)
    return stored  # type: ignore[return-value]


@router.delete("/questions/{id:path}", status_code=204)
async def delete_question(desk: Writable, id: QuestionId) -> None:
    """Deletes a question with its answers and links."""
    found(await desk.store(lambda archive: archive.delete([id])) > 0, "question", id)


def _stored(archive: Archive, id: str) -> StoredQuestion | None:
    view = archive.view()
    if (question := view.get([id]).get(id)) is None:
        return None
    answers, links = view.answers_to([id])[id], links_of(archive, id)
    facts = asdict(question) | {"answers": [_answer(a) for a in map(asdict, answers)], "links": map(asdict, links)}
    return StoredQuestion.model_construct(**facts)


def _answer(facts: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in facts.items() if key != "label"}
