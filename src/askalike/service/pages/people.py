"""Who is before the screen: somebody with a session, or on loopback anybody, and what they may do."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qs, quote

from fastapi import Depends, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from askalike.archive.keys import Key, Scope
from askalike.service.desk import Desk
from askalike.service.pages import tokens
from askalike.service.places import Name, counted, named

MOST_FIELDS = 1_000
Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Who:
    """Somebody at an archive's desk. `key` is None where everything is open, and for a visitor.

    A visitor has not logged in where the pages are public: they may search and read, and change nothing.
    """

    desk: Desk
    key: Key | None
    visitor: bool = False

    def may(self, scope: Scope) -> bool:
        """Whether they may do what needs that scope."""
        return not self.visitor and (self.key is None or self.key.may(scope))


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form that was sent from one of our pages."""

    fields: dict[str, list[str]]

    def one(self, name: str, default: str = "") -> str:
        """A field's last value."""
        return self.fields.get(name, [default])[-1]

    def all(self, name: str) -> list[str]:
        """All values of a field."""
        return self.fields.get(name, [])


def cookie(request: Request, desk: Desk) -> str:
    """The name of the cookie that holds the session at a desk."""
    prefix = "__Host-" if tokens.secure(request) else ""
    return f"{prefix}session-{hashlib.blake2b(desk.name.encode(), digest_size=6).hexdigest()}"


def who(request: Request, desk: Desk) -> Who | None:
    """Who is before the screen, as far as this desk is concerned; None for somebody who has to log in."""
    secret = request.cookies.get(cookie(request, desk))
    key = desk.person(secret) if secret else None
    settings = request.app.state.settings
    if key or settings.keyless:
        return Who(desk, key)
    return Who(desk, None, visitor=True) if settings.public else None


def checked(shape: type[Shape], values: Mapping[str, Any]) -> Shape:
    """What came in, as a shape; raises RequestValidationError for what it does not take."""
    try:
        return shape.model_validate(values)
    except ValidationError as error:
        raise RequestValidationError([{**e, "loc": ("form", *e["loc"])} for e in error.errors()]) from None


def _may(scope: Scope, visitors: bool = False) -> Callable[..., Awaitable[Desk]]:
    async def desk_for(request: Request, archive: Name) -> Desk:
        desk = named(request, archive)
        request.state.who = found = who(request, desk)
        counted(request, desk, found.key if found else None)
        if found is None or (found.visitor and not visitors):
            raise _to_login(request)
        if not (found.visitor or found.may(scope)):
            raise HTTPException(403, f"you may {found.key.scope if found.key else ''} here; {scope} is needed")
        return desk

    return desk_for


async def _form(request: Request) -> Form:
    text = (await request.body()).decode(errors="replace")
    try:
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise HTTPException(422, f"body: a form of at most {MOST_FIELDS} fields is expected") from None
    form = Form(fields)
    tokens.check(request, request.headers.get(tokens.HEADER) or form.one(tokens.FIELD))
    return form


def _to_login(request: Request) -> HTTPException:
    back = request.url.path if request.method == "GET" else "/"
    where = f"/login?next={quote(back)}"
    if "hx-request" in request.headers:
        return HTTPException(401, "log in first", {"hx-redirect": where})
    return HTTPException(303, "log in first", {"location": where})


Visitor = Annotated[Desk, Depends(_may("read", visitors=True))]
"""The archive, for people who search and read it, and for anybody where the pages are public."""
Reader = Annotated[Desk, Depends(_may("read"))]
"""The archive, for people who may search it and say what they think of what was found."""
Moderator = Annotated[Desk, Depends(_may("moderate"))]
"""The archive, for people who decide about it."""
Sent = Annotated[Form, Depends(_form)]
"""A form that was sent from one of our pages; 403 for any other."""
