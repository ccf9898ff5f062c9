"""The archive that a request's address names, for those who may use it as they want to."""

import math
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Path, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from askalike.archive.keys import Key, Scope
from askalike.service.desk import Desk
from askalike.service.rate import Rate
from askalike.service.tracing import note

BEARER = HTTPBearer(auto_error=False, description="a key made by `askalike keys create`; none is needed on loopback")
Name = Annotated[str, Path(description="the archive's name")]
Shown = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]


def named(request: Request, archive: str) -> Desk:
    """The archive that the address names; 404 for one that is not served."""
    desks: dict[str, Desk] = request.app.state.desks
    if archive not in desks:
        known = f"; there are: {', '.join(desks)}" if request.app.state.settings.keyless else ""
        raise HTTPException(404, f"no archive {archive!r} is served here{known}")
    return desks[archive]


def _may(scope: Scope, published: bool = False) -> Callable[..., Awaitable[Desk]]:
    async def desk_for(request: Request, archive: Name, shown: Shown) -> Desk:
        desk = named(request, archive)
        admit(request, desk, shown.credentials if shown else None, scope, published)
        return desk

    return desk_for


def admit(request: Request, desk: Desk, shown: str | None, scope: Scope, published: bool = False) -> None:
    """Lets a request pass that may use the archive so, and not too often; raises HTTPException where it may not.

    `published`: a key will do that is good for pages of one origin.
    """
    key = desk.key(shown, request.headers.get("origin")) if shown else None
    counted(request, desk, key)
    if shown and key is None:
        raise _unknown("this key is not known here, or it was revoked")
    if key is None and not request.app.state.settings.keyless:
        raise _unknown("a key is needed; send it as Authorization: Bearer KEY")
    if key and key.origin and not published:
        raise HTTPException(403, f"this key is for pages of {key.origin}: it may search, and nothing else")
    if key and not key.may(scope):
        raise HTTPException(403, f"this key may {key.scope}; {scope} is needed")


def caller(request: Request) -> str:
    """The id of the key that a request was admitted with; "" where none is needed."""
    return str(getattr(request.state, "facts", {}).get("key", ""))


def counted(request: Request, desk: Desk, key: Key | None) -> None:
    """Notes who asks at which archive; 429 where they ask too often."""
    note(request, archive=desk.name, **({"key": key.id} if key else {}))
    slow_down(request, key)


def slow_down(request: Request, key: Key | None = None) -> None:
    """429 where the key asks too often; where there is none, or one that anybody has, the address."""
    rate: Rate = request.app.state.rate
    caller = key.id if key and not key.origin else request.client.host if request.client else ""
    if wait_s := rate.wait_s(caller):
        headers = {"retry-after": str(math.ceil(wait_s))}
        raise HTTPException(429, f"too many requests; wait {wait_s:.2f} s", headers)


def _unknown(detail: str) -> HTTPException:
    return HTTPException(401, detail, {"www-authenticate": "Bearer"})


Searchable = Annotated[Desk, Depends(_may("read", published=True))]
"""The archive, for those who may search it, if only from the pages of a site."""
Readable = Annotated[Desk, Depends(_may("read"))]
"""The archive, for those who may search it and say what they think of what was found."""
Writable = Annotated[Desk, Depends(_may("write"))]
"""The archive, for those who may change what is in it."""
Moderated = Annotated[Desk, Depends(_may("moderate"))]
"""The archive, for those who may decide about it and see what was asked."""
