"""*Queue*: likely duplicates side by side, the most certain first. A moderator decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel

from askalike.core.types import Answer, Question
from askalike.service.pages.auth import ModeratorArchive
from askalike.service.pages.display import display_title, truncate
from askalike.service.pages.forms import SubmittedForm, validate_form
from askalike.service.pages.marking import Stretch, compare_texts
from askalike.service.pages.reasons import function_words, summarise_explanation
from askalike.service.pages.rendering import archive_url, is_htmx, render_page
from askalike.service.requests.actions import DecisionOrUndo, apply_decision
from askalike.service.requests.context import caller_id
from askalike.service.requests.schema import RecordNumber
from askalike.service.state.served_archive import ServedArchive
from askalike.store import AlreadyDecidedError, Archive, MissingRecordError, PairProposal, ProposalState
from askalike.store.candidate_pairs import (
    ScanProgress,
    count_by_state,
    latest_decision,
    pending_proposals,
    scan_progress,
)
from askalike.text.clean import TextBlock, readable_blocks

router = APIRouter()
MAX_SHOWN_BODY_LENGTH = 900
"""Maximum number of characters of a body that are shown."""
AnswersById = Mapping[str, Sequence[Answer]]


class DecisionForm(BaseModel):
    """A decision on a proposal; `undo` revokes the previous one."""

    id: RecordNumber
    decision: DecisionOrUndo


@dataclass(frozen=True, slots=True)
class PairSide:
    """One question of a pair, with what it has in common with the other."""

    question: Question
    answers: Sequence[Answer]
    blocks: Sequence[tuple[TextBlock, int]]
    """The parts of its body, each with its place in the text that `stretches` refers to; the title's place is 0."""
    stretches: Sequence[Stretch]
    """What it has in common with the other question, and what differs there."""


@dataclass(frozen=True, slots=True)
class QueueState:
    """The next proposal and the latest decision, each with its questions."""

    next: PairProposal | None
    questions: Mapping[str, Question]
    answers: AnswersById
    counts: Mapping[ProposalState, int]
    latest: PairProposal | None
    """The proposal that the moderator decided last, which can be undone."""
    scan: ScanProgress | None
    """Progress of the search for duplicates; None before it begins."""


@router.get("/a/{archive}/queue")
async def get_queue(archive: ModeratorArchive, request: Request) -> Response:
    """Show the pair to decide on."""
    return render_page(request, "queue.html", warning="", **await _queue_context(archive, request))


@router.post("/a/{archive}/queue")
async def post_queue(archive: ModeratorArchive, request: Request, form: SubmittedForm) -> Response:
    """Store a decision, or revoke one, and show the next pair."""
    decided = validate_form(DecisionForm, {"id": form.value("id"), "decision": form.value("decision")})
    moderator, warning = caller_id(request), ""
    try:
        await archive.run_on_store(lambda store: apply_decision(store, decided.id, decided.decision, moderator))
    except (AlreadyDecidedError, MissingRecordError):
        warning = "Somebody else has already decided that pair."
    if not is_htmx(request):
        return RedirectResponse(f"{archive_url(archive.name)}/queue", 303)
    return render_page(request, "parts/pair.html", warning=warning, **await _queue_context(archive, request))


async def _queue_context(archive: ServedArchive, request: Request) -> dict[str, Any]:
    moderator = caller_id(request)
    queue = await archive.run_on_store(lambda store: _load_queue(store, moderator))
    if queue.next is None:
        return {"queue": queue, "sides": [], "why": summarise_explanation(None), "similarity": None}
    pair = [queue.questions[id] for id in (queue.next.duplicate_id, queue.next.original_id)]
    question, other = pair
    explanation, similarity = await archive.run_on_engine(
        lambda engine: (engine.explain(question, [other.id]).get(other.id), engine.similarity(question, other.id))
    )
    summary = summarise_explanation(explanation, other.language)
    return {"queue": queue, "sides": _build_sides(pair, queue.answers), "why": summary, "similarity": similarity}


def _load_queue(archive: Archive, moderator: str) -> QueueState:
    first = next(iter(pending_proposals(archive)), None)
    latest = latest_decision(archive, moderator)
    ids = [id for proposal in (first, latest) if proposal for id in (proposal.duplicate_id, proposal.original_id)]
    view = archive.view()
    questions = view.get_questions(ids)
    if first and not {first.duplicate_id, first.original_id} <= questions.keys():
        first = None  # deleted just now
    return QueueState(
        first, questions, view.get_answers_to(ids), count_by_state(archive), latest, scan_progress(archive)
    )


def _build_sides(pair: Sequence[Question], answers: AnswersById) -> list[PairSide]:
    blocks = [_place_blocks(question) for question in pair]
    texts = [
        "\n".join([display_title(question), *(block.text for block, _ in placed)])
        for question, placed in zip(pair, blocks, strict=True)
    ]
    replies, words = [answers[question.id] for question in pair], function_words(pair[1].language)
    return list(map(PairSide, pair, replies, blocks, compare_texts(texts[0], texts[1], words)))


def _place_blocks(question: Question) -> list[tuple[TextBlock, int]]:
    """Return the first parts of a body, each with its place after the title and the parts before it."""
    placed, at, room = [], len(display_title(question)) + 1, MAX_SHOWN_BODY_LENGTH
    for block in readable_blocks(question.body, question.markup):
        if room <= 0:
            break
        shown = block._replace(text=truncate(block.text, room))
        placed.append((shown, at))
        at, room = at + len(shown.text) + 1, room - len(shown.text)
    return placed
