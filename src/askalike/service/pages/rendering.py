"""Pages from templates: every text is escaped, and every page says what a browser may do with it."""

from functools import cache
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from askalike.service.pages import charts, tokens
from askalike.service.pages.assets import address
from askalike.service.pages.marking import marked, only_here
from askalike.service.pages.shown import day, icon, lang, percent, shown, titled

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # without a referrer browsers send forms with the origin "null"
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "private, no-cache",
}


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """The page, or the part of one, that a template makes of the values."""
    secret, who = tokens.visitor(request), getattr(request.state, "who", None)
    context = {"request": request, "csrf": tokens.of(secret), "who": who} | values
    response = HTMLResponse(environment().get_template(template).render(context), status, HEADERS)
    if who and who.key:
        response.headers["cache-control"] = "no-store"  # the next one at this browser may be somebody else
    tokens.remember(request, response, secret)
    return response


def home(archive: str) -> str:
    """The address of an archive's first page."""
    return f"/a/{quote(archive, safe='')}"


@cache
def environment() -> Environment:
    """Where templates are found, and what they may call."""
    made = Environment(
        loader=PackageLoader("askalike.service.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"static": address, "home": home, "icon": icon, "charts": charts}
    made.filters |= {"marked": marked, "only_here": only_here, "titled": titled, "lang": lang}
    made.filters |= {"shown": shown, "percent": percent, "day": day}
    made.filters["quoted"] = lambda text: quote(text, safe="")
    return made
