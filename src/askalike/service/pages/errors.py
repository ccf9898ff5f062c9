"""What went wrong, as a page, or where a page asked for a part of itself, as a line."""

from collections.abc import Mapping

from fastapi import Request
from fastapi.responses import HTMLResponse

from askalike.service.pages.rendering import render_page
from askalike.service.requests.schema import Problem

STATUS_MESSAGES = {
    403: "That is not open to you",
    404: "There is nothing here",
    429: "Slow down a little",
    503: "Too busy just now",
}


def wants_html(request: Request) -> bool:
    """Whether a person waits for the answer: a browser opens a page, or a page of ours asks."""
    wants = "text/html" in request.headers.get("accept", "") or "hx-request" in request.headers
    return wants and not request.url.path.startswith("/v1/")


def render_error_page(request: Request, problem: Problem, headers: Mapping[str, str] | None) -> HTMLResponse:
    """The page that says what is wrong, and under which id the log has it."""
    template = "parts/error.html" if "hx-request" in request.headers else "error.html"
    said = STATUS_MESSAGES.get(problem.status, problem.title)
    response = render_page(request, template, problem.status, problem=problem, said=said)
    response.headers.update(headers or {})
    return response
