"""*Drafts*: proposed FAQ entries. A moderator accepts one, perhaps with changes, or rejects it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from askalike.core.types import Answer
from askalike.moderation.drafts import find_drafts
from askalike.service.pages.auth import ModeratorArchive
from askalike.service.pages.forms import Form, SubmittedForm, validate_form
from askalike.service.pages.languages import mark
from askalike.service.pages.rendering import archive_url, render_page
from askalike.service.requests.context import caller_id
from askalike.service.requests.records import ShortText, Text
from askalike.service.requests.schema import RecordNumber
from askalike.store import AlreadyDecidedError, Archive
from askalike.store.drafts import (
    Draft,
    DraftState,
    accept_draft,
    find_source_answer,
    get_draft,
    list_drafts,
    reject_draft,
)
from askalike.text.clean import readable_blocks

router = APIRouter()
MAX_SHOWN = 50
ACTION_MESSAGES = {
    "accepted": mark("The entry is saved; search finds it within a second."),
    "rejected": mark("Rejected. These questions will not be proposed again."),
    "found": mark("All current drafts are listed."),
    "late": mark("Somebody else has already decided on that draft."),
}


class ChosenDraft(BaseModel):
    """The draft that somebody decides on."""

    number: RecordNumber


class DraftForm(BaseModel):
    """A draft as it is accepted: the question, its text, other phrasings, and the answer."""

    title: Annotated[ShortText, Field(min_length=1)]
    body: Text
    wordings: Annotated[list[ShortText], Field(max_length=100)]
    answer: Annotated[Text, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class DraftCard:
    """A draft with its rendered answer, the stored one that this is taken from, and the titles of its questions."""

    draft: Draft
    answer: str
    source: Answer | None
    source_titles: Mapping[str, str]


@router.get("/a/{archive}/drafts")
async def get_drafts(
    archive: ModeratorArchive, request: Request, state: DraftState = "open", said: str = ""
) -> Response:
    """Show the drafts to decide on, or those that were accepted or rejected."""
    cards, total = await archive.run_on_store(lambda store: _load_cards(store, state))
    message = ACTION_MESSAGES.get(said, "")
    return render_page(request, "drafts.html", cards=cards, total=total, state=state, message=message)


@router.post("/a/{archive}/drafts")
async def post_draft(archive: ModeratorArchive, request: Request, form: SubmittedForm) -> Response:
    """Look for new drafts, accept one, or reject it."""
    if form.value("do") not in ("find", "accept", "reject"):
        raise HTTPException(422, "do: expected find, accept or reject")
    moderator = caller_id(request)
    done = await archive.run_on_store(lambda store: _apply_action(store, form, moderator))
    return RedirectResponse(f"{archive_url(archive.name)}/drafts?said={done}", 303)


def _load_cards(archive: Archive, state: DraftState) -> tuple[list[DraftCard], int]:
    drafts = list_drafts(archive, state)
    shown = drafts[:MAX_SHOWN]
    questions = archive.view().get_questions({id for draft in shown for id in draft.source_ids})
    titles = {id: question.title for id, question in questions.items()}
    cards = [
        DraftCard(
            draft,
            _readable_answer(draft),
            find_source_answer(archive, draft),
            {id: titles[id] for id in draft.source_ids if id in titles},
        )
        for draft in shown
    ]
    return cards, len(drafts)


def _apply_action(archive: Archive, form: Form, moderator: str) -> str:
    """Carry out the action of a form; return the key of its message. Raises HTTPException, MissingRecordError."""
    if form.value("do") == "find":
        find_drafts(archive)
        return "found"
    number = validate_form(ChosenDraft, {"number": form.value("number")}).number
    try:
        if form.value("do") == "reject":
            reject_draft(archive, number, moderator)
            return "rejected"
        _accept(archive, number, form, moderator)
    except AlreadyDecidedError:
        return "late"
    return "accepted"


def _accept(archive: Archive, number: int, form: Form, moderator: str) -> None:
    """Accept a draft as edited in the form; an unchanged answer keeps its markup."""
    typed = {name: form.value(name).replace("\r\n", "\n").strip() for name in ("title", "body", "answer")}
    lines = (line.strip() for line in form.value("wordings").splitlines())
    entry = validate_form(DraftForm, typed | {"wordings": [line for line in lines if line]})
    draft = get_draft(archive, number)
    answer = None if entry.answer == _readable_answer(draft).replace("\r\n", "\n").strip() else entry.answer
    accept_draft(
        archive, number, moderator, title=entry.title, body=entry.body, answer=answer, rephrasings=entry.wordings
    )


def _readable_answer(draft: Draft) -> str:
    return "\n".join(block.text for block in readable_blocks(draft.answer, draft.markup))
