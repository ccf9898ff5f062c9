"""Who is before the screen: somebody with a session, or on loopback anybody, and what they may do."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qs, quote

from fastapi import Depends, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from askalike.service.pages import tokens
from askalike.service.requests.auth import ArchiveName, get_served_archive, track_and_limit
from askalike.service.state.served_archive import ServedArchive
from askalike.store.keys import ApiKey, Scope

MAX_FORM_FIELDS = 1_000
ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class PageUser:
    """Somebody at an archive's served_archive. `key` is None where everything is open, and for a visitor.

    A visitor has not logged in where the pages are public: they may search and read, and change nothing.
    """

    served_archive: ServedArchive
    key: ApiKey | None
    visitor: bool = False

    def may(self, scope: Scope) -> bool:
        """Whether they may do what needs that scope."""
        return not self.visitor and (self.key is None or self.key.allows(scope))


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form that was sent from one of our pages."""

    fields: dict[str, list[str]]

    def value(self, name: str, default: str = "") -> str:
        """A field's last value."""
        return self.fields.get(name, [default])[-1]

    def values(self, name: str) -> list[str]:
        """All values of a field."""
        return self.fields.get(name, [])


def session_cookie_name(request: Request, served_archive: ServedArchive) -> str:
    """The name of the cookie that holds the session at a served_archive."""
    prefix = "__Host-" if tokens.is_https(request) else ""
    return f"{prefix}session-{hashlib.blake2b(served_archive.name.encode(), digest_size=6).hexdigest()}"


def get_page_user(request: Request, served_archive: ServedArchive) -> PageUser | None:
    """Who is before the screen, as far as this served_archive is concerned; None for somebody who has to log in."""
    secret = request.cookies.get(session_cookie_name(request, served_archive))
    key = served_archive.verify_session(secret) if secret else None
    settings = request.app.state.settings
    if key or settings.keyless:
        return PageUser(served_archive, key)
    return PageUser(served_archive, None, visitor=True) if settings.public else None


def validate_form(model: type[ModelT], values: Mapping[str, Any]) -> ModelT:
    """What came in, as a shape; raises RequestValidationError for what it does not take."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise RequestValidationError([{**e, "loc": ("form", *e["loc"])} for e in error.errors()]) from None


def _require_scope(scope: Scope, allow_visitors: bool = False) -> Callable[..., Awaitable[ServedArchive]]:
    async def require_archive(request: Request, archive: ArchiveName) -> ServedArchive:
        served_archive = get_served_archive(request, archive)
        request.state.who = found = get_page_user(request, served_archive)
        track_and_limit(request, served_archive, found.key if found else None)
        if found is None or (found.visitor and not allow_visitors):
            raise _login_redirect(request)
        if not (found.visitor or found.may(scope)):
            raise HTTPException(403, f"you may {found.key.scope if found.key else ''} here; {scope} is needed")
        return served_archive

    return require_archive


async def _parse_form(request: Request) -> Form:
    text = (await request.body()).decode(errors="replace")
    try:
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS)
    except ValueError:
        raise HTTPException(422, f"body: a form of at most {MAX_FORM_FIELDS} fields is expected") from None
    form = Form(fields)
    tokens.verify_csrf(request, request.headers.get(tokens.CSRF_HEADER) or form.value(tokens.CSRF_FIELD))
    return form


def _login_redirect(request: Request) -> HTTPException:
    back = request.url.path if request.method == "GET" else "/"
    where = f"/login?next={quote(back)}"
    if "hx-request" in request.headers:
        return HTTPException(401, "log in first", {"hx-redirect": where})
    return HTTPException(303, "log in first", {"location": where})


VisitorArchive = Annotated[ServedArchive, Depends(_require_scope("read", allow_visitors=True))]
"""The archive, for people who search and read it, and for anybody where the pages are public."""
ReaderArchive = Annotated[ServedArchive, Depends(_require_scope("read"))]
"""The archive, for people who may search it and say what they think of what was found."""
ModeratorArchive = Annotated[ServedArchive, Depends(_require_scope("moderate"))]
"""The archive, for people who decide about it."""
SubmittedForm = Annotated[Form, Depends(_parse_form)]
"""A form that was sent from one of our pages; 403 for any other."""
