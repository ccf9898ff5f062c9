"""`similar`: the questions of an archive that ask the same as one that is being typed."""

import time
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, HTTPException, Query, Request

from askalike.engines.local import LocalEngine
from askalike.service.middleware.tracing import add_log_fields
from askalike.service.requests.auth import SearchableArchive
from askalike.service.requests.schema import MatchedWord, SimilarQuestion, SimilarRequest, SimilarResponse
from askalike.service.routes import metrics
from askalike.service.state.served_archive import ServedArchive
from askalike.text.analyzer import Analyzer
from askalike.types import Explanation, Filter, SearchHit

router = APIRouter(tags=["search"])


@router.get("/similar")
async def get_similar(
    served_archive: SearchableArchive, request: Request, query: Annotated[SimilarRequest, Query()]
) -> SimilarResponse:
    """The archive's questions most like the one that is typed, best first."""
    return await _build_response(served_archive, request, query)


@router.post("/similar")
async def post_similar(served_archive: SearchableArchive, request: Request, query: SimilarRequest) -> SimilarResponse:
    """The same for texts too long, or too private, for an address. Changes nothing."""
    return await _build_response(served_archive, request, query)


async def _build_response(
    served_archive: SearchableArchive, request: Request, query: SimilarRequest
) -> SimilarResponse:
    started = time.perf_counter()
    model, matches = await search_similar(served_archive, request, query)
    took_ms = round(1000 * (time.perf_counter() - started), 2)
    return SimilarResponse(
        results=to_similar_questions(matches, query.explain), abstained=not matches, model=model, took_ms=took_ms
    )


async def search_similar(
    served_archive: ServedArchive, request: Request, query: SimilarRequest
) -> tuple[str, Sequence[SearchHit]]:
    """The ranker's name, and what it finds; the search is counted and timed."""
    started = time.perf_counter()
    model, matches = await served_archive.run_on_engine(lambda engine: (engine.ranker.name, _search(engine, query)))
    metrics.SEARCH_SECONDS.labels(served_archive.name).observe(time.perf_counter() - started)
    if not matches:
        metrics.ABSTENTIONS.labels(served_archive.name).inc()
        if not Analyzer().analyze(f"{query.title} {query.body}", None):
            metrics.ZERO_TOKEN_QUERIES.labels(served_archive.name).inc()
    elif matches[0].probability is not None:
        metrics.TOP_PROBABILITY.labels(served_archive.name).observe(matches[0].probability)
    add_log_fields(request, archive=served_archive.name, found=len(matches))
    return model, matches


def _search(engine: LocalEngine, query: SimilarRequest) -> Sequence[SearchHit]:
    if query.min_probability is not None and engine.calibration is None:
        model, name = engine.ranker.name, engine.archive.path.name
        raise HTTPException(
            422, f"min_probability: {model} is not calibrated on {name}, its scores are no probabilities"
        )
    where, least = Filter(tuple(query.tags), None, query.before), query.min_probability
    return engine.search(
        query.title, query.k, body=query.body, filter=where, prefix=query.prefix, min_probability=least
    )


def to_similar_questions(matches: Sequence[SearchHit], explain: bool = False) -> list[SimilarQuestion]:
    """Matches as they are given out."""
    return [_to_similar_question(match, explain) for match in matches]


def format_confidence(probability: float | None) -> str:
    """A probability as people read it."""
    return "uncalibrated" if probability is None else f"{probability:.0%}"


def _to_similar_question(match: SearchHit, explain: bool) -> SimilarQuestion:
    question, reason = match.question, match.explanation or Explanation(match.score)
    return SimilarQuestion(
        id=question.id,
        title=question.title,
        url=safe_web_url(question.url),
        tags=list(question.tags),
        snippet=match.snippet,
        score=match.score,
        probability=match.probability,
        calibrated=match.probability is not None,
        confidence=format_confidence(match.probability),
        words=list(dict.fromkeys(c.word for c in reason.contributions)),
        matched=_to_matched_words(reason) if explain else None,
    )


def _to_matched_words(explanation: Explanation) -> list[MatchedWord]:
    return [MatchedWord(word=c.word, fields=list(c.fields), score=c.score) for c in explanation.contributions]


def safe_web_url(url: str | None) -> str | None:
    """An address that a page may link to: of the web, and nothing that runs."""
    try:
        return url if url and urlsplit(url).scheme in ("http", "https") else None
    except ValueError:
        return None
