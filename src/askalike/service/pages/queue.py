"""*Queue*: likely duplicates side by side, the most certain first. A moderator decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel

from askalike.core.types import Answer, Question
from askalike.service.pages.auth import ModeratorArchive
from askalike.service.pages.display import truncate
from askalike.service.pages.forms import SubmittedForm, validate_form
from askalike.service.pages.marking import extract_words
from askalike.service.pages.reasons import ExplanationSummary, summarise_explanation
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
from askalike.text.clean import readable_text

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
    """One question of a pair, with its highlighted words."""

    question: Question
    body: str
    answers: Sequence[Answer]
    marks: frozenset[str]
    """The words that indicate that it asks the same as the other."""
    other_words: frozenset[str]
    """The words of the other question."""


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
    sides = _build_sides(pair, queue.answers, summary)
    return {"queue": queue, "sides": sides, "why": summary, "similarity": similarity}


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


def _build_sides(pair: Sequence[Question], answers: AnswersById, summary: ExplanationSummary) -> list[PairSide]:
    bodies = [truncate(readable_text(q.body, q.markup), MAX_SHOWN_BODY_LENGTH) for q in pair]
    words = [extract_words(q.title, body) for q, body in zip(pair, bodies, strict=True)]
    marks = (extract_words(*(word.text.partition(" ≈ ")[0] for word in summary.words)), summary.matched)
    replies = [answers[question.id] for question in pair]
    return list(map(PairSide, pair, bodies, replies, marks, reversed(words)))
