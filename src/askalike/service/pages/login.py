"""Logging in: people exchange a key for a session, which a cookie holds that no script can read."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from askalike.service.pages import tokens
from askalike.service.pages.people import SubmittedForm, session_cookie_name
from askalike.service.pages.rendering import render_page
from askalike.service.requests.auth import enforce_rate_limit
from askalike.service.state.served_archive import ServedArchive
from askalike.store import sessions
from askalike.store.keys import ApiKey

router = APIRouter()


@router.get("/login")
async def get_login(request: Request, next: Annotated[str, Query(max_length=2_000)] = "/") -> Response:
    """The form that asks for a key."""
    return render_page(request, "login.html", next=to_local_path(next), wrong=False)


@router.post("/login")
async def post_login(request: Request, form: SubmittedForm) -> Response:
    """Begins a session at each archive that the key is good for."""
    enforce_rate_limit(request)
    text, next = form.value("key").strip(), to_local_path(form.value("next"))
    good = {
        served_archive: key
        for served_archive in request.app.state.served_archives.values()
        if (key := served_archive.verify_key(text))
    }
    if not good:
        return render_page(request, "login.html", 401, next=next, wrong=True)
    response = RedirectResponse(next, 303)
    for served_archive, key in good.items():
        await _begin_session(request, response, served_archive, key)
    tokens.renew_secret(request, response, tokens.create_secret())
    return response


@router.post("/logout")
async def post_logout(request: Request, form: SubmittedForm) -> Response:
    """Ends this browser's sessions."""
    response = RedirectResponse("/", 303)
    for served_archive in request.app.state.served_archives.values():
        if secret := request.cookies.get(session_cookie_name(request, served_archive)):
            await served_archive.run_on_archive(partial(sessions.end_session, secret=secret))
            response.delete_cookie(
                session_cookie_name(request, served_archive), httponly=True, secure=tokens.is_https(request)
            )
    return response


def to_local_path(next: str) -> str:
    """An address of this service, else the start page."""
    plain = next.startswith("/") and not next.startswith("//") and not set(next) & set("\\\r\n\t")
    return next if plain else "/"


async def _begin_session(request: Request, response: Response, served_archive: ServedArchive, key: ApiKey) -> None:
    hours = request.app.state.settings.session_hours
    secret = await served_archive.run_on_archive(partial(sessions.begin_session, key=key, hours=hours))
    name, age = session_cookie_name(request, served_archive), int(hours * 3600)
    response.set_cookie(name, secret, age, httponly=True, secure=tokens.is_https(request), samesite="strict")
