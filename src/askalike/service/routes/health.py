"""`/healthz` and `/readyz`, for whoever watches over the service."""

from fastapi import APIRouter, Request

from askalike.service.requests.schema import Health, IndexLag, Readiness

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz(request: Request) -> Health:
    """The process answers."""
    return Health(status="alive", archives=list(request.app.state.served_archives))


@router.get("/readyz")
async def readyz(request: Request) -> Readiness:
    """Every archive can be searched and read; 503 where one of them keeps requests waiting too long."""
    index: dict[str, IndexLag] = {}
    for name, served_archive in request.app.state.served_archives.items():
        await served_archive.run_on_engine(lambda engine: engine.search("", 1))
        now = await served_archive.index_status()
        index[name] = IndexLag(behind=now.behind, lag_s=round(now.lag_s, 3))
    return Readiness(status="ready", archives=list(index), index=index)
