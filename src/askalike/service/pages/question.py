"""*Question*: a question with its answers, its duplicates, and why they are thought so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fastapi import APIRouter, HTTPException, Request, Response

from askalike.engines.local import LocalEngine
from askalike.service.pages.people import VisitorArchive
from askalike.service.pages.reasons import ExplanationSummary, summarise_explanation
from askalike.service.pages.rendering import render_page
from askalike.service.routes.similar import safe_web_url
from askalike.store.archive import Archive
from askalike.store.editing import get_links
from askalike.text.clean import plain_text
from askalike.types import Answer, Link, Question, SearchHit

router = APIRouter()
MAX_SIMILAR = 5
MAX_QUERY_BODY_LENGTH = 1_000
"""Of a question's body as much is searched with."""


@dataclass(frozen=True, slots=True)
class QuestionDetails:
    """A question with its answers, the accepted one first, and the questions that it is linked to, by their ids."""

    question: Question
    answers: Sequence[Answer]
    links: Sequence[Link]
    linked_questions: Mapping[str, Question]


@dataclass(frozen=True, slots=True)
class RelatedQuestion:
    """A question beside the one that is shown: how they belong together, and why it is thought so."""

    question: Question
    relation: str
    why: ExplanationSummary
    probability: float | None = None


@router.get("/a/{archive}/questions/{id:path}")
async def get_question(served_archive: VisitorArchive, request: Request, id: str) -> Response:
    """The page of a question."""
    stored = await served_archive.run_on_archive(lambda archive: _load_question(archive, id))
    if stored is None:
        raise HTTPException(404, f"no question {id!r}")
    linked, also = await served_archive.run_on_engine(lambda engine: _find_related(engine, stored))
    question = stored.question
    return render_page(
        request, "question.html", question=question, answers=stored.answers, linked=linked, also=also,
        where=safe_web_url(question.url),
    )  # fmt: skip


def _load_question(archive: Archive, id: str) -> QuestionDetails | None:
    view = archive.view()
    if (question := view.get_questions([id]).get(id)) is None:
        return None
    links = get_links(archive, id)
    others = view.get_questions({link.source for link in links} | {link.target for link in links})
    return QuestionDetails(question, view.get_answers_to([id])[id], links, others)


def _find_related(engine: LocalEngine, details: QuestionDetails) -> tuple[list[RelatedQuestion], list[RelatedQuestion]]:
    """What the question is linked to, and what else is similar to it."""
    question = details.question
    names = {_other_end(link, question.id): _relation(link, question.id) for link in reversed(details.links)}
    reasons = engine.explain(question, list(names))
    there = [(details.linked_questions[id], name) for id, name in names.items() if id in details.linked_questions]
    linked = [
        RelatedQuestion(other, name, summarise_explanation(reasons.get(other.id), other.language))
        for other, name in there
    ]
    body = plain_text(question.body, question.markup)[:MAX_QUERY_BODY_LENGTH]
    found = engine.find_similar(replace(question, body=body, markup="text"), MAX_SIMILAR + len(names))
    return linked, [_to_related(m) for m in found if m.question.id not in names][:MAX_SIMILAR]


def _to_related(match: SearchHit) -> RelatedQuestion:
    return RelatedQuestion(
        match.question, "similar", summarise_explanation(match.explanation, match.question.language), match.probability
    )


def _other_end(link: Link, id: str) -> str:
    return link.target if link.source == id else link.source


def _relation(link: Link, id: str) -> str:
    if link.kind == "related":
        return "related"
    return "the original" if link.source == id else "a duplicate of this"
