"""*Gaps*: what people ask in vain, by traffic. A moderator writes an entry that answers it, or ignores it."""

import secrets
from typing import Annotated

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from askalike.clock import now
from askalike.moderation.gaps import get_gap, ignore_gap, restore_gap
from askalike.service.pages.auth import ModeratorArchive
from askalike.service.pages.forms import Form, SubmittedForm, validate_form
from askalike.service.pages.rendering import archive_url, render_page
from askalike.service.requests.context import caller_id
from askalike.service.requests.records import ShortText, Text
from askalike.store import Archive
from askalike.store.editing import put_question_with_answer
from askalike.types import Answer, Question

router = APIRouter()
MAX_GAPS = 50
REASON_TEXTS = {
    "nothing": "found nothing",
    "none_of_these": "were helped by nothing that was found",
    "posted_anyway": "asked all the same",
}
ACTION_MESSAGES = {"written": "The entry is there: search finds it within a second.", "ignored": "Ignored from now on."}


class FaqEntry(BaseModel):
    """An entry that somebody writes: the question, other ways to put it, and the answer."""

    title: Annotated[ShortText, Field(min_length=1)]
    wordings: Annotated[list[ShortText], Field(max_length=100)]
    answer: Annotated[Text, Field(min_length=1)]

    def to_records(self) -> tuple[Question, Answer]:
        """Return the question and its answer, which is accepted."""
        id, created_at = f"faq-{secrets.token_hex(6)}", now()
        rephrasings = tuple(w for w in dict.fromkeys(self.wordings) if w and w != self.title)
        answer = Answer(f"{id}-a", id, self.answer, created_at=created_at)
        question = Question(
            id, self.title, created_at=created_at, accepted_answer_id=answer.id, rephrasings=rephrasings
        )
        return question, answer


@router.get("/a/{archive}/gaps")
async def get_gaps(
    served_archive: ModeratorArchive, request: Request, ignored: bool = False, said: str = ""
) -> Response:
    """Show what was asked in vain, or what is ignored of it."""
    gaps = await served_archive.run_on_archive(lambda archive: served_archive.gap_cache.get(archive, ignored=ignored))
    return render_page(
        request,
        "gaps.html",
        gaps=gaps[:MAX_GAPS],
        total=len(gaps),
        ignored=ignored,
        why=REASON_TEXTS,
        message=ACTION_MESSAGES.get(said, ""),
    )


@router.post("/a/{archive}/gaps")
async def post_gap(served_archive: ModeratorArchive, request: Request, form: SubmittedForm) -> Response:
    """Write an entry for a gap, ignore it, or show it again."""
    action = {"write": _write_entry, "ignore": _ignore, "restore": _restore}.get(form.value("do"))
    if action is None:
        raise HTTPException(422, "do: write, ignore or restore is expected")
    moderator = caller_id(request)
    done = await served_archive.run_on_archive(lambda archive: action(archive, form, moderator))
    return RedirectResponse(f"{archive_url(served_archive.name)}/gaps?said={done}", 303)


def _write_entry(archive: Archive, form: Form, moderator: str) -> str:
    values = {"title": form.value("title").strip(), "answer": form.value("answer").strip()}
    wordings = [line.strip() for line in form.value("wordings").splitlines()]
    entry = validate_form(FaqEntry, values | {"wordings": wordings})
    put_question_with_answer(archive, *entry.to_records())
    ignore_gap(archive, get_gap(archive, form.value("id")), moderator)
    return "written"


def _ignore(archive: Archive, form: Form, moderator: str) -> str:
    ignore_gap(archive, get_gap(archive, form.value("id")), moderator)
    return "ignored"


def _restore(archive: Archive, form: Form, _: str) -> str:
    restore_gap(archive, get_gap(archive, form.value("id")))
    return "back"
