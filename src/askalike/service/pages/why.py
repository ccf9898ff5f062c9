"""*Why*: any two questions side by side, with the reasons for which they may ask the same."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from askalike.core.types import Question
from askalike.service.pages.auth import VisitedArchive
from askalike.service.pages.pairs import AnswersById, compare_pair
from askalike.service.pages.rendering import render_page
from askalike.store import Archive, MissingRecordError

router = APIRouter()
QuestionId = Annotated[str, Query(max_length=300)]


@router.get("/a/{archive}/why")
async def get_why(archive: VisitedArchive, request: Request, one: QuestionId, other: QuestionId) -> Response:
    """Show two questions and why they may ask the same."""
    pair, answers = await archive.run_on_store(lambda store: _load_pair(store, one, other))
    return render_page(request, "why.html", **await compare_pair(archive, pair, answers))


def _load_pair(archive: Archive, one: str, other: str) -> tuple[list[Question], AnswersById]:
    view = archive.view()
    found = view.get_questions([one, other])
    if missing := next((id for id in (one, other) if id not in found), None):
        raise MissingRecordError(f"no question {missing!r}")
    return [found[one], found[other]], view.get_answers_to([one, other])
