"""*Gaps*: what people ask in vain, by traffic; write an entry that answers it, or hear no more of it."""

import secrets
from typing import Annotated

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from askalike.archive.editing import put_answered
from askalike.archive.store import Archive
from askalike.clock import now
from askalike.curation import gaps
from askalike.service.pages.people import Form, Moderator, Sent, checked
from askalike.service.pages.rendering import home, page
from askalike.service.places import caller
from askalike.service.records import Short, Text
from askalike.types import Answer, Question

router = APIRouter()
SHOWN = 50
WHY = {
    "nothing": "found nothing",
    "none_of_these": "were helped by nothing that was found",
    "posted_anyway": "asked all the same",
}
SAID = {"written": "The entry is there: search finds it within a second.", "ignored": "Ignored from now on."}


class Entry(BaseModel):
    """An entry that somebody writes: the question, other ways to put it, and the answer."""

    title: Annotated[Short, Field(min_length=1)]
    wordings: Annotated[list[Short], Field(max_length=100)]
    answer: Annotated[Text, Field(min_length=1)]

    def records(self) -> tuple[Question, Answer]:
        """The question and its answer, which is accepted."""
        id, at = f"faq-{secrets.token_hex(6)}", now()
        others = tuple(w for w in dict.fromkeys(self.wordings) if w and w != self.title)
        question = Question(id, self.title, created_at=at, accepted_answer_id=f"{id}-a", rephrasings=others)
        return question, Answer(f"{id}-a", id, self.answer, created_at=at)


@router.get("/a/{archive}/gaps")
async def get_gaps(desk: Moderator, request: Request, ignored: bool = False, said: str = "") -> Response:
    """What was asked in vain, or what is ignored of it."""
    found = await desk.store(lambda archive: desk.gaps.gaps(archive, ignored=ignored))
    return page(
        request, "gaps.html", gaps=found[:SHOWN], total=len(found), ignored=ignored, why=WHY, said=SAID.get(said, "")
    )


@router.post("/a/{archive}/gaps")
async def post_gap(desk: Moderator, request: Request, form: Sent) -> Response:
    """Writes an entry for a gap, ignores it, or shows it again."""
    does = {"write": _write, "ignore": _ignore, "restore": _restore}.get(form.one("do"))
    if does is None:
        raise HTTPException(422, "do: write, ignore or restore is expected")
    by = caller(request)
    said = await desk.store(lambda archive: does(archive, form, by))
    return RedirectResponse(f"{home(desk.name)}/gaps?said={said}", 303)


def _write(archive: Archive, form: Form, by: str) -> str:
    values = {"title": form.one("title").strip(), "answer": form.one("answer").strip()}
    entry = checked(Entry, values | {"wordings": [line.strip() for line in form.one("wordings").splitlines()]})
    put_answered(archive, *entry.records())
    gaps.ignore(archive, _named(archive, form), by)
    return "written"


def _ignore(archive: Archive, form: Form, by: str) -> str:
    gaps.ignore(archive, _named(archive, form), by)
    return "ignored"


def _restore(archive: Archive, form: Form, by: str) -> str:
    gaps.restore(archive, _named(archive, form))
    return "back"


def _named(archive: Archive, form: Form) -> gaps.Gap:
    try:
        return gaps.named(archive, form.one("id"))
    except gaps.NoGapError as error:
        raise HTTPException(404, str(error)) from None
