"""The user of a page, and login: people exchange a key for a session, whose cookie no script can read."""

import hashlib
import re
from functools import partial
from typing import Annotated
from urllib.parse import quote, unquote

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import RedirectResponse, Response

from askalike.service.authorization import ArchiveName, admit, enforce_rate_limit, find_archive, require_scope
from askalike.service.pages import forms
from askalike.service.pages.forms import SubmittedForm, is_https
from askalike.service.pages.languages import to_local_path
from askalike.service.pages.rendering import render_page
from askalike.service.request_state import Caller, app_state
from askalike.service.served_archive import ServedArchive
from askalike.store.keys import begin_session, end_session, session_key, verify_key

ARCHIVE_PATH = re.compile(r"/a/([^/?#]+)")
router = APIRouter()


def session_cookie_name(request: Request, archive: ServedArchive) -> str:
    """Return the name of the cookie that holds the session of an archive."""
    prefix = "__Host-" if is_https(request) else ""
    return f"{prefix}session-{hashlib.blake2b(archive.name.encode(), digest_size=6).hexdigest()}"


def find_caller(request: Request, archive: ServedArchive) -> Caller | None:
    """Return the caller who opens a page of an archive; None if they have to log in."""
    secret = request.cookies.get(session_cookie_name(request, archive))
    key = session_key(archive.key_archive, secret) if secret else None
    settings = app_state(request).settings
    if key or settings.keyless:
        return Caller(archive, key)
    return Caller(archive, None, visitor=True) if settings.public else None


async def identify_visitor(request: Request, name: ArchiveName) -> Caller:
    """Return the caller who opens a page; redirect to the login page unless logged in or the pages are public."""
    archive = find_archive(request, name)
    caller = find_caller(request, archive)
    admit(request, archive, caller)
    if caller is None:
        raise _login_redirect(request)
    return caller


async def identify_user(request: Request, caller: Annotated[Caller, Depends(identify_visitor)]) -> Caller:
    """Return the caller who opens a page; redirect to the login page unless they are logged in."""
    if caller.visitor:
        raise _login_redirect(request)
    return caller


def _login_redirect(request: Request) -> HTTPException:
    """Return the redirect to the login page, which leads back; htmx needs its own header for that."""
    next = request.url.path if request.method == "GET" else "/"
    location = f"/login?next={quote(next)}"
    status, header = (401, "hx-redirect") if "hx-request" in request.headers else (303, "location")
    return HTTPException(status, "log in first", {header: location})


VisitedArchive = Annotated[ServedArchive, Depends(require_scope("read", identify_visitor))]
"""The archive, for people who may search and read it, and for anybody if the pages are public."""
UserArchive = Annotated[ServedArchive, Depends(require_scope("read", identify_user))]
"""The archive, for people who may search it and give feedback."""
WriterArchive = Annotated[ServedArchive, Depends(require_scope("write", identify_user))]
"""The archive, for people who may change its texts."""
ModeratorArchive = Annotated[ServedArchive, Depends(require_scope("moderate", identify_user))]
"""The archive, for people who may decide on duplicates, gaps and drafts."""

OperatorArchive = Annotated[ServedArchive, Depends(require_scope("manage", identify_user))]
"""The archive, for people who look after it."""


@router.get("/")
async def get_start(request: Request) -> Response:
    """Show the archives that the person may search, or the login page if there are none."""
    archives = [archive for archive in app_state(request).archives.values() if find_caller(request, archive)]
    if not archives:
        return RedirectResponse("/login", 303)
    sizes = {archive: await archive.run_on_store(lambda store: len(store.view())) for archive in archives}
    return render_page(request, "start.html", sizes=sizes)


@router.get("/login")
async def get_login(request: Request, next: Annotated[str, Query(max_length=2_000)] = "/") -> Response:
    """Show the form that asks for a key.

    A link on another site brings no session with it; a page of this service that opens the address again does.
    """
    path = to_local_path(next)
    if request.headers.get("sec-fetch-site") == "cross-site":
        return render_page(request, "continue.html", next=path)
    return render_page(request, "login.html", next=path, archive_to_open=_archive_of_path(request, path), wrong=False)


@router.post("/login")
async def post_login(request: Request, form: SubmittedForm) -> Response:
    """Begin a session for the archive that the person wants to open, else for each that the key is valid for."""
    enforce_rate_limit(request)
    text = form.value("key").strip()
    next = to_local_path(form.value("next"))
    opened = _archive_of_path(request, next)
    archives = [opened] if opened else app_state(request).archives.values()
    keys = {archive: key for archive in archives if (key := verify_key(archive.key_archive, text))}
    if not keys:
        return render_page(request, "login.html", 401, next=next, archive_to_open=opened, wrong=True)
    response = RedirectResponse(next, 303)
    hours = app_state(request).settings.session_hours
    for archive, key in keys.items():
        secret = await archive.run_on_store(partial(begin_session, key=key, hours=hours))
        name = session_cookie_name(request, archive)
        max_age_s = int(hours * 3600)
        response.set_cookie(name, secret, max_age_s, httponly=True, secure=forms.is_https(request), samesite="strict")
    forms.renew_secret(request, response, forms.create_secret())
    return response


@router.post("/logout")
async def post_logout(request: Request, form: SubmittedForm) -> Response:
    """End this browser's session for the archive named in the form, else for all."""
    response = RedirectResponse("/", 303)
    named = form.value("archive")
    for archive in app_state(request).archives.values():
        if named and archive.name != named:
            continue
        name = session_cookie_name(request, archive)
        if secret := request.cookies.get(name):
            await archive.run_on_store(partial(end_session, secret=secret))
            response.delete_cookie(name, httponly=True, secure=forms.is_https(request))
    return response


def _archive_of_path(request: Request, path: str) -> ServedArchive | None:
    match = ARCHIVE_PATH.match(unquote(path))
    return app_state(request).archives.get(match[1]) if match else None
