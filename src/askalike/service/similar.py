"""`similar`: the questions of an archive that ask the same as one that is being typed."""

import time
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, HTTPException, Query, Request

from askalike.engines.local import Local
from askalike.service import metrics
from askalike.service.desk import Desk
from askalike.service.places import Searchable
from askalike.service.schema import Asked, MatchedWord, Result, Similar
from askalike.service.tracing import note
from askalike.text.analyzer import Analyzer
from askalike.types import Explanation, Filter, Match

router = APIRouter(tags=["search"])


@router.get("/similar")
async def get_similar(desk: Searchable, request: Request, asked: Annotated[Asked, Query()]) -> Similar:
    """The archive's questions most like the one that is typed, best first."""
    return await _similar(desk, request, asked)


@router.post("/similar")
async def post_similar(desk: Searchable, request: Request, asked: Asked) -> Similar:
    """The same for texts too long, or too private, for an address. Changes nothing."""
    return await _similar(desk, request, asked)


async def _similar(desk: Searchable, request: Request, asked: Asked) -> Similar:
    started = time.perf_counter()
    model, matches = await found(desk, request, asked)
    took_ms = round(1000 * (time.perf_counter() - started), 2)
    return Similar(results=results(matches, asked.explain), abstained=not matches, model=model, took_ms=took_ms)


async def found(desk: Desk, request: Request, asked: Asked) -> tuple[str, Sequence[Match]]:
    """The ranker's name, and what it finds; the search is counted and timed."""
    started = time.perf_counter()
    model, matches = await desk.search(lambda engine: (engine.ranker.name, _found(engine, asked)))
    metrics.SEARCH.labels(desk.name).observe(time.perf_counter() - started)
    if not matches:
        metrics.ABSTAINED.labels(desk.name).inc()
        if not Analyzer().tokens(f"{asked.title} {asked.body}", None):
            metrics.NO_WORD.labels(desk.name).inc()
    elif matches[0].probability is not None:
        metrics.TOP.labels(desk.name).observe(matches[0].probability)
    note(request, archive=desk.name, found=len(matches))
    return model, matches


def _found(engine: Local, asked: Asked) -> Sequence[Match]:
    if asked.min_probability is not None and engine.calibration is None:
        model, name = engine.ranker.name, engine.archive.path.name
        raise HTTPException(
            422, f"min_probability: {model} is not calibrated on {name}, its scores are no probabilities"
        )
    where, least = Filter(tuple(asked.tags), None, asked.before), asked.min_probability
    return engine.search(asked.title, asked.k, body=asked.body, where=where, prefix=asked.prefix, min_probability=least)


def results(matches: Sequence[Match], explain: bool = False) -> list[Result]:
    """Matches as they are given out."""
    return [_result(match, explain) for match in matches]


def confidence(probability: float | None) -> str:
    """A probability as people read it."""
    return "uncalibrated" if probability is None else f"{probability:.0%}"


def _result(match: Match, explain: bool) -> Result:
    question, reason = match.question, match.explanation or Explanation(match.score)
    return Result(
        id=question.id,
        title=question.title,
        url=web_address(question.url),
        tags=list(question.tags),
        snippet=match.snippet,
        score=match.score,
        probability=match.probability,
        calibrated=match.probability is not None,
        confidence=confidence(match.probability),
        words=list(dict.fromkeys(c.word for c in reason.contributions)),
        matched=_matched(reason) if explain else None,
    )


def _matched(reason: Explanation) -> list[MatchedWord]:
    return [MatchedWord(word=c.word, fields=list(c.fields), score=c.score) for c in reason.contributions]


def web_address(url: str | None) -> str | None:
    """An address that a page may link to: of the web, and nothing that runs."""
    try:
        return url if url and urlsplit(url).scheme in ("http", "https") else None
    except ValueError:
        return None
