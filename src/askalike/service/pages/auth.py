"""The user of a page: somebody with a session, a visitor of public pages, or anybody on loopback."""

import hashlib
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, HTTPException, Request

from askalike.service.pages.forms import is_https
from askalike.service.requests.auth import ArchiveName, admit, find_archive, require_scope
from askalike.service.requests.context import Caller, app_state
from askalike.service.state.served_archive import ServedArchive
from askalike.store.keys import session_key


def session_cookie_name(request: Request, archive: ServedArchive) -> str:
    """Return the name of the cookie that holds the session of an archive."""
    prefix = "__Host-" if is_https(request) else ""
    return f"{prefix}session-{hashlib.blake2b(archive.name.encode(), digest_size=6).hexdigest()}"


def find_caller(request: Request, archive: ServedArchive) -> Caller | None:
    """Return the caller who opens a page of an archive; None if they have to log in."""
    secret = request.cookies.get(session_cookie_name(request, archive))
    key, settings = session_key(archive.key_archive, secret) if secret else None, app_state(request).settings
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
