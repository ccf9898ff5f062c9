"""The start page: which archives there are."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from askalike.service.pages.people import who
from askalike.service.pages.rendering import page

router = APIRouter()


@router.get("/")
async def get_start(request: Request) -> Response:
    """The archives that somebody may search."""
    desks = [desk for desk in request.app.state.desks.values() if who(request, desk)]
    if not desks:
        return RedirectResponse("/login", 303)
    sizes = {desk: await desk.store(lambda archive: len(archive.view())) for desk in desks}
    return page(request, "start.html", sizes=sizes)
