"""*Gaps* and *Drafts*: a moderator writes the FAQ entry for a gap, or accepts a draft of one; or leaves it out."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from askalike.core.records import Answer, Question
from askalike.core.values import now
from askalike.moderation.drafts import find_drafts
from askalike.moderation.gaps import get_gap, ignore_gap, restore_gap
from askalike.service.pages.auth import ModeratorArchive
from askalike.service.pages.forms import Form, SubmittedForm, normalise_text, validate_form
from askalike.service.pages.languages import mark
from askalike.service.pages.rendering import archive_url, render_page
from askalike.service.request_state import caller_id
from askalike.service.schema import QuestionTitle, RecordNumber, ShortText, Text
from askalike.store import AlreadyDecidedError, Archive
from askalike.store.drafts import (
    FAQ_ID_PREFIX,
    Draft,
    DraftState,
    accept_draft,
    find_source_answer,
    get_draft,
    list_drafts,
    reject_draft,
)
from askalike.store.editing import put_question_with_answer
from askalike.text.clean import readable_blocks

router = APIRouter()
MAX_SHOWN, MAX_SHOWN_LENGTH = 50, 100_000
"""Number of gaps or drafts on a page, and of characters of these drafts."""
Offset = Annotated[int, Query(ge=0, le=2**53)]
REASON_MESSAGES = {
    "nothing": mark("found nothing"),
    "none_of_these": mark("no helpful hit"),
    "posted_anyway": mark("asked anyway"),
}
SAVED_MESSAGE = mark("The entry is saved; search finds it within a second.")
GAP_MESSAGES = {
    "written": SAVED_MESSAGE,
    "ignored": mark("The gap is ignored."),
    "back": mark("The gap is listed again."),
    "late": mark("Somebody else has already dealt with that gap."),
}
DRAFT_MESSAGES = {
    "accepted": SAVED_MESSAGE,
    "rejected": mark("Rejected. These questions will not be proposed again."),
    "found": mark("All current drafts are listed."),
    "late": mark("Somebody else has already decided on that draft."),
}


class ChosenDraft(BaseModel):
    """The draft that somebody decides on."""

    number: RecordNumber


class FaqEntry(BaseModel):
    """An entry that a moderator writes or accepts: the question, its text, other phrasings, and the answer."""

    title: QuestionTitle
    body: Text
    wordings: Annotated[list[ShortText], Field(max_length=100)]
    answer: Annotated[Text, Field(min_length=1)]

    def to_records(self) -> tuple[Question, Answer]:
        """Return the question and its answer, which is accepted."""
        id = f"{FAQ_ID_PREFIX}{secrets.token_hex(6)}"
        at = now()
        rephrasings = tuple(wording for wording in dict.fromkeys(self.wordings) if wording != self.title)
        answer = Answer(f"{id}-a", id, self.answer, created_at=at)
        question = Question(
            id, self.title, self.body, created_at=at, accepted_answer_id=answer.id, rephrasings=rephrasings
        )
        return question, answer


@dataclass(frozen=True, slots=True)
class DraftCard:
    """A draft with its rendered answer, the stored one that this is taken from, and the titles of its questions.

    n_answers: the number of answers to its questions. title: of a decided draft, which has none, that of its entry; ""
    if it was rejected.
    """

    draft: Draft
    title: str
    answer: str
    source: Answer | None
    n_answers: int
    source_titles: Mapping[str, str]


@router.get("/a/{archive}/gaps")
async def get_gaps(archive: ModeratorArchive, request: Request, ignored: bool = False, said: str = "") -> Response:
    """Show the gaps, the most frequent first, or those that are ignored."""
    gaps = await archive.run_on_store(lambda store: archive.gap_cache.get(store, ignored=ignored))
    message = GAP_MESSAGES.get(said, "")
    shown = gaps[:MAX_SHOWN]
    return render_page(
        request, "gaps.html", gaps=shown, total=len(gaps), ignored=ignored, why=REASON_MESSAGES, message=message
    )


@router.post("/a/{archive}/gaps")
async def post_gap(archive: ModeratorArchive, request: Request, form: SubmittedForm) -> Response:
    """Write an entry for a gap, ignore it, or show it again."""
    if form.value("do") not in ("write", "ignore", "restore"):
        raise HTTPException(422, "do: expected write, ignore or restore")
    moderator = caller_id(request)
    done = await archive.run_on_store(lambda store: _deal_with_gap(store, form, moderator))
    return RedirectResponse(f"{archive_url(archive.name)}/gaps?said={done}", 303)


@router.get("/a/{archive}/drafts")
async def get_drafts(
    archive: ModeratorArchive, request: Request, state: DraftState = "open", said: str = "", offset: Offset = 0
) -> Response:
    """Show the drafts to decide on, or those that were accepted or rejected, after the first `offset`."""
    cards, total = await archive.run_on_store(lambda store: _load_cards(store, state, offset))
    message = DRAFT_MESSAGES.get(said, "")
    end = offset + len(cards)
    return render_page(request, "drafts.html", cards=cards, total=total, end=end, state=state, message=message)


@router.post("/a/{archive}/drafts")
async def post_draft(archive: ModeratorArchive, request: Request, form: SubmittedForm) -> Response:
    """Look for new drafts, accept one, or reject it."""
    if form.value("do") not in ("find", "accept", "reject"):
        raise HTTPException(422, "do: expected find, accept or reject")
    moderator = caller_id(request)
    done = await archive.run_on_store(lambda store: _decide_on_draft(store, form, moderator))
    return RedirectResponse(f"{archive_url(archive.name)}/drafts?said={done}", 303)


def _deal_with_gap(archive: Archive, form: Form, moderator: str) -> str:
    """Carry out the action of a form; return the key of its message. Raises GapNotFoundError."""
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


def _decide_on_draft(archive: Archive, form: Form, moderator: str) -> str:
    """Carry out the action of a form; return the key of its message. Raises MissingRecordError."""
    action = form.value("do")
    if action == "find":
        find_drafts(archive)
        return "found"
    number = validate_form(ChosenDraft, {"number": form.value("number")}).number
    try:
        if action == "reject":
            reject_draft(archive, number, moderator)
        else:
            _accept(archive, number, _read_entry(form), moderator)
    except AlreadyDecidedError:
        return "late"
    return f"{action}ed"


def _accept(archive: Archive, number: int, entry: FaqEntry, moderator: str) -> None:
    """Accept a draft as edited in the form; an unchanged answer keeps its markup."""
    is_unchanged = entry.answer == normalise_text(_readable_answer(get_draft(archive, number)))
    answer = None if is_unchanged else entry.answer
    accept_draft(
        archive, number, moderator, title=entry.title, body=entry.body, answer=answer, rephrasings=entry.wordings
    )


def _read_entry(form: Form) -> FaqEntry:
    texts = {name: normalise_text(form.value(name)) for name in ("title", "body", "answer")}
    return validate_form(FaqEntry, texts | {"wordings": form.lines("wordings")})


def _load_cards(archive: Archive, state: DraftState, offset: int) -> tuple[list[DraftCard], int]:
    """Return those that fit on a page, at least one, and the number of all."""
    drafts = list_drafts(archive, state)
    shown = drafts[offset : offset + MAX_SHOWN]
    lengths = accumulate(len(draft.title) + len(draft.body) + len(draft.answer) for draft in shown)
    shown = shown[: max(1, sum(length <= MAX_SHOWN_LENGTH for length in lengths))]
    ids = {id for draft in shown for id in (*draft.source_ids, draft.question_id)}
    questions = archive.view().get_questions(ids)
    titles = {id: question.title for id, question in questions.items()}
    cards = [
        DraftCard(
            draft,
            draft.title or titles.get(draft.question_id, ""),
            _readable_answer(draft),
            find_source_answer(archive, draft),
            sum(map(len, archive.view().get_answers_to(draft.source_ids).values())),
            {id: titles[id] for id in draft.source_ids if id in titles},
        )
        for draft in shown
    ]
    return cards, len(drafts)


def _readable_answer(draft: Draft) -> str:
    return "\n".join(block.text for block in readable_blocks(draft.answer, draft.markup))
