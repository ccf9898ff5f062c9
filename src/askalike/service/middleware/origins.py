"""Which hosts and which other sites' pages a request may come by: a local Host without keys, and CORS."""

import re
from collections.abc import Callable, Iterable, Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from askalike.service.requests.context import REQUEST_ID_HEADER
from askalike.service.requests.problems import problem_response
from askalike.service.settings import is_loopback
from askalike.service.state.served_archive import ServedArchive

PREFLIGHT_MAX_AGE_S = 600
"""How long a browser may remember whether a site is allowed."""
HOST_PATTERN = re.compile(r"(\[[0-9a-fA-F:]+\]|[^:\[\]]+)(:\d+)?")


class LoopbackOnlyMiddleware:
    """ASGI middleware: 421 for a Host that is not this machine's, against DNS rebinding of a service without keys."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http" and not is_loopback(_host_name(Request(scope))):
            detail = "host: without keys only localhost is answered; see askalike keys, and --option require_keys=true"
            await problem_response(Request(scope), 421, detail)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class ArchiveCORSMiddleware(CORSMiddleware):
    """ASGI middleware: pages of the origins that the operator or a key allows may search and read."""

    def __init__(
        self, app: ASGIApp, allowed_origins: Sequence[str], served_archives: Callable[[], Iterable[ServedArchive]]
    ) -> None:
        super().__init__(
            app,
            allow_origins=allowed_origins,
            allow_methods=("GET", "POST"),
            allow_headers=("authorization", "content-type"),
            expose_headers=(REQUEST_ID_HEADER, "retry-after"),
            max_age=PREFLIGHT_MAX_AGE_S,
        )
        self._served_archives = served_archives

    def is_allowed_origin(self, origin: str) -> bool:
        """Return whether pages of that origin are allowed."""
        return super().is_allowed_origin(origin) or any(
            served_archive.has_key_for_origin(origin) for served_archive in self._served_archives()
        )


def _host_name(request: Request) -> str:
    match = HOST_PATTERN.fullmatch(request.headers.get("host", ""))
    return match[1].strip("[]") if match else ""
