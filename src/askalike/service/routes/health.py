"""`/healthz` and `/readyz`, for monitoring."""

from fastapi import APIRouter, Request
from pydantic import BaseModel

from askalike.service.requests.context import app_state

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """Whether the service is alive, or ready."""

    status: str
    archives: list[str]


class IndexLag(BaseModel):
    """How many changes of an archive cannot be searched yet, and how long the oldest of them has waited."""

    behind: int
    lag_s: float


class Readiness(Health):
    """That every archive answers, and how far its index is."""

    index: dict[str, IndexLag]


@router.get("/healthz")
async def healthz(request: Request) -> Health:
    """Say that the process answers."""
    return Health(status="alive", archives=list(app_state(request).served_archives))


@router.get("/readyz")
async def readyz(request: Request) -> Readiness:
    """Say that every archive can be searched and read; 503 where one of them keeps requests waiting too long."""
    index: dict[str, IndexLag] = {}
    for name, served_archive in app_state(request).served_archives.items():
        await served_archive.run_on_engine(lambda engine: engine.search("", 1))
        status = await served_archive.index_status()
        index[name] = IndexLag(behind=status.behind, lag_s=round(status.lag_s, 3))
    return Readiness(status="ready", archives=list(index), index=index)
