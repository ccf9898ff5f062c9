"""Pages from templates: every text is escaped, and every page says what a browser may do with it."""

from functools import cache
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from askalike.service.pages import charts, tokens
from askalike.service.pages.assets import static_url
from askalike.service.pages.display import (
    display_title,
    format_day,
    format_percent,
    lang_attribute,
    render_body,
    render_icon,
)
from askalike.service.pages.marking import highlight, highlight_differences

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
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


def render_page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """The page, or the part of one, that a template makes of the values."""
    secret, who = tokens.get_visitor_secret(request), getattr(request.state, "who", None)
    context = {"request": request, "csrf": tokens.csrf_token(secret), "who": who} | values
    response = HTMLResponse(create_environment().get_template(template).render(context), status, SECURITY_HEADERS)
    if who and who.key:
        response.headers["cache-control"] = "no-store"  # the next one at this browser may be somebody else
    tokens.remember_secret(request, response, secret)
    return response


def archive_url(archive: str) -> str:
    """The address of an archive's first page."""
    return f"/a/{quote(archive, safe='')}"


@cache
def create_environment() -> Environment:
    """Where templates are found, and what they may call."""
    made = Environment(
        loader=PackageLoader("askalike.service.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"static": static_url, "home": archive_url, "icon": render_icon, "charts": charts}
    made.filters |= {
        "marked": highlight,
        "only_here": highlight_differences,
        "titled": display_title,
        "lang": lang_attribute,
    }
    made.filters |= {"shown": render_body, "percent": format_percent, "day": format_day}
    made.filters["quoted"] = lambda text: quote(text, safe="")
    return made
