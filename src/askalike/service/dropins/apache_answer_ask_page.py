"""`question/similar` as in Apache Answer: what its Ask page shows below the title while somebody types."""

from typing import Annotated, Literal
from urllib.parse import unquote

from fastapi import APIRouter, Query
from pydantic import BaseModel

from askalike.core.addresses import safe_url
from askalike.core.types import Question
from askalike.search.local import LocalEngine
from askalike.service.requests.auth import ReadableArchive
from askalike.service.requests.schema import MAX_TITLE_LENGTH

MAX_QUESTIONS = 10
"""The number that Answer returns; its page shows the first five."""

router = APIRouter(tags=["drop-in"])
TypedTitle = Annotated[str, Query(max_length=MAX_TITLE_LENGTH, description="the title as typed so far")]


class ListedQuestion(BaseModel):
    """A question as the Ask page lists it. Counts that an archive does not know are 0."""

    id: str
    title: str
    url_title: str
    view_count: int = 0
    answer_count: int
    collection_count: int = 0
    follow_count: int = 0
    status: Literal["available", "closed"]
    accepted_answer: bool


class ListEnvelope(BaseModel):
    """The envelope of every response of Answer; `data` has the similar questions, best first."""

    code: int = 200
    reason: str = "base.success"
    msg: str = "Success."
    data: list[ListedQuestion]


@router.get("/answer/api/v1/question/similar")
async def question_similar(archive: ReadableArchive, title: TypedTitle = "") -> ListEnvelope:
    """Return the questions most similar to a title, in the shape of Apache Answer's own response."""
    return ListEnvelope(data=await archive.run_on_engine(lambda engine: _search_questions(engine, title)))


def _search_questions(engine: LocalEngine, title: str) -> list[ListedQuestion]:
    hits = engine.search(title, MAX_QUESTIONS, prefix=True, explain=False)
    answers = engine.archive.view().get_answers_to(hit.id for hit in hits)
    return [_to_listed(hit.question, len(answers[hit.id])) for hit in hits]


def _to_listed(question: Question, n_answers: int) -> ListedQuestion:
    return ListedQuestion(
        id=question.id,
        title=question.title,
        url_title=url_title(question.url),
        answer_count=n_answers,
        status="closed" if "closed" in question.states else "available",
        accepted_answer="answered" in question.states,
    )


def url_title(url: str | None) -> str:
    """Return the part of a question's URL (`…/questions/ID/TITLE`) that is made from its title; empty without one."""
    parts = (safe_url(url) or "").partition("?")[0].split("/")
    after = parts[parts.index("questions") + 2 :] if "questions" in parts else []
    return unquote(after[0]) if after else ""
