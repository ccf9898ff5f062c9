"""The start page: which archives there are."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from askalike.service.pages.people import get_page_user
from askalike.service.pages.rendering import render_page

router = APIRouter()


@router.get("/")
async def get_start(request: Request) -> Response:
    """The archives that somebody may search."""
    served_archives = [
        served_archive
        for served_archive in request.app.state.served_archives.values()
        if get_page_user(request, served_archive)
    ]
    if not served_archives:
        return RedirectResponse("/login", 303)
    sizes = {
        served_archive: await served_archive.run_on_archive(lambda archive: len(archive.view()))
        for served_archive in served_archives
    }
    return render_page(request, "start.html", sizes=sizes)
