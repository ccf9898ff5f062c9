"""The transports of the tools: standard input and output, or HTTP without sessions and with the service's limits."""

import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

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
from askalike.service.processes.protocol import TimedHttpProtocol
from askalike.service.settings import ServiceSettings
from askalike.service.state.rate import RateLimiter, create_shared_file
from askalike.store import Archive
from askalike.store.keys import has_active_key, verify_key

ADDRESS_PATH = "/mcp"


class CallerMiddleware:
    """ASGI middleware: 401 for a request without a key of the archive, 429 for a caller who sends too many."""

    def __init__(self, app: ASGIApp, archive: Archive | None, limiter: RateLimiter) -> None:
        """`archive`: whose keys are needed; None if no key is."""
        self._app, self._archive, self._limiter = app, archive, limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refuse(Request(scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refuse(self, request: Request) -> PlainTextResponse | None:
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        key = verify_key(self._archive, text.strip()) if self._archive and scheme.lower() == "bearer" else None
        caller = key.id if key else request.client.host if request.client else ""
        if wait_s := self._limiter.acquire(caller):
            headers = {"retry-after": str(math.ceil(wait_s))}
            return PlainTextResponse(f"too many requests; wait {wait_s:.2f} s\n", 429, headers)
        if self._archive and not (key and key.allows("read")):
            detail = "a key is needed: Authorization: Bearer KEY; see askalike keys create\n"
            return PlainTextResponse(detail, 401, {"www-authenticate": "Bearer"})
        return None


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
    limits = ServiceSettings(archives=(archive,))
    protocol = partial(
        TimedHttpProtocol, receive_s=limits.receive_s, max_connections=limits.max_connections, half_open=Counter()
    )
    with (
        Archive.open(archive) as keys,
        listen(host, port) as listener,
        TemporaryDirectory(prefix="askalike-") as folder,
    ):
        if not keyless and not has_active_key(keys):
            raise SettingsError(f"a key is needed at {host}; make one: askalike keys create {archive}")
        limiter = RateLimiter(create_shared_file(Path(folder)), limits.requests_per_s, limits.burst)
        app = CallerMiddleware(app, None if keyless else keys, limiter)
        announce(f"{base_url(listener)}{ADDRESS_PATH}")
        config = uvicorn.Config(
            app,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            ws="none",
            http=protocol,  # type: ignore[arg-type]
        )
        uvicorn.Server(config).run([listener])
