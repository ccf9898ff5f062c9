"""Authorization for the archive named in a path: who sends a request, whether they may, and not too often.

Routes declare it by type; the types are at the end."""

import math
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import cached_property
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Path, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from askalike.service.request_state import Caller, add_log_fields, app_state, caller_id, find_header, request_state
from askalike.service.served_archive import ServedArchive
from askalike.service.shared_files import RateLimiter
from askalike.store.keys import KEY_PREFIX, ApiKey, Scope, verify_key

KEY_DESCRIPTION = "a key made by `askalike keys create`; none is needed on loopback"
ArchiveName = Annotated[str, Path(alias="archive", description="the archive's name")]
BEARER_SCHEME = HTTPBearer(auto_error=False, description=KEY_DESCRIPTION)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER_SCHEME)]


def find_archive(request: Request, name: str) -> ServedArchive:
    """Return the archive of that name. Raises HTTPException (404) if none is served."""
    state = app_state(request)
    if name in state.faults:
        raise HTTPException(503, f"the archive {name} cannot be served; its operator finds the reason in the log")
    if name not in state.archives:
        known = f"; there are: {', '.join(state.archives)}" if state.settings.keyless else ""
        raise HTTPException(404, f"no archive {name!r} is served here{known}")
    return state.archives[name]


def admit(request: Request, archive: ServedArchive, caller: Caller | None) -> None:
    """Record the caller and archive of a request. Raises HTTPException (429) if the caller sends too many."""
    key = caller.key if caller else None
    request_state(request).caller = caller
    add_log_fields(request, archive=archive.name)
    if key:
        add_log_fields(request, key=key.id)
    enforce_rate_limit(request, key)


def enforce_rate_limit(request: Request, key: ApiKey | None = None) -> None:
    """Count a request of the key's holder. Raises HTTPException (429) if it exceeds the rate limit.

    Requests without a key, or with one published in the pages of a site, are counted by their network address.
    """
    _acquire(app_state(request).shared.rate_limiter, request, key, "requests")


def enforce_storing_limit(request: Request) -> None:
    """Count something that the admitted caller stores. Raises HTTPException (429) if it exceeds their rate limit.

    Callers who may write have none: they may store questions at any rate.
    """
    caller = request_state(request).caller
    if caller is None or not caller.may("write"):
        _acquire(app_state(request).shared.storing_limiter, request, caller.key if caller else None, "texts to store")


def _acquire(limiter: RateLimiter, request: Request, key: ApiKey | None, what: str) -> None:
    name = key.id if key and not key.origin else request.client.host if request.client else ""
    if wait_s := limiter.acquire(name):
        raise HTTPException(429, f"too many {what}; wait {wait_s:.2f} s", {"retry-after": str(math.ceil(wait_s))})


class Guard:
    """The dependency that gives a route its archive, for callers whose key has the scope.

    `GuardedRoute` admits the caller before it reads the body, FastAPI only afterwards.
    """

    def __init__(self, scope: Scope, published: bool = False) -> None:
        """`published`: whether a key that is published in the pages of a site is enough."""
        self._scope: Scope = scope
        self._published = published

    async def __call__(self, request: Request, name: ArchiveName, credentials: Credentials) -> ServedArchive:
        """Return the archive."""
        return self.admit(request)

    def admit(self, request: Request) -> ServedArchive:
        """Return the archive; HTTPException 401 for a caller without a valid key, 403 if it does not permit this."""
        state = request_state(request)
        if state.archive is None:
            caller = _identify(request, self._archive_name(request))
            if caller.key and caller.key.origin and not self._published:
                allowed = "it permits searches and feedback only"
                raise HTTPException(403, f"this key is for pages of {caller.key.origin}: {allowed}")
            state.archive = open_archive(request, caller, self._scope)
        return state.archive

    def _archive_name(self, request: Request) -> str:
        return str(request.path_params["archive"])


class OnlyArchiveGuard(Guard):
    """The same for an address without the name of an archive; 404 if more than one is served."""

    async def __call__(self, request: Request, credentials: Credentials) -> ServedArchive:  # type: ignore[override]
        """Return the archive."""
        return self.admit(request)

    def _archive_name(self, request: Request) -> str:
        names = list(app_state(request).archives)
        if len(names) != 1:
            raise HTTPException(404, "several archives are served here; name one: /v1/ARCHIVE/…")
        return names[0]


class GuardedRoute(APIRoute):
    """A route that admits the caller before the body is read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle_with_fastapi = super().get_route_handler()

        async def handle(request: Request) -> Response:
            for guard in self._guards:
                guard.admit(request)
            return await handle_with_fastapi(request)

        return handle

    @cached_property
    def _guards(self) -> Sequence[Guard]:
        return [d.call for d in self.dependant.dependencies if isinstance(d.call, Guard)]


def require_scope(scope: Scope, identify: Callable[..., Awaitable[Caller]]) -> Callable[..., Awaitable[ServedArchive]]:
    """Return the dependency that gives a page its archive if the identified caller has the scope, else 403."""

    async def require_archive(request: Request, caller: Annotated[Caller, Depends(identify)]) -> ServedArchive:
        return open_archive(request, caller, scope)

    return require_archive


def open_archive(request: Request, caller: Caller, scope: Scope) -> ServedArchive:
    """Return the caller's archive; 403 without the scope, or if a page of another site writes without a key."""
    if caller.key and not caller.key.allows(scope):
        raise HTTPException(403, f"this key has the scope {caller.key.scope}; this request needs {scope}")
    if scope != "read" and caller.key is None and is_cross_site(request):
        raise HTTPException(403, "a page of another site sent this without a key; it may search and read; send a key")
    return caller.archive


def _identify(request: Request, name: str) -> Caller:
    """Return the caller. If no key is needed, any text is accepted as one, since some software always sends a key."""
    scheme, _, credentials = (find_header(request.scope, b"authorization") or "").partition(" ")
    archive = find_archive(request, name)
    text = credentials.strip() if scheme.lower() == "bearer" else ""
    key = verify_key(archive.key_archive, text, request.headers.get("origin")) if text else None
    caller = Caller(archive, key)
    admit(request, archive, caller)
    keyless = app_state(request).settings.keyless
    if key is None and text and (text.startswith(KEY_PREFIX) or not keyless):
        raise _unauthorized("this key is unknown or revoked")
    if key is None and not keyless:
        raise _unauthorized("no key was sent; send one as Authorization: Bearer KEY")
    return caller


def is_cross_site(request: Request) -> bool:
    """Return whether a page of another site sends the request, according to the browser."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = request.headers.get("origin")
    public_url = app_state(request).settings.public_url
    host = urlsplit(public_url).netloc if public_url else request.headers.get("host", "")
    try:
        return origin is not None and urlsplit(origin).netloc.lower() != host.lower()
    except ValueError:
        return True


def may_count(request: Request) -> bool:
    """Return whether a search may change the counts of use: without a key, not one that another site's page sends."""
    is_allowed = request.headers.get("origin") in app_state(request).settings.allow_origins
    return bool(caller_id(request)) or is_allowed or not is_cross_site(request)


def _unauthorized(detail: str) -> HTTPException:
    return HTTPException(401, detail, {"www-authenticate": "Bearer"})


SearchableArchive = Annotated[ServedArchive, Depends(Guard("read", published=True))]
"""The archive, for callers who may search it and give feedback, including those with a site's published key."""
ReadableArchive = Annotated[ServedArchive, Depends(Guard("read"))]
"""The archive, for callers who may search and read it."""
OnlyReadableArchive = Annotated[ServedArchive, Depends(OnlyArchiveGuard("read"))]
"""The only archive that is served, for callers who may search and read it."""
WritableArchive = Annotated[ServedArchive, Depends(Guard("write"))]
"""The archive, for callers who may change its records."""
ModeratedArchive = Annotated[ServedArchive, Depends(Guard("moderate"))]
"""The archive, for callers who may decide on duplicates and gaps."""
