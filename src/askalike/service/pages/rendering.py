"""Renders pages from templates: all text is escaped, and every page has a content security policy."""

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from askalike.core.counts import format_count
from askalike.service.pages import charts, display, forms
from askalike.service.pages.assets import static_url
from askalike.service.pages.marking import highlight, mark_stretches, render_difference
from askalike.service.requests.context import request_state
from askalike.service.requests.schema import Problem

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # without a referrer browsers send forms with the origin "null"
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "private, no-cache",
}
ERROR_HEADINGS = {
    403: "You may not open this page",
    404: "Page not found",
    429: "Too many requests",
    503: "The service is busy",
}


def render_page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return the page, or part of one, that a template renders from the values."""
    secret, caller = forms.get_visitor_secret(request), request_state(request).caller
    context = {"request": request, "csrf": forms.csrf_token(secret), "user": caller} | values
    response = HTMLResponse(create_environment().get_template(template).render(context), status, SECURITY_HEADERS)
    if caller and caller.key:
        response.headers["cache-control"] = "no-store"  # somebody else may use this browser next
    forms.remember_secret(request, response, secret)
    return response


def render_error_page(request: Request, problem: Problem, headers: Mapping[str, str] | None) -> HTMLResponse | None:
    """Return the page, or for htmx the line, that shows the error; None if the response is not for a browser."""
    is_partial = is_htmx(request)
    if not (is_partial or "text/html" in request.headers.get("accept", "")) or request.url.path.startswith("/v1/"):
        return None
    template = "parts/error.html" if is_partial else "error.html"
    heading = ERROR_HEADINGS.get(problem.status, problem.title)
    response = render_page(request, template, problem.status, problem=problem, heading=heading)
    response.headers.update(headers or {})
    return response


def is_htmx(request: Request) -> bool:
    """Return whether one of our pages requests a part of itself."""
    return "hx-request" in request.headers


def archive_url(archive: str) -> str:
    """Return the URL of an archive's first page."""
    return f"/a/{quote(archive, safe='')}"


@cache
def create_environment() -> Environment:
    """Return the environment of the templates, with their functions and filters."""
    loader = PackageLoader("askalike.service.pages")
    env = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    env.globals |= {"static": static_url, "home": archive_url, "icon": display.render_icon, "charts": charts}
    env.filters |= {
        "marked": highlight,
        "with_formulas": lambda text: highlight(text, ()),
        "with_stretches": mark_stretches,
        "titled": display.display_title,
        "lang": display.lang_attribute,
        "prose": display.render_body,
        "percent": display.format_percent,
        "day": display.format_day,
        "minute": display.format_minute,
        "difference": render_difference,
        "counted": format_count,
        "quoted": lambda text: quote(text, safe=""),
    }
    return env
