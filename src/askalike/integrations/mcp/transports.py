"""The transports of the tools: standard input and output, or HTTP without sessions."""

from collections.abc import Callable
from pathlib import Path

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from askalike.core.addresses import is_loopback
from askalike.core.errors import SettingsError
from askalike.core.listening import base_url, listen
from askalike.integrations.mcp.server import ToolServer
from askalike.store import Archive
from askalike.store.keys import has_active_key, verify_key

ADDRESS_PATH = "/mcp"


class KeyMiddleware:
    """ASGI middleware: 401 for a request without a key of the archive."""

    def __init__(self, app: ASGIApp, archive: Archive) -> None:
        self._app, self._archive = app, archive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._may_read(Request(scope)):
            detail = "a key is needed: Authorization: Bearer KEY; see askalike keys create\n"
            await PlainTextResponse(detail, 401, {"www-authenticate": "Bearer"})(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _may_read(self, request: Request) -> bool:
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        key = verify_key(self._archive, text.strip()) if scheme.lower() == "bearer" else None
        return key is not None and key.allows("read")


def serve_stdio(server: ToolServer) -> None:
    """Serve the client that started this process, until it closes standard input."""
    anyio.run(server.run_stdio_async)


def serve_http(
    server: ToolServer, archive: Path, host: str, port: int, require_keys: bool, announce: Callable[[str], None]
) -> None:
    """Serve over HTTP until the process is asked to end. Keys are needed except on loopback.

    announce: called with the address once the server listens; port 0 picks a free one. Raises SettingsError.
    """
    keyless = is_loopback(host) and not require_keys
    security = None if keyless else TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app: ASGIApp = server.streamable_http_app(
        streamable_http_path=ADDRESS_PATH, json_response=True, stateless_http=True, transport_security=security,
        host="127.0.0.1",
    )  # fmt: skip
    with Archive.open(archive) as keys, listen(host, port) as listener:
        if not keyless:
            if not has_active_key(keys):
                raise SettingsError(f"a key is needed at {host}; make one: askalike keys create {archive}")
            app = KeyMiddleware(app, keys)
        announce(f"{base_url(listener)}{ADDRESS_PATH}")
        config = uvicorn.Config(app, log_level="warning", server_header=False, proxy_headers=False)
        uvicorn.Server(config).run([listener])
