"""Logging in: people exchange a key for a session, which a cookie holds that no script can read."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from askalike.archive import sessions
from askalike.archive.keys import Key
from askalike.service.desk import Desk
from askalike.service.pages import tokens
from askalike.service.pages.people import Sent, cookie
from askalike.service.pages.rendering import page
from askalike.service.places import slow_down

router = APIRouter()


@router.get("/login")
async def get_login(request: Request, next: Annotated[str, Query(max_length=2_000)] = "/") -> Response:
    """The form that asks for a key."""
    return page(request, "login.html", next=local(next), wrong=False)


@router.post("/login")
async def post_login(request: Request, form: Sent) -> Response:
    """Begins a session at each archive that the key is good for."""
    slow_down(request)
    text, next = form.one("key").strip(), local(form.one("next"))
    good = {desk: key for desk in request.app.state.desks.values() if (key := desk.key(text))}
    if not good:
        return page(request, "login.html", 401, next=next, wrong=True)
    response = RedirectResponse(next, 303)
    for desk, key in good.items():
        await _begin(request, response, desk, key)
    tokens.renew(request, response, tokens.fresh())
    return response


@router.post("/logout")
async def post_logout(request: Request, form: Sent) -> Response:
    """Ends this browser's sessions."""
    response = RedirectResponse("/", 303)
    for desk in request.app.state.desks.values():
        if secret := request.cookies.get(cookie(request, desk)):
            await desk.store(partial(sessions.end, secret=secret))
            response.delete_cookie(cookie(request, desk), httponly=True, secure=tokens.secure(request))
    return response


def local(next: str) -> str:
    """An address of this service, else the start page."""
    plain = next.startswith("/") and not next.startswith("//") and not set(next) & set("\\\r\n\t")
    return next if plain else "/"


async def _begin(request: Request, response: Response, desk: Desk, key: Key) -> None:
    hours = request.app.state.settings.session_hours
    secret = await desk.store(partial(sessions.begin, key=key, hours=hours))
    name, age = cookie(request, desk), int(hours * 3600)
    response.set_cookie(name, secret, age, httponly=True, secure=tokens.secure(request), samesite="strict")
