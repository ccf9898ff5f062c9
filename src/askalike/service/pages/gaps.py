"""*Gaps*: questions without a good hit, by traffic. A moderator writes an entry that answers one, or ignores it."""

import secrets
from typing import Annotated

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from askalike.core.clock import now
from askalike.core.types import Answer, Question
from askalike.moderation.gaps import get_gap, ignore_gap, restore_gap
from askalike.service.pages.auth import ModeratorArchive
from askalike.service.pages.forms import Form, SubmittedForm, validate_form
from askalike.service.pages.languages import mark
from askalike.service.pages.rendering import archive_url, render_page
from askalike.service.requests.context import caller_id
from askalike.service.requests.records import ShortText, Text
from askalike.store import Archive
from askalike.store.editing import put_question_with_answer

router = APIRouter()
MAX_GAPS = 50
REASON_MESSAGES = {
    "nothing": mark("found nothing"),
    "none_of_these": mark("no helpful hit"),
    "posted_anyway": mark("asked anyway"),
}
ACTION_MESSAGES = {
    "written": mark("The entry is saved; search finds it within a second."),
    "ignored": mark("The gap is ignored."),
    "back": mark("The gap is listed again."),
    "late": mark("Somebody else has already dealt with that gap."),
}


class FaqEntry(BaseModel):
    """An entry that a moderator writes: the question, other phrasings, and the answer."""

    title: Annotated[ShortText, Field(min_length=1)]
    wordings: Annotated[list[ShortText], Field(max_length=100)]
    answer: Annotated[Text, Field(min_length=1)]

    def to_records(self) -> tuple[Question, Answer]:
        """Return the question and its answer, which is accepted."""
        id, at = f"faq-{secrets.token_hex(6)}", now()
        rephrasings = tuple(w for w in dict.fromkeys(self.wordings) if w and w != self.title)
        answer = Answer(f"{id}-a", id, self.answer, created_at=at)
        return Question(id, self.title, created_at=at, accepted_answer_id=answer.id, rephrasings=rephrasings), answer


@router.get("/a/{archive}/gaps")
async def get_gaps(archive: ModeratorArchive, request: Request, ignored: bool = False, said: str = "") -> Response:
    """Show the gaps, or those that are ignored."""
    gaps = await archive.run_on_store(lambda store: archive.gap_cache.get(store, ignored=ignored))
    return render_page(
        request,
        "gaps.html",
        gaps=gaps[:MAX_GAPS],
        total=len(gaps),
        ignored=ignored,
        why=REASON_MESSAGES,
        message=ACTION_MESSAGES.get(said, ""),
    )


@router.post("/a/{archive}/gaps")
async def post_gap(archive: ModeratorArchive, request: Request, form: SubmittedForm) -> Response:
    """Write an entry for a gap, ignore it, or show it again."""
    if form.value("do") not in ("write", "ignore", "restore"):
        raise HTTPException(422, "do: expected write, ignore or restore")
    moderator = caller_id(request)
    done = await archive.run_on_store(lambda store: _apply_action(store, form, moderator))
    return RedirectResponse(f"{archive_url(archive.name)}/gaps?said={done}", 303)


def _apply_action(archive: Archive, form: Form, moderator: str) -> str:
    """Carry out the action of a form on a gap; return the key of its message."""
    action = form.value("do")
    entry = _read_entry(form) if action == "write" else None
    gap = get_gap(archive, form.value("id"))
    if action == "restore":
        restore_gap(archive, gap)
        return "back"
    if gap.ignored:
        return "late"
    if entry:
        put_question_with_answer(archive, *entry.to_records())
    ignore_gap(archive, gap, moderator)
    return "written" if entry else "ignored"


def _read_entry(form: Form) -> FaqEntry:
    values = {"title": form.value("title").strip(), "answer": form.value("answer").strip()}
    wordings = [line.strip() for line in form.value("wordings").splitlines()]
    return validate_form(FaqEntry, values | {"wordings": wordings})
