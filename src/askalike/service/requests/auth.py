"""The archive that a request's address names, for those who may use it as they want to."""

import math
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Path, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from askalike.service.middleware.tracing import add_log_fields
from askalike.service.state.rate import RateLimiter
from askalike.service.state.served_archive import ServedArchive
from askalike.store.keys import ApiKey, Scope

BEARER_SCHEME = HTTPBearer(
    auto_error=False, description="a key made by `askalike keys create`; none is needed on loopback"
)
ArchiveName = Annotated[str, Path(description="the archive's name")]
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER_SCHEME)]


def get_served_archive(request: Request, archive: str) -> ServedArchive:
    """The archive that the address names; 404 for one that is not served."""
    served_archives: dict[str, ServedArchive] = request.app.state.served_archives
    if archive not in served_archives:
        known = f"; there are: {', '.join(served_archives)}" if request.app.state.settings.keyless else ""
        raise HTTPException(404, f"no archive {archive!r} is served here{known}")
    return served_archives[archive]


def _require_scope(scope: Scope, allow_origin_keys: bool = False) -> Callable[..., Awaitable[ServedArchive]]:
    async def require_archive(request: Request, archive: ArchiveName, shown: Credentials) -> ServedArchive:
        served_archive = get_served_archive(request, archive)
        authorize(request, served_archive, shown.credentials if shown else None, scope, allow_origin_keys)
        return served_archive

    return require_archive


def authorize(
    request: Request, served_archive: ServedArchive, key_text: str | None, scope: Scope, allow_origin_keys: bool = False
) -> None:
    """Lets a request pass that may use the archive so, and not too often; raises HTTPException where it may not.

    `published`: a key will do that is good for pages of one origin.
    """
    key = served_archive.verify_key(key_text, request.headers.get("origin")) if key_text else None
    track_and_limit(request, served_archive, key)
    if key_text and key is None:
        raise _unauthorized("this key is not known here, or it was revoked")
    if key is None and not request.app.state.settings.keyless:
        raise _unauthorized("a key is needed; send it as Authorization: Bearer KEY")
    if key and key.origin and not allow_origin_keys:
        raise HTTPException(403, f"this key is for pages of {key.origin}: it may search, and nothing else")
    if key and not key.allows(scope):
        raise HTTPException(403, f"this key may {key.scope}; {scope} is needed")


def get_caller_id(request: Request) -> str:
    """The id of the key that a request was admitted with; "" where none is needed."""
    return str(getattr(request.state, "facts", {}).get("key", ""))


def track_and_limit(request: Request, served_archive: ServedArchive, key: ApiKey | None) -> None:
    """Notes who asks at which archive; 429 where they ask too often."""
    add_log_fields(request, archive=served_archive.name, **({"key": key.id} if key else {}))
    enforce_rate_limit(request, key)


def enforce_rate_limit(request: Request, key: ApiKey | None = None) -> None:
    """429 where the key asks too often; where there is none, or one that anybody has, the address."""
    rate: RateLimiter = request.app.state.rate
    caller = key.id if key and not key.origin else request.client.host if request.client else ""
    if wait_s := rate.acquire(caller):
        headers = {"retry-after": str(math.ceil(wait_s))}
        raise HTTPException(429, f"too many requests; wait {wait_s:.2f} s", headers)


def _unauthorized(detail: str) -> HTTPException:
    return HTTPException(401, detail, {"www-authenticate": "Bearer"})


SearchableArchive = Annotated[ServedArchive, Depends(_require_scope("read", allow_origin_keys=True))]
"""The archive, for those who may search it, if only from the pages of a site."""
ReadableArchive = Annotated[ServedArchive, Depends(_require_scope("read"))]
"""The archive, for those who may search it and say what they think of what was found."""
WritableArchive = Annotated[ServedArchive, Depends(_require_scope("write"))]
"""The archive, for those who may change what is in it."""
ModeratedArchive = Annotated[ServedArchive, Depends(_require_scope("moderate"))]
"""The archive, for those who may decide about it and see what was asked."""
