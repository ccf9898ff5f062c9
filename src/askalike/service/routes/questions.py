"""`questions`: one by one, or many in a batch."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Response

from askalike.service.requests.auth import ReadableArchive, WritableArchive
from askalike.service.requests.records import (
    CREATED_RESPONSES,
    AnswerRecord,
    CommitResponse,
    Id,
    LinkFields,
    QuestionFields,
    QuestionRecord,
    RecordBatch,
    StoredQuestion,
    commit,
    not_found,
)
from askalike.store.archive import Archive
from askalike.store.editing import get_links

router = APIRouter(tags=["questions"])
QuestionId = Annotated[Id, Path(description="the question's id")]


@router.post("/questions:batch", responses=CREATED_RESPONSES)
async def post_questions(
    served_archive: WritableArchive, batch: RecordBatch[QuestionRecord], response: Response
) -> CommitResponse:
    """Adds or replaces many questions, all of them or, after an error, none. Found by search within a second."""
    return await commit(served_archive, [q.to_question(q.id) for q in batch.items], response)


@router.put("/questions/{id:path}", responses=CREATED_RESPONSES)
async def put_question(
    served_archive: WritableArchive, id: QuestionId, question: QuestionFields, response: Response
) -> CommitResponse:
    """Adds a question, or replaces it. Found by search within a second."""
    return await commit(served_archive, [question.to_question(id)], response)


@router.get("/questions/{id:path}")
async def get_question(served_archive: ReadableArchive, id: QuestionId) -> StoredQuestion:
    """A question with its answers and links."""
    stored = await served_archive.run_on_archive(lambda archive: _load_question(archive, id))
    if stored is None:
        raise not_found("question", id)
    return stored


@router.delete("/questions/{id:path}", status_code=204)
async def delete_question(served_archive: WritableArchive, id: QuestionId) -> None:
    """Deletes a question with its answers and links."""
    if not await served_archive.run_on_archive(lambda archive: archive.delete([id])):
        raise not_found("question", id)


def _load_question(archive: Archive, id: str) -> StoredQuestion | None:
    view = archive.view()
    if (question := view.get_questions([id]).get(id)) is None:
        return None
    answers = [AnswerRecord.from_answer(answer) for answer in view.get_answers_to([id])[id]]
    links = [LinkFields.model_construct(None, **asdict(link)) for link in get_links(archive, id)]
    return StoredQuestion.model_construct(None, **asdict(question), answers=answers, links=links)
