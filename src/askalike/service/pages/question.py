"""*Question*: a question with its answers, its duplicates, why they are thought to be ones, and its revisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fastapi import APIRouter, Request, Response

from askalike.core.addresses import safe_url
from askalike.core.types import Explanation, Question, SearchHit
from askalike.search.local import LocalEngine
from askalike.service.pages.auth import VisitedArchive
from askalike.service.pages.correction import TAG_SEPARATOR, text_version
from askalike.service.pages.reasons import ExplanationSummary, summarise_explanation
from askalike.service.pages.rendering import render_page
from askalike.service.requests.actions import QuestionDetails, load_question
from askalike.service.requests.context import request_state
from askalike.service.state.served_archive import ServedArchive
from askalike.store.revisions import Revision, get_revisions
from askalike.text.clean import plain_text

router = APIRouter()
Relations = dict[str, str]
"""Id of a linked question → its relation to the one that is shown."""
RELATED = "related"
MAX_SIMILAR, MAX_REVISIONS = 5, 20
MIN_PROBABILITY = 0.1
"""Minimum probability of asking the same at which a question is listed next to another."""
MAX_QUERY_BODY_LENGTH = 1_000
"""Maximum number of characters of a body that the search for similar questions uses."""


@dataclass(frozen=True, slots=True)
class RelatedQuestion:
    """A question that is listed next to the one shown."""

    question: Question
    relation: str
    why: ExplanationSummary
    probability: float | None = None
    """The probability that both ask the same; None for a linked question, or without a calibration."""
    similarity: float | None = None
    """Without a calibration: the similarity, on the same scale for every question."""


@router.get("/a/{archive}/questions/{id:path}")
async def get_question(archive: VisitedArchive, request: Request, id: str, saved: bool = False) -> Response:
    """Show a question."""
    details = await archive.run_on_store(lambda store: load_question(store, id))
    relations, question = _relations(details), details.question
    others = await archive.run_on_store(lambda store: store.view().get_questions(relations))
    linked = await archive.run_on_engine(lambda engine: _explain_links(engine, question, relations, others))
    return render_page(
        request,
        "question.html",
        question=question,
        answers=details.answers,
        duplicates=[other for other in linked if other.relation != RELATED],
        related=[other for other in linked if other.relation == RELATED],
        similar=await archive.run_on_engine(lambda engine: _find_similar(engine, question, relations)),
        url=safe_url(question.url),
        source=details.source,
        saved=saved,
        revisions=await _find_revisions(archive, request, id),
        version=text_version,
        tag_separator=TAG_SEPARATOR,
    )


async def _find_revisions(archive: ServedArchive, request: Request, id: str) -> Sequence[Revision]:
    """Return the latest revisions, only to callers who may correct: earlier texts may have been withdrawn."""
    caller = request_state(request).caller
    if not (caller and caller.may("write")):
        return ()
    return (await archive.run_on_store(lambda store: get_revisions(store, id)))[:MAX_REVISIONS]


def _relations(details: QuestionDetails) -> Relations:
    relations: Relations = {}
    for link in reversed(details.links):
        is_source = link.source == details.question.id
        duplicate = "the original" if is_source else "a duplicate of this"
        relations[link.target if is_source else link.source] = RELATED if link.kind == "related" else duplicate
    return relations


def _explain_links(
    engine: LocalEngine, question: Question, relations: Relations, others: Mapping[str, Question]
) -> list[RelatedQuestion]:
    explanations = engine.explain(question, list(relations))
    return [_relate(others[id], relation, explanations.get(id)) for id, relation in relations.items() if id in others]


def _find_similar(engine: LocalEngine, question: Question, relations: Relations) -> list[RelatedQuestion]:
    """Return the questions most similar to one, without those that it is linked to."""
    body = plain_text(question.body, question.markup)[:MAX_QUERY_BODY_LENGTH]
    hits = engine.find_similar(replace(question, body=body, markup="text"), MAX_SIMILAR + len(relations))
    others = [hit for hit in hits if hit.question.id not in relations and not _is_improbable(hit)][:MAX_SIMILAR]
    return [
        replace(
            _relate(hit.question, "similar", hit.explanation), probability=hit.probability, similarity=hit.similarity
        )
        for hit in others
    ]


def _is_improbable(hit: SearchHit) -> bool:
    """Return whether a hit is too improbable to be listed; applies if the calibration has no threshold."""
    return hit.probability is not None and hit.probability < MIN_PROBABILITY


def _relate(question: Question, relation: str, explanation: Explanation | None) -> RelatedQuestion:
    return RelatedQuestion(question, relation, summarise_explanation(explanation, question.language))
