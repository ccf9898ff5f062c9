"""The start page, and login: people exchange a key for a session, whose cookie no script can read."""

import re
from functools import partial
from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from askalike.service.pages import forms
from askalike.service.pages.auth import find_caller, session_cookie_name
from askalike.service.pages.forms import SubmittedForm
from askalike.service.pages.rendering import render_page
from askalike.service.requests.auth import enforce_rate_limit
from askalike.service.requests.context import app_state
from askalike.service.state.served_archive import ServedArchive
from askalike.store.keys import begin_session, end_session, verify_key

ARCHIVE_PATH = re.compile(r"/a/([^/?#]+)")
router = APIRouter()


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
    """Show the form that asks for a key."""
    path = to_local_path(next)
    return render_page(request, "login.html", next=path, archive_to_open=_archive_of_path(request, path), wrong=False)


@router.post("/login")
async def post_login(request: Request, form: SubmittedForm) -> Response:
    """Begin a session for the archive that the person wants to open, else for each that the key is valid for."""
    enforce_rate_limit(request)
    text, next = form.value("key").strip(), to_local_path(form.value("next"))
    wanted = _archive_of_path(request, next)
    archives = [wanted] if wanted else app_state(request).archives.values()
    keys = {archive: key for archive in archives if (key := verify_key(archive.key_archive, text))}
    if not keys:
        return render_page(request, "login.html", 401, next=next, archive_to_open=wanted, wrong=True)
    response, hours = RedirectResponse(next, 303), app_state(request).settings.session_hours
    for archive, key in keys.items():
        secret = await archive.run_on_store(partial(begin_session, key=key, hours=hours))
        name, max_age_s = session_cookie_name(request, archive), int(hours * 3600)
        response.set_cookie(name, secret, max_age_s, httponly=True, secure=forms.is_https(request), samesite="strict")
    forms.renew_secret(request, response, forms.create_secret())
    return response


@router.post("/logout")
async def post_logout(request: Request, form: SubmittedForm) -> Response:
    """End this browser's session for the archive named in the form, else for all."""
    response, named = RedirectResponse("/", 303), form.value("archive")
    for archive in app_state(request).archives.values():
        if named and archive.name != named:
            continue
        name = session_cookie_name(request, archive)
        if secret := request.cookies.get(name):
            await archive.run_on_store(partial(end_session, secret=secret))
            response.delete_cookie(name, httponly=True, secure=forms.is_https(request))
    return response


def _archive_of_path(request: Request, path: str) -> ServedArchive | None:
    """Return the archive that a path of this service belongs to; None if it belongs to none."""
    match = ARCHIVE_PATH.match(unquote(path))
    return app_state(request).archives.get(match[1]) if match else None


def to_local_path(next: str) -> str:
    """Return a path of this service unchanged, and the start page's for anything else."""
    is_local = next.startswith("/") and not next.startswith("//") and not set(next) & set("\\\r\n\t")
    return next if is_local else "/"
