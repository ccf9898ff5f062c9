"""The middleware of all routes: request id, log line, checks of host and origin, limits on bodies, HEAD, redirects."""

import asyncio
import re
import time
from functools import lru_cache, partial
from random import getrandbits

from fastapi import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Match, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askalike.core.values import format_count, is_loopback
from askalike.service.log import log_event
from askalike.service.problems import problem_response
from askalike.service.request_state import (
    REQUEST_ID_HEADER,
    REQUEST_STATE_KEY,
    AppState,
    RequestState,
    find_header,
)
from askalike.service.telemetry import REQUEST_SECONDS, REQUESTS
from askalike.store.keys import KEY_PATTERN, KEY_PREFIX, has_key_for_origin

PREFLIGHT_MAX_AGE_S = 600
"""Time for which a browser may cache that a site is allowed."""
HOST_PATTERN = re.compile(r"(\[[0-9a-fA-F:]+\]|[^:\[\]]+)(:\d+)?")
FORWARDING_HEADERS = frozenset(
    (b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip")
)
ARCHIVE_PATH = re.compile("/v1/([^/]+)/")
SHORT_BODY_PATH = re.compile("/v1/[^/]+/(similar|answer|feedback|drafts)")
"""The routes whose body is one question, or one conversation."""
SHORT_BODY_BYTES = 256_000
"""The most that such a body may have, if the service's own limit is not lower."""
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")
REQUEST_ID_PATTERN = re.compile("[A-Za-z0-9._-]{1,64}")
"""Request ids that are accepted from a client or a proxy; any other is replaced."""
DEFAULT_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""Headers of every response that does not set them itself: somebody else may use this browser next."""


class BodyLimitMiddleware:
    """ASGI middleware: 413 for a body over the limit, 408 for one that arrives too slowly, 415 for another type.

    400 for a request with both a length and chunks. The API accepts only JSON: a page of another site cannot send it
    unless CORS allows that, while it could send a form or plain text. The pages accept only forms, and check their
    origin.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, receive_s: float) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._receive_s = receive_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if refusal := self._check_headers(request):
            await problem_response(request, *refusal)(scope, receive, send)
        else:
            await self._app(scope, self._limit_receive(request, receive), send)

    def _check_headers(self, request: Request) -> tuple[int, str] | None:
        """Return the status and the reason if the headers already show that the request must be refused; else None."""
        size = find_header(request.scope, b"content-length")
        if size and size.isdigit() and int(size) > self._max_bytes:
            return _too_long_error(self._max_bytes)
        chunked = find_header(request.scope, b"transfer-encoding") is not None
        if chunked and size is not None:
            return 400, "content-length: sent together with transfer-encoding; send one of them"
        if not chunked and size in (None, "0"):
            return None
        media_type = (find_header(request.scope, b"content-type") or "").partition(";")[0].strip().lower()
        is_api = request.scope["path"].startswith("/v1/")
        accepted = "application/json" if is_api else "application/x-www-form-urlencoded"
        if media_type != accepted:
            return 415, f"content-type: {media_type or 'none'} is not accepted; send {accepted}"
        return None

    def _limit_receive(self, request: Request, receive: Receive) -> Receive:
        """Return `receive` with the limits of the size and the time."""
        is_short = SHORT_BODY_PATH.fullmatch(request.scope["path"])
        max_bytes = min(self._max_bytes, SHORT_BODY_BYTES) if is_short else self._max_bytes
        size = int(find_header(request.scope, b"content-length") or 0)
        n_bytes = 0
        complete = False
        deadline = time.monotonic() + self._receive_s

        async def limited_receive() -> Message:
            nonlocal n_bytes, complete
            if complete:
                return await receive()
            if size > max_bytes:
                raise HTTPException(*_too_long_error(max_bytes))
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                detail = f"body: did not arrive within {self._receive_s:g} s; send it faster, or less at a time"
                raise HTTPException(408, detail, {"connection": "close"}) from None
            complete = not message.get("more_body", False)
            n_bytes += len(message.get("body", b""))
            if n_bytes > max_bytes:
                raise HTTPException(*_too_long_error(max_bytes))
            return message

        return limited_receive


def _too_long_error(max_bytes: int) -> tuple[int, str]:
    return 413, f"body: longer than {format_count(max_bytes, 'byte')}; send less at a time"


class HeadMiddleware:
    """ASGI middleware: passes HEAD to routes as GET, which is all they know; the server drops the response's body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_head = scope["type"] == "http" and scope["method"] == "HEAD"
        await self._app({**scope, "method": "GET"} if is_head else scope, receive, send)


class SlashRedirector:
    """ASGI application for a path without a route: a redirect if there is one with, or without, a slash at the end.

    The address is that path alone: behind a proxy the service knows neither the public scheme nor the host.
    """

    def __init__(self, router: Router) -> None:
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        query = scope.get("query_string", b"").decode("latin-1")
        other = path.rstrip("/") if path.endswith("/") else f"{path}/"
        is_safe = not path.startswith("//")  # which would lead to another host
        if is_safe and any(route.matches({**scope, "path": other})[0] != Match.NONE for route in self._router.routes):
            await RedirectResponse(f"{other}?{query}" if query else other)(scope, receive, send)
        else:
            await self._router.not_found(scope, receive, send)


class LoopbackOnlyMiddleware:
    """ASGI middleware: 421 for a request without a key that may not be from this machine.

    A Host other than this machine may be DNS rebinding. A proxy says by its headers that it passes requests on, which
    the operator must have allowed.
    """

    def __init__(self, app: ASGIApp, behind_proxy: bool) -> None:
        """`behind_proxy`: whether the operator has said that requests come through a proxy."""
        self._app = app
        self._refused_headers = frozenset[bytes]() if behind_proxy else FORWARDING_HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (problem := self._find_problem(Request(scope))):
            detail = f"{problem}; see askalike keys, and --set require_keys=true"
            await problem_response(Request(scope), 421, detail)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _find_problem(self, request: Request) -> str:
        if not is_loopback(_host_name(find_header(request.scope, b"host") or "")):
            return "host: without keys only localhost is accepted"
        if names := self._refused_headers.intersection(dict(request.scope["headers"])):
            advice = "say that it may with --set public_url"
            return f"{min(names).decode()}: a proxy passes this on, to a service without keys; {advice}"
        return ""


class ArchiveCORSMiddleware:
    """ASGI middleware: pages of the origins that the operator or a key allows may search and read."""

    def __init__(self, app: ASGIApp, state: AppState) -> None:
        allow = partial(
            CORSMiddleware,
            app,
            allow_methods=("GET", "POST"),
            allow_headers=("authorization", "content-type"),
            expose_headers=(REQUEST_ID_HEADER, "retry-after"),
            max_age=PREFLIGHT_MAX_AGE_S,
        )
        self._for_operator = allow(allow_origins=state.settings.allow_origins)
        self._for_key = allow(allow_origin_regex=".*")
        self._archives = state.archives

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_for_key = scope["type"] == "http" and self._is_allowed_by_key(scope)
        await (self._for_key if is_for_key else self._for_operator)(scope, receive, send)

    def _is_allowed_by_key(self, scope: Scope) -> bool:
        """Return whether a key of the archive that a request is about allows its origin."""
        origin = find_header(scope, b"origin")
        match = ARCHIVE_PATH.match(scope["path"])
        archive = self._archives.get(match[1]) if match else None
        return origin is not None and archive is not None and has_key_for_origin(archive.key_archive, origin)


@lru_cache(64)
def _host_name(header: str) -> str:
    match = HOST_PATTERN.fullmatch(header)
    return match[1].strip("[]") if match else ""


class TracingMiddleware:
    """ASGI middleware: sets the id in the request's state and the response's header, logs and counts the response."""

    def __init__(self, app: ASGIApp, log_texts: bool) -> None:
        self._app = app
        self._log_texts = log_texts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        id = find_header(scope, REQUEST_ID_HEADER.encode()) or ""
        if not REQUEST_ID_PATTERN.fullmatch(id) or KEY_PATTERN.search(id):
            id = f"{getrandbits(64):016x}"  # no secret: `secrets` would ask the system, and wait for the GIL again
        state = scope[REQUEST_STATE_KEY] = RequestState(id)
        start = time.perf_counter()
        status = 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                names = dict(message["headers"])
                missing = [header for header in DEFAULT_HEADERS if header[0] not in names]
                message["headers"] = [*message["headers"], *missing, (REQUEST_ID_HEADER.encode(), id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        finally:
            elapsed_s = time.perf_counter() - start
            method = scope["method"]
            REQUESTS(method if method in METHODS else "other", status).inc()
            REQUEST_SECONDS(getattr(scope.get("endpoint"), "__name__", "none")).observe(elapsed_s)
            path = KEY_PATTERN.sub(KEY_PREFIX, scope["path"])
            took_ms = round(1000 * elapsed_s, 2)
            fields = state.log_fields
            if self._log_texts:
                fields = {"query": KEY_PATTERN.sub(KEY_PREFIX, scope["query_string"].decode("latin-1")), **fields}
            log_event("request", request_id=id, method=method, path=path, status=status, took_ms=took_ms, **fields)
