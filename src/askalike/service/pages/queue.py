"""*Queue*: what may be duplicates, side by side, the most certain first. It proposes; a person decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel

from askalike.engines.local import LocalEngine
from askalike.service.pages.marking import extract_words
from askalike.service.pages.people import Form, ModeratorArchive, SubmittedForm, validate_form
from askalike.service.pages.reasons import ExplanationSummary, summarise_explanation
from askalike.service.pages.rendering import archive_url, render_page
from askalike.service.requests.auth import get_caller_id
from askalike.service.state.served_archive import ServedArchive
from askalike.store import candidate_pairs as proposals
from askalike.store.archive import Archive
from askalike.store.candidate_pairs import AlreadyDecidedError, PairProposal, ProposalDecision, ProposalState
from askalike.store.editing import MissingRecordError
from askalike.text.clean import plain_text
from askalike.types import Answer, Question

router = APIRouter()
MAX_BODY_LENGTH = 900
"""Characters that are shown of a body."""


class DecisionForm(BaseModel):
    """What somebody decided of which proposal; `undo` takes a decision back."""

    id: int
    decision: ProposalDecision | Literal["undo"]


@dataclass(frozen=True, slots=True)
class PairSide:
    """One question of a pair, with what is marked in it."""

    question: Question
    body: str
    answers: Sequence[Answer]
    marks: frozenset[str]
    """Words that speak for its being the same as the other."""
    others: frozenset[str]
    """Words that the other question has."""


@dataclass(frozen=True, slots=True)
class QueueState:
    """What waits: the next proposal with its questions, how many there are in each state, and what was decided last."""

    next: PairProposal | None
    questions: Mapping[str, Question]
    answers: Mapping[str, Sequence[Answer]]
    counts: Mapping[ProposalState, int]
    latest: PairProposal | None


@router.get("/a/{archive}/queue")
async def get_queue(served_archive: ModeratorArchive, request: Request) -> Response:
    """The pair to decide about."""
    return render_page(request, "queue.html", said="", **await _queue_context(served_archive, request))


@router.post("/a/{archive}/queue")
async def post_queue(served_archive: ModeratorArchive, request: Request, form: SubmittedForm) -> Response:
    """Keeps a decision, or takes one back, and shows what is next."""
    said = await _apply_decision(served_archive, request, form)
    if "hx-request" not in request.headers:
        return RedirectResponse(f"{archive_url(served_archive.name)}/queue", 303)
    return render_page(request, "parts/pair.html", said=said, **await _queue_context(served_archive, request))


async def _apply_decision(served_archive: ServedArchive, request: Request, form: Form) -> str:
    """Does what was decided; returns what there is to say where somebody else was faster."""
    given = validate_form(DecisionForm, {"id": form.value("id"), "decision": form.value("decision")})
    by = get_caller_id(request)
    try:
        if given.decision == "undo":
            await served_archive.run_on_archive(lambda archive: proposals.undo_decision(archive, given.id))
        else:
            decision = given.decision
            await served_archive.run_on_archive(
                lambda archive: proposals.decide_proposal(archive, given.id, decision, by)
            )
    except (AlreadyDecidedError, MissingRecordError):
        return "Somebody else has decided that one already."
    return ""


async def _queue_context(served_archive: ServedArchive, request: Request) -> dict[str, Any]:
    by = get_caller_id(request)
    waiting = await served_archive.run_on_archive(lambda archive: _load_queue(archive, by))
    sides: list[PairSide] = []
    reason = summarise_explanation(None)
    if waiting.next:
        pair = [waiting.questions[id] for id in (waiting.next.question, waiting.next.other)]
        reason = await served_archive.run_on_engine(lambda engine: _explain_pair(engine, *pair))
        sides = _build_sides(pair, waiting.answers, reason)
    return {"waiting": waiting, "sides": sides, "why": reason}


def _load_queue(archive: Archive, by: str) -> QueueState:
    first = next(iter(proposals.pending_proposals(archive)), None)
    latest = proposals.latest_decision(archive, by)
    ids = [id for one in (first, latest) if one for id in (one.question, one.other)]
    view = archive.view()
    questions = view.get_questions(ids)
    if first and not {first.question, first.other} <= questions.keys():
        first = None  # deleted just now
    return QueueState(first, questions, view.get_answers_to(ids), proposals.count_by_state(archive), latest)


def _explain_pair(engine: LocalEngine, question: Question, other: Question) -> ExplanationSummary:
    return summarise_explanation(engine.explain(question, [other.id]).get(other.id), other.language)


def _build_sides(
    pair: Sequence[Question], answers: Mapping[str, Sequence[Answer]], summary: ExplanationSummary
) -> list[PairSide]:
    bodies = [_truncate(plain_text(q.body, q.markup, code="keep", links="keep")) for q in pair]
    words = [extract_words(q.title, body) for q, body in zip(pair, bodies, strict=True)]
    marks = (extract_words(*(word.text.partition(" ≈ ")[0] for word in summary.words)), summary.matched)
    return [
        PairSide(q, body, answers[q.id], own, others)
        for q, body, own, others in zip(pair, bodies, marks, reversed(words), strict=True)
    ]


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_BODY_LENGTH else f"{text[:MAX_BODY_LENGTH].rsplit(' ', 1)[0]} …"
