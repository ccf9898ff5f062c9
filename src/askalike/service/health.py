"""`/healthz` and `/readyz`, for whoever watches over the service."""

from fastapi import APIRouter, Request

from askalike.service.schema import Health, Lag, Readiness

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz(request: Request) -> Health:
    """The process answers."""
    return Health(status="alive", archives=list(request.app.state.desks))


@router.get("/readyz")
async def readyz(request: Request) -> Readiness:
    """Every archive can be searched and read; 503 where one of them keeps requests waiting too long."""
    index: dict[str, Lag] = {}
    for name, desk in request.app.state.desks.items():
        await desk.search(lambda engine: engine.search("", 1))
        now = await desk.following()
        index[name] = Lag(behind=now.behind, lag_s=round(now.lag_s, 3))
    return Readiness(status="ready", archives=list(index), index=index)
