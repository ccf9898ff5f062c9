"""Where no key is asked for, only who calls this machine by its own name is answered."""

import re

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from askalike.service.hosts import is_loopback
from askalike.service.routes.problems import problem_response

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
