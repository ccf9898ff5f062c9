"""Which other sites' pages may ask, by the rules that browsers keep (CORS)."""

import re
from collections.abc import Callable, Iterable, Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from askalike.service.middleware.tracing import REQUEST_ID_HEADER
from askalike.service.requests.problems import problem_response
from askalike.service.settings import is_loopback
from askalike.service.state.served_archive import ServedArchive

PREFLIGHT_MAX_AGE_S = 600
"""How long a browser need not ask again whether it may ask."""


class ArchiveCORSMiddleware(CORSMiddleware):
    """ASGI middleware: the origins that the operator allows, and those that a key was made for, may read and search."""

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
        """Whether pages of that origin may."""
        return super().is_allowed_origin(origin) or any(
            served_archive.has_key_for_origin(origin) for served_archive in self._served_archives()
        )


HOST_PATTERN = re.compile(r"(\[[0-9a-fA-F:]+\]|[^:\[\]]+)(:\d+)?")


class LoopbackOnlyMiddleware:
    """ASGI middleware: 421 for another Host, so that no page reaches the service under a name of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or refuses it."""
        if scope["type"] == "http" and not is_loopback(_host(Request(scope))):
            detail = "host: without keys only localhost is answered; see askalike keys, and --option require_keys=true"
            await problem_response(Request(scope), 421, detail)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _host(request: Request) -> str:
    found = HOST_PATTERN.fullmatch(request.headers.get("host", ""))
    return found[1].strip("[]") if found else ""
