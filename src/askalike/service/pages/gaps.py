"""*Gaps*: what people ask in vain, by traffic; write an entry that answers it, or hear no more of it."""

import secrets
from typing import Annotated

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from askalike.clock import now
from askalike.moderation import gaps
from askalike.service.pages.people import Form, ModeratorArchive, SubmittedForm, validate_form
from askalike.service.pages.rendering import archive_url, render_page
from askalike.service.requests.auth import get_caller_id
from askalike.service.requests.records import ShortText, Text
from askalike.store.archive import Archive
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
        """The question and its answer, which is accepted."""
        id, at = f"faq-{secrets.token_hex(6)}", now()
        others = tuple(w for w in dict.fromkeys(self.wordings) if w and w != self.title)
        question = Question(id, self.title, created_at=at, accepted_answer_id=f"{id}-a", rephrasings=others)
        return question, Answer(f"{id}-a", id, self.answer, created_at=at)


@router.get("/a/{archive}/gaps")
async def get_gaps(
    served_archive: ModeratorArchive, request: Request, ignored: bool = False, said: str = ""
) -> Response:
    """What was asked in vain, or what is ignored of it."""
    found = await served_archive.run_on_archive(lambda archive: served_archive.gap_cache.get(archive, ignored=ignored))
    return render_page(
        request,
        "gaps.html",
        gaps=found[:MAX_GAPS],
        total=len(found),
        ignored=ignored,
        why=REASON_TEXTS,
        said=ACTION_MESSAGES.get(said, ""),
    )


@router.post("/a/{archive}/gaps")
async def post_gap(served_archive: ModeratorArchive, request: Request, form: SubmittedForm) -> Response:
    """Writes an entry for a gap, ignores it, or shows it again."""
    does = {"write": _write, "ignore": _ignore, "restore": _restore}.get(form.value("do"))
    if does is None:
        raise HTTPException(422, "do: write, ignore or restore is expected")
    by = get_caller_id(request)
    said = await served_archive.run_on_archive(lambda archive: does(archive, form, by))
    return RedirectResponse(f"{archive_url(served_archive.name)}/gaps?said={said}", 303)


def _write(archive: Archive, form: Form, by: str) -> str:
    values = {"title": form.value("title").strip(), "answer": form.value("answer").strip()}
    entry = validate_form(
        FaqEntry, values | {"wordings": [line.strip() for line in form.value("wordings").splitlines()]}
    )
    put_question_with_answer(archive, *entry.to_records())
    gaps.ignore_gap(archive, _find_gap(archive, form), by)
    return "written"


def _ignore(archive: Archive, form: Form, by: str) -> str:
    gaps.ignore_gap(archive, _find_gap(archive, form), by)
    return "ignored"


def _restore(archive: Archive, form: Form, by: str) -> str:
    gaps.restore_gap(archive, _find_gap(archive, form))
    return "back"


def _find_gap(archive: Archive, form: Form) -> gaps.Gap:
    try:
        return gaps.get_gap(archive, form.value("id"))
    except gaps.GapNotFoundError as error:
        raise HTTPException(404, str(error)) from None
