"""uvicorn's HTTP/1.1 protocol, with timeouts for slow clients and errors in the service's format.

Without timeouts, a request that arrives byte by byte, or a response that nobody reads, would occupy its connection
forever.
"""

import asyncio
from collections import Counter
from functools import partial
from http import HTTPStatus
from secrets import token_hex
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from askalike.service.problems import MEDIA_TYPE, make_problem
from askalike.service.request_state import REQUEST_ID_HEADER
from askalike.service.settings import ServiceSettings
from askalike.service.telemetry import REQUESTS

GRACE_S = 1.0
"""Seconds after the application's own time limit for bodies before the protocol closes a connection."""
MAX_HEAD_BYTES = 32 << 10
INVALID_REQUEST = "this is not a valid HTTP/1.1 request"


class TimedHttpProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(
        self, *args: Any, receive_s: float, max_connections: int, half_open: Counter[str], **kwargs: Any
    ) -> None:
        """`receive_s`: time limit for receiving a request; `max_connections`: maximum that this process keeps open.

        half_open: address → its connections whose request is not complete, in this process.
        """
        super().__init__(*args, **kwargs)
        self._half_open = half_open
        self._counted_address = ""
        self._receive_s = receive_s
        self._max_connections = max_connections
        self._abort_timer: asyncio.TimerHandle | None = None
        self._arriving = False
        self._head_bytes = 0  # of an incomplete head

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        address = self._address()
        if len(self.connections) > self._max_connections or 2 * self._half_open[address] >= self._max_connections:
            transport.abort()  # too many
        else:
            self._count_as_half_open(True)
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._count_as_half_open(False)
        self._stop_timer()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._arriving and "path" not in self.scope:  # its head is not complete
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.send_400_response(INVALID_REQUEST)
        self._update_timer()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._arriving, self._head_bytes = True, 0
        self._count_as_half_open(True)

    def on_headers_complete(self) -> None:
        """Check the head. Raises ValueError, which the parser reports, if it is too long or does not have one host."""
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() != "1.0"):
            raise ValueError("expected one Host header")
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD_BYTES:
            raise ValueError("the header is too long")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._arriving = False
        self._count_as_half_open(False)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._stop_timer()
        self._update_timer()

    def send_400_response(self, msg: str) -> None:
        """Answer that this is not a valid request if a response can still be sent, and close the connection."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            id = token_hex(8)
            status = HTTPStatus.BAD_REQUEST
            body = make_problem(status, INVALID_REQUEST, id).model_dump_json().encode()
            head = (
                f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n{REQUEST_ID_HEADER}: {id}\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        REQUESTS("other", 400).inc()
        self.transport.close()

    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def _count_as_half_open(self, value: bool) -> None:
        if value != bool(self._counted_address):
            address = self._counted_address or self._address()
            self._half_open[address] += 1 if value else -1
            if not self._half_open[address]:
                del self._half_open[address]
            self._counted_address = address if value else ""

    def _update_timer(self) -> None:
        """Run the timer while a request is arriving or its response is still being read."""
        if self._arriving or self.transport.get_write_buffer_size() > 0:
            self._start_timer()
        else:
            self._stop_timer()

    def _start_timer(self) -> None:
        if self._abort_timer is None:
            self._abort_timer = self.loop.call_later(self._receive_s + GRACE_S, self._on_timeout)

    def _stop_timer(self) -> None:
        if self._abort_timer is not None:
            self._abort_timer.cancel()
            self._abort_timer = None

    def _on_timeout(self) -> None:
        self._abort_timer = None
        if not self.transport.is_closing() or self.transport.get_write_buffer_size():
            self.transport.abort()


def configure(app: ASGIApp, settings: ServiceSettings, **options: Any) -> uvicorn.Config:
    """Return uvicorn's configuration for an application, with this protocol and its limits. options: further ones."""
    protocol = partial(
        TimedHttpProtocol,
        receive_s=settings.receive_s,
        max_connections=settings.max_connections,
        half_open=Counter[str](),
    )
    return uvicorn.Config(
        app,
        http=protocol,  # type: ignore[arg-type]
        ws="none",
        server_header=False,
        proxy_headers=False,
        **options,
    )
