"""Authorization for the archive named in the path: routes declare it with one of the types at the end."""

import math
from collections.abc import Awaitable, Callable
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Path, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from askalike.service.requests.context import Caller, add_log_fields, app_state, request_state
from askalike.service.state.served_archive import ServedArchive
from askalike.store.keys import KEY_PREFIX, ApiKey, Scope, verify_key

KEY_DESCRIPTION = "a key made by `askalike keys create`; none is needed on loopback"
ArchiveName = Annotated[str, Path(alias="archive", description="the archive's name")]
BEARER_SCHEME = HTTPBearer(auto_error=False, description=KEY_DESCRIPTION)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER_SCHEME)]


def find_archive(request: Request, name: str) -> ServedArchive:
    """Return the archive of that name. Raises HTTPException (404) if none is served."""
    state = app_state(request)
    if name not in state.archives:
        known = f"; there are: {', '.join(state.archives)}" if state.settings.keyless else ""
        raise HTTPException(404, f"no archive {name!r} is served here{known}")
    return state.archives[name]


def admit(request: Request, archive: ServedArchive, caller: Caller | None) -> None:
    """Record the caller and archive of a request. Raises HTTPException (429) if the caller sends too many."""
    key = caller.key if caller else None
    request_state(request).caller = caller
    add_log_fields(request, archive=archive.name, **({"key": key.id} if key else {}))
    enforce_rate_limit(request, key)


def enforce_rate_limit(request: Request, key: ApiKey | None = None) -> None:
    """Count a request of the key's holder. Raises HTTPException (429) if it exceeds the rate limit.

    Requests without a key, or with one published in the pages of a site, are counted by their network address.
    """
    name = key.id if key and not key.origin else request.client.host if request.client else ""
    if wait_s := app_state(request).rate_limiter.acquire(name):
        raise HTTPException(429, f"too many requests; wait {wait_s:.2f} s", {"retry-after": str(math.ceil(wait_s))})


def require_scope(scope: Scope, identify: Callable[..., Awaitable[Caller]]) -> Callable[..., Awaitable[ServedArchive]]:
    """Return the dependency that gives a route its archive if the identified caller has the scope, else 403."""

    async def require_archive(request: Request, caller: Annotated[Caller, Depends(identify)]) -> ServedArchive:
        return _open_archive(request, caller, scope)

    return require_archive


def _open_archive(request: Request, caller: Caller, scope: Scope) -> ServedArchive:
    if caller.key and not caller.key.allows(scope):
        raise HTTPException(403, f"this key has the scope {caller.key.scope}; this request needs {scope}")
    if scope != "read" and caller.key is None and is_cross_site(request):
        raise HTTPException(403, "a page of another site sent this without a key; it may search and read; send a key")
    return caller.archive


async def find_searchable_archive(request: Request) -> ServedArchive:
    """Return the same archive as `SearchableArchive`, for a route that does not use FastAPI's dependencies."""
    caller = _identify(request, request.path_params["archive"], await BEARER_SCHEME(request))
    return _open_archive(request, caller, "read")


async def identify_key(request: Request, name: ArchiveName, credentials: Credentials) -> Caller:
    """Return the holder of a request's key; 401 if a needed key is missing, or the key is invalid."""
    return _identify(request, name, credentials)


async def identify_key_of_only_archive(request: Request, credentials: Credentials) -> Caller:
    """Return the same for an address without an archive's name; 404 if more than one is served."""
    names = list(app_state(request).archives)
    if len(names) != 1:
        raise HTTPException(404, "several archives are served here; name one: /v1/ARCHIVE/…")
    return _require_private(_identify(request, names[0], credentials))


def _identify(request: Request, name: str, credentials: HTTPAuthorizationCredentials | None) -> Caller:
    """Return the caller. If no key is needed, any text is accepted as one, since some software always sends a key."""
    archive, text = find_archive(request, name), credentials.credentials if credentials else None
    key = verify_key(archive.key_archive, text, request.headers.get("origin")) if text else None
    caller = Caller(archive, key)
    admit(request, archive, caller)
    keyless = app_state(request).settings.keyless
    if key is None and text and (text.startswith(KEY_PREFIX) or not keyless):
        raise _unauthorized("this key is unknown or revoked")
    if key is None and not keyless:
        raise _unauthorized("no key was sent; send one as Authorization: Bearer KEY")
    return caller


async def identify_private_key(caller: Annotated[Caller, Depends(identify_key)]) -> Caller:
    """Return the holder of a key; 403 for a key published in the pages of a site."""
    return _require_private(caller)


def _require_private(caller: Caller) -> Caller:
    if caller.key and caller.key.origin:
        allowed = "it permits searches and feedback only"
        raise HTTPException(403, f"this key is for pages of {caller.key.origin}: {allowed}")
    return caller


def is_cross_site(request: Request) -> bool:
    """Return whether a page of another site sends the request, according to the browser."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin, public_url = request.headers.get("origin"), app_state(request).settings.public_url
    host = urlsplit(public_url).netloc if public_url else request.headers.get("host", "")
    try:
        return origin is not None and urlsplit(origin).netloc.lower() != host.lower()
    except ValueError:
        return True


def _unauthorized(detail: str) -> HTTPException:
    return HTTPException(401, detail, {"www-authenticate": "Bearer"})


SearchableArchive = Annotated[ServedArchive, Depends(require_scope("read", identify_key))]
"""The archive, for callers who may search it and give feedback, including those with a site's published key."""
ReadableArchive = Annotated[ServedArchive, Depends(require_scope("read", identify_private_key))]
"""The archive, for callers who may search and read it."""
OnlyReadableArchive = Annotated[ServedArchive, Depends(require_scope("read", identify_key_of_only_archive))]
"""The only archive that is served, for callers who may search and read it."""
WritableArchive = Annotated[ServedArchive, Depends(require_scope("write", identify_private_key))]
"""The archive, for callers who may change its records."""
ModeratedArchive = Annotated[ServedArchive, Depends(require_scope("moderate", identify_private_key))]
"""The archive, for callers who may decide on duplicates and gaps."""
