"""`/healthz` and `/readyz`, for whoever watches over the service."""

from fastapi import APIRouter, Request

from askalike.service.schema import Health

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz(request: Request) -> Health:
    """The process answers."""
    return Health(status="alive", archives=list(request.app.state.desks))


@router.get("/readyz")
async def readyz(request: Request) -> Health:
    """Every archive can be searched and read; 503 where one of them keeps requests waiting too long."""
    for desk in request.app.state.desks.values():
        await desk.search(lambda engine: engine.search("", 1))
        await desk.store(lambda archive: archive.view().change)
    return Health(status="ready", archives=list(request.app.state.desks))
