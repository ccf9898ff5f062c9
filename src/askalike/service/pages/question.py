"""*Question*: a question with its answers, its duplicates, and why they are thought so."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fastapi import APIRouter, Request, Response

from askalike.engines.local import LocalEngine
from askalike.service.pages.auth import VisitedArchive
from askalike.service.pages.reasons import ExplanationSummary, summarise_explanation
from askalike.service.pages.rendering import render_page
from askalike.service.requests.actions import QuestionDetails, load_question
from askalike.service.requests.schema import safe_web_url
from askalike.store import Archive
from askalike.text.clean import plain_text
from askalike.types import Link, Question, SearchHit

router = APIRouter()
MAX_SIMILAR = 5
MAX_QUERY_BODY_LENGTH = 1_000
"""How much of a question's body similar ones are searched with."""


@dataclass(frozen=True, slots=True)
class RelatedQuestion:
    """A question beside the one that is shown."""

    question: Question
    relation: str
    why: ExplanationSummary
    probability: float | None = None
    """That both ask the same; None for a linked question, and where the ranker is not calibrated."""


@router.get("/a/{archive}/questions/{id:path}")
async def get_question(served_archive: VisitedArchive, request: Request, id: str) -> Response:
    """Show a question."""
    details, linked_questions = await served_archive.run_on_archive(lambda archive: _load(archive, id))
    linked, similar = await served_archive.run_on_engine(
        lambda engine: (_explain_links(engine, details, linked_questions), _find_similar(engine, details))
    )
    question = details.question
    return render_page(
        request,
        "question.html",
        question=question,
        answers=details.answers,
        linked=linked,
        similar=similar,
        url=safe_web_url(question.url),
    )


def _load(archive: Archive, id: str) -> tuple[QuestionDetails, Mapping[str, Question]]:
    """Return a question and those that it is linked to, by their ids. Raises MissingRecordError."""
    details = load_question(archive, id)
    return details, archive.view().get_questions(_relations(details))


def _relations(details: QuestionDetails) -> dict[str, str]:
    """Return how each linked question is related to the question, by their ids."""
    id = details.question.id
    return {_other_end(link, id): _relation(link, id) for link in reversed(details.links)}


def _explain_links(
    engine: LocalEngine, details: QuestionDetails, linked_questions: Mapping[str, Question]
) -> list[RelatedQuestion]:
    relations = _relations(details)
    explanations = engine.explain(details.question, list(relations))
    return [
        RelatedQuestion(other, relation, summarise_explanation(explanations.get(id), other.language))
        for id, relation in relations.items()
        if (other := linked_questions.get(id))
    ]


def _find_similar(engine: LocalEngine, details: QuestionDetails) -> list[RelatedQuestion]:
    """Return the questions most similar to one, but for those that it is linked to."""
    question, relations = details.question, _relations(details)
    body = plain_text(question.body, question.markup)[:MAX_QUERY_BODY_LENGTH]
    hits = engine.find_similar(replace(question, body=body, markup="text"), MAX_SIMILAR + len(relations))
    return [_to_related(hit) for hit in hits if hit.question.id not in relations][:MAX_SIMILAR]


def _to_related(hit: SearchHit) -> RelatedQuestion:
    summary = summarise_explanation(hit.explanation, hit.question.language)
    return RelatedQuestion(hit.question, "similar", summary, hit.probability)


def _other_end(link: Link, id: str) -> str:
    return link.target if link.source == id else link.source


def _relation(link: Link, id: str) -> str:
    if link.kind == "related":
        return "related"
    return "the original" if link.source == id else "a duplicate of this"
