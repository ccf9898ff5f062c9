"""Renders pages from templates: all text is escaped, and every page has a content security policy.

The style, script and icon of the pages are compressed once, and cached by browsers until they change."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from askalike.core.values import safe_url
from askalike.service.pages import display, forms, languages
from askalike.service.pages.display import highlight, mark_stretches, render_difference
from askalike.service.pages.languages import mark
from askalike.service.request_state import request_state
from askalike.service.schema import Problem

router = APIRouter()
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
IMMUTABLE_CACHE = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A static file, plain and compressed."""

    content: bytes
    gzipped: bytes
    version: str
    media_type: str


@cache
def load_static_file(name: str) -> StaticFile:
    """Return a file of `static/`. Raises KeyError for any other."""
    content = list_static_files()[name].read_bytes()
    version = hashlib.sha256(content).hexdigest()[:12]
    return StaticFile(content, gzip.compress(content, 9, mtime=0), version, MEDIA_TYPES[PurePath(name).suffix])


def static_url(name: str) -> str:
    """Return the URL of a file, which changes with its content."""
    return f"/static/{name}?v={load_static_file(name).version}"


@router.get("/static/{name:path}")
async def get_static(request: Request, name: str) -> Response:
    """Return a static file."""
    try:
        file = load_static_file(name)
    except KeyError:
        raise HTTPException(404, f"no file {name!r}") from None
    zipped = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"cache-control": IMMUTABLE_CACHE, "vary": "accept-encoding", "x-content-type-options": "nosniff"}
    if zipped:
        headers["content-encoding"] = "gzip"
    return Response(file.gzipped if zipped else file.content, 200, headers, file.media_type)


@cache
def list_static_files() -> Mapping[str, Traversable]:
    """Return every file below `static/` that browsers load, by its path in it."""
    found: dict[str, Traversable] = {}
    folders = [("", files("askalike.service.pages") / "static")]
    for path, folder in folders:
        for entry in folder.iterdir():
            if entry.is_dir():
                folders.append((f"{path}{entry.name}/", entry))
            elif PurePath(entry.name).suffix in MEDIA_TYPES:
                found[f"{path}{entry.name}"] = entry
    return found


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
    "vary": "accept-language, cookie",
}
ERROR_HEADINGS = {
    403: mark("You may not open this page"),
    404: mark("Page not found"),
    429: mark("Too many requests"),
    503: mark("The service is busy"),
}


def render_page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return the page, or part of one, that a template renders from the values."""
    secret = forms.get_visitor_secret(request)
    caller = request_state(request).caller
    languages.use_language(languages.choose_language(request, caller.archive.language if caller else None))
    place = f"{request.url.path}?{request.url.query}" if request.method == "GET" else "/"
    context = {"request": request, "csrf": forms.csrf_token(secret), "user": caller, "place": place} | values
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


def pair_url(archive: str, one: str, other: str) -> str:
    """Return the URL of the page that compares two questions."""
    return f"{archive_url(archive)}/why?{urlencode({'one': one, 'other': other})}"


@cache
def create_environment() -> Environment:
    """Return the environment of the templates, with their functions and filters."""
    loader = PackageLoader("askalike.service.pages")
    env = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    env.add_extension("jinja2.ext.i18n")
    env.install_gettext_callables(  # type: ignore[attr-defined]
        languages.translate, languages.translate_count, newstyle=True
    )
    env.globals |= {"static": static_url, "home": archive_url, "pair_url": pair_url, "icon": display.render_icon}
    env.globals |= {"language": languages.current_language, "languages": languages.LANGUAGES}
    env.globals["code"] = Markup("<code>{}</code>").format
    env.filters |= {
        "marked": highlight,
        "with_formulas": lambda text: highlight(text, ()),
        "with_stretches": mark_stretches,
        "titled": display.display_title,
        "lang": display.lang_attribute,
        "prose": display.render_body,
        "percent": languages.format_percent,
        "number": languages.format_number,
        "bytes": languages.format_bytes,
        "day": languages.format_day,
        "language_name": languages.name_language,
        "minute": languages.format_minute,
        "solution": display.describe_solution,
        "difference": render_difference,
        "quoted": lambda text: quote(text, safe=""),
        "safe_url": safe_url,
    }
    return env
