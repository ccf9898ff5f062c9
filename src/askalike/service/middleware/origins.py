"""Checks the Host and Origin of requests: a local Host if there are no keys, and CORS."""

import re

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from askalike.core.addresses import is_loopback
from askalike.service.requests.context import REQUEST_ID_HEADER, AppState
from askalike.service.requests.problems import problem_response
from askalike.store.keys import has_key_for_origin

PREFLIGHT_MAX_AGE_S = 600
"""Time for which a browser may cache that a site is allowed."""
HOST_PATTERN = re.compile(r"(\[[0-9a-fA-F:]+\]|[^:\[\]]+)(:\d+)?")


class LoopbackOnlyMiddleware:
    """ASGI middleware: 421 for a Host other than this machine, to protect a service without keys from DNS rebinding."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not is_loopback(_host_name(Request(scope))):
            detail = "host: without keys only localhost is accepted; see askalike keys, and --set require_keys=true"
            await problem_response(Request(scope), 421, detail)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class ArchiveCORSMiddleware(CORSMiddleware):
    """ASGI middleware: pages of the origins that the operator or a key allows may search and read."""

    def __init__(self, app: ASGIApp, state: AppState) -> None:
        super().__init__(
            app,
            allow_origins=state.settings.allow_origins,
            allow_methods=("GET", "POST"),
            allow_headers=("authorization", "content-type"),
            expose_headers=(REQUEST_ID_HEADER, "retry-after"),
            max_age=PREFLIGHT_MAX_AGE_S,
        )
        self._archives = state.archives

    def is_allowed_origin(self, origin: str) -> bool:
        allowed = (has_key_for_origin(archive.key_archive, origin) for archive in self._archives.values())
        return super().is_allowed_origin(origin) or any(allowed)


def _host_name(request: Request) -> str:
    match = HOST_PATTERN.fullmatch(request.headers.get("host", ""))
    return match[1].strip("[]") if match else ""
