"""The start page: which archives there are."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from askalike.service.pages.auth import find_caller
from askalike.service.pages.rendering import render_page
from askalike.service.requests.context import app_state

router = APIRouter()


@router.get("/")
async def get_start(request: Request) -> Response:
    """Show the archives that the person may search, or the login page where there are none."""
    served_archives = [a for a in app_state(request).served_archives.values() if find_caller(request, a)]
    if not served_archives:
        return RedirectResponse("/login", 303)
    sizes = {a: await a.run_on_archive(lambda archive: len(archive.view())) for a in served_archives}
    return render_page(request, "start.html", sizes=sizes)
