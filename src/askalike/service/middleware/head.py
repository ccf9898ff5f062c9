"""Answers HEAD like GET without the body, as HTTP requires and monitors expect."""

from starlette.types import ASGIApp, Receive, Scope, Send


class HeadMiddleware:
    """ASGI middleware: passes HEAD to routes as GET, which is all they know; the server drops the response's body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_head = scope["type"] == "http" and scope["method"] == "HEAD"
        await self._app({**scope, "method": "GET"} if is_head else scope, receive, send)
