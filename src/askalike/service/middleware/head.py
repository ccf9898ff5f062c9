"""Answers HEAD as GET, without the body, as every web server has to and monitors expect."""

from starlette.types import ASGIApp, Receive, Scope, Send


class HeadMiddleware:
    """ASGI middleware: routes know GET alone, and the server leaves out the body of its response to HEAD."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_head = scope["type"] == "http" and scope["method"] == "HEAD"
        await self._app({**scope, "method": "GET"} if is_head else scope, receive, send)
