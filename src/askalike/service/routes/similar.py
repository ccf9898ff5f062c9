"""`similar`: the questions of an archive that ask the same as one that is being typed."""

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from askalike.service.requests.actions import search_similar
from askalike.service.requests.auth import SearchableArchive
from askalike.service.requests.schema import SimilarQuestion, SimilarRequest
from askalike.service.state.served_archive import ServedArchive

router = APIRouter(tags=["search"])


class SimilarResponse(BaseModel):
    """The similar questions, best first; `abstained` where there are none."""

    results: list[SimilarQuestion]
    abstained: bool
    model: str
    took_ms: float


@router.get("/similar")
async def get_similar(
    served_archive: SearchableArchive, request: Request, query: Annotated[SimilarRequest, Query()]
) -> SimilarResponse:
    """Return the archive's questions most similar to the one that is typed, best first."""
    return await _search(served_archive, request, query)


@router.post("/similar")
async def post_similar(served_archive: SearchableArchive, request: Request, query: SimilarRequest) -> SimilarResponse:
    """Return the same for texts too long, or too private, for an address. Changes nothing."""
    return await _search(served_archive, request, query)


async def _search(served_archive: ServedArchive, request: Request, query: SimilarRequest) -> SimilarResponse:
    start = time.perf_counter()
    model, hits = await search_similar(served_archive, request, query)
    took_ms = round(1000 * (time.perf_counter() - start), 2)
    results = [SimilarQuestion.from_hit(hit, query.explain) for hit in hits]
    return SimilarResponse(results=results, abstained=not hits, model=model, took_ms=took_ms)
