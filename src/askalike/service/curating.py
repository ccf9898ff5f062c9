"""`duplicates` and `gaps`: what is known to be the same, and what is asked without an answer."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from askalike.archive.store import Archive
from askalike.curation.gaps import gaps
from askalike.service.places import Moderated, Readable
from askalike.service.schema import Most

router = APIRouter(tags=["curation"])
From = Annotated[int, Query(ge=0, le=2**53, description="as many are left out first")]


class Duplicate(BaseModel):
    """A question that was closed as a duplicate, and its original."""

    source: str
    source_title: str
    target: str
    target_title: str
    created_at: str | None


class Duplicates(BaseModel):
    """Known duplicates, the latest questions first; `total` of them in the archive."""

    duplicates: list[Duplicate]
    total: int


class GapFound(BaseModel):
    """A question asked `times` times for which nothing was found, or nothing that helped."""

    title: str
    times: int
    last_asked_at: str


class Gaps(BaseModel):
    """What is asked without an answer, most often first."""

    gaps: list[GapFound]


@router.get("/duplicates")
async def get_duplicates(desk: Readable, k: Most = 50, start: From = 0) -> Duplicates:
    """The duplicate links that the archive knows of."""
    return await desk.store(lambda archive: _duplicates(archive, k, start))


@router.get("/gaps")
async def get_gaps(desk: Moderated, k: Most = 50) -> Gaps:
    """The questions that were asked and found nothing, or nothing that helped."""
    found = await desk.store(gaps)
    return Gaps(gaps=[GapFound(title=g.title, times=g.times, last_asked_at=g.last_asked_at) for g in found[:k]])


def _duplicates(archive: Archive, k: int, start: int) -> Duplicates:
    known = "FROM links l JOIN questions s ON s.id = l.source JOIN questions t ON t.id = l.target "
    kind = "WHERE l.kind = 'duplicate' "
    sql = f"SELECT s.id, s.title, t.id, t.title, l.created_at {known}{kind}ORDER BY s.number DESC, t.number LIMIT ?, ?"
    rows = archive.connection.execute(sql, (start, k))
    found = [Duplicate(**dict(zip(Duplicate.model_fields, row, strict=True))) for row in rows]
    return Duplicates(
        duplicates=found, total=archive.connection.execute(f"SELECT COUNT(*) {known}{kind}").fetchone()[0]
    )
