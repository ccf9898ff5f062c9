"""*Queue*: what may be duplicates, side by side, the most certain first. It proposes; a person decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel

from askalike.archive import proposals
from askalike.archive.editing import MissingError
from askalike.archive.proposals import DecidedError, Decision, Proposal, State
from askalike.archive.store import Archive
from askalike.engines.local import Local
from askalike.service.desk import Desk
from askalike.service.pages.marking import words_of
from askalike.service.pages.people import Form, Moderator, Sent, checked
from askalike.service.pages.reasons import Why, why
from askalike.service.pages.rendering import home, page
from askalike.service.places import caller
from askalike.text.clean import plain_text
from askalike.types import Answer, Question

router = APIRouter()
LONGEST = 900
"""Characters that are shown of a body."""


class Decided(BaseModel):
    """What somebody decided of which proposal; `undo` takes a decision back."""

    id: int
    decision: Decision | Literal["undo"]


@dataclass(frozen=True, slots=True)
class Side:
    """One question of a pair, with what is marked in it."""

    question: Question
    body: str
    answers: Sequence[Answer]
    marks: frozenset[str]
    """Words that speak for its being the same as the other."""
    others: frozenset[str]
    """Words that the other question has."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits: the next proposal with its questions, how many there are in each state, and what was decided last."""

    next: Proposal | None
    questions: Mapping[str, Question]
    answers: Mapping[str, Sequence[Answer]]
    counts: Mapping[State, int]
    latest: Proposal | None


@router.get("/a/{archive}/queue")
async def get_queue(desk: Moderator, request: Request) -> Response:
    """The pair to decide about."""
    return page(request, "queue.html", said="", **await _shown(desk, request))


@router.post("/a/{archive}/queue")
async def post_queue(desk: Moderator, request: Request, form: Sent) -> Response:
    """Keeps a decision, or takes one back, and shows what is next."""
    said = await _decided(desk, request, form)
    if "hx-request" not in request.headers:
        return RedirectResponse(f"{home(desk.name)}/queue", 303)
    return page(request, "parts/pair.html", said=said, **await _shown(desk, request))


async def _decided(desk: Desk, request: Request, form: Form) -> str:
    """Does what was decided; returns what there is to say where somebody else was faster."""
    given = checked(Decided, {"id": form.one("id"), "decision": form.one("decision")})
    by = caller(request)
    try:
        if given.decision == "undo":
            await desk.store(lambda archive: proposals.undo(archive, given.id))
        else:
            decision = given.decision
            await desk.store(lambda archive: proposals.decide(archive, given.id, decision, by))
    except (DecidedError, MissingError):
        return "Somebody else has decided that one already."
    return ""


async def _shown(desk: Desk, request: Request) -> dict[str, Any]:
    by = caller(request)
    waiting = await desk.store(lambda archive: _waiting(archive, by))
    sides: list[Side] = []
    reason = why(None)
    if waiting.next:
        pair = [waiting.questions[id] for id in (waiting.next.question, waiting.next.other)]
        reason = await desk.search(lambda engine: _why(engine, *pair))
        sides = _sides(pair, waiting.answers, reason)
    return {"waiting": waiting, "sides": sides, "why": reason}


def _waiting(archive: Archive, by: str) -> Waiting:
    first = next(iter(proposals.pending(archive)), None)
    latest = proposals.latest(archive, by)
    ids = [id for one in (first, latest) if one for id in (one.question, one.other)]
    view = archive.view()
    questions = view.get(ids)
    if first and not {first.question, first.other} <= questions.keys():
        first = None  # deleted just now
    return Waiting(first, questions, view.answers_to(ids), proposals.counts(archive), latest)


def _why(engine: Local, question: Question, other: Question) -> Why:
    return why(engine.explain(question, [other.id]).get(other.id), other.language)


def _sides(pair: Sequence[Question], answers: Mapping[str, Sequence[Answer]], reason: Why) -> list[Side]:
    bodies = [_cut(plain_text(q.body, q.markup, code="keep", links="keep")) for q in pair]
    words = [words_of(q.title, body) for q, body in zip(pair, bodies, strict=True)]
    marks = (words_of(*(word.text.partition(" ≈ ")[0] for word in reason.words)), reason.matched)
    return [
        Side(q, body, answers[q.id], own, others)
        for q, body, own, others in zip(pair, bodies, marks, reversed(words), strict=True)
    ]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rsplit(' ', 1)[0]} …"
