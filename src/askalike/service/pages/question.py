"""*Question*: a question with its answers, its duplicates, and why they are thought so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fastapi import APIRouter, HTTPException, Request, Response

from askalike.archive.editing import links_of
from askalike.archive.store import Archive
from askalike.engines.local import Local
from askalike.service.pages.people import Visitor
from askalike.service.pages.reasons import Why, why
from askalike.service.pages.rendering import page
from askalike.service.similar import web_address
from askalike.text.clean import plain_text
from askalike.types import Answer, Link, Match, Question

router = APIRouter()
ALSO = 5
LONGEST_BODY = 1_000
"""Of a question's body as much is searched with."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A question with its answers, the accepted one first, and the questions that it is linked to, by their ids."""

    question: Question
    answers: Sequence[Answer]
    links: Sequence[Link]
    others: Mapping[str, Question]


@dataclass(frozen=True, slots=True)
class Related:
    """A question beside the one that is shown: how they belong together, and why it is thought so."""

    question: Question
    relation: str
    why: Why
    probability: float | None = None


@router.get("/a/{archive}/questions/{id:path}")
async def get_question(desk: Visitor, request: Request, id: str) -> Response:
    """The page of a question."""
    stored = await desk.store(lambda archive: _stored(archive, id))
    if stored is None:
        raise HTTPException(404, f"no question {id!r}")
    linked, also = await desk.search(lambda engine: _related(engine, stored))
    question = stored.question
    return page(
        request, "question.html", question=question, answers=stored.answers, linked=linked, also=also,
        where=web_address(question.url),
    )  # fmt: skip


def _stored(archive: Archive, id: str) -> Stored | None:
    view = archive.view()
    if (question := view.get([id]).get(id)) is None:
        return None
    links = links_of(archive, id)
    others = view.get({link.source for link in links} | {link.target for link in links})
    return Stored(question, view.answers_to([id])[id], links, others)


def _related(engine: Local, stored: Stored) -> tuple[list[Related], list[Related]]:
    """What the question is linked to, and what else is similar to it."""
    question = stored.question
    names = {_other(link, question.id): _relation(link, question.id) for link in reversed(stored.links)}
    reasons = engine.explain(question, list(names))
    there = [(stored.others[id], name) for id, name in names.items() if id in stored.others]
    linked = [Related(other, name, why(reasons.get(other.id), other.language)) for other, name in there]
    body = plain_text(question.body, question.markup)[:LONGEST_BODY]
    found = engine.like(replace(question, body=body, markup="text"), ALSO + len(names))
    return linked, [_also(m) for m in found if m.question.id not in names][:ALSO]


def _also(match: Match) -> Related:
    return Related(match.question, "similar", why(match.explanation, match.question.language), match.probability)


def _other(link: Link, id: str) -> str:
    return link.target if link.source == id else link.source


def _relation(link: Link, id: str) -> str:
    if link.kind == "related":
        return "related"
    return "the original" if link.source == id else "a duplicate of this"
