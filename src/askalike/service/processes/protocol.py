"""HTTP/1.1 as uvicorn speaks it, with timeouts for slow clients and errors in the service's shape.

Without timeouts a request that arrives a byte at a time, or a response that nobody reads, would keep its connection.
"""

import asyncio
from functools import partial
from http import HTTPStatus
from secrets import token_hex
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from askalike.service.metrics import REQUESTS
from askalike.service.requests.context import REQUEST_ID_HEADER
from askalike.service.requests.problems import MEDIA_TYPE, problem_body
from askalike.service.settings import ServiceSettings

GRACE_S = 1.0
"""How much longer than the application, which answers late bodies, the protocol waits before it cuts a connection."""
MAX_HEAD_BYTES = 32 << 10
INVALID_REQUEST = "this is no valid HTTP/1.1 request"


class TimedHttpProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, receive_s: float, max_connections: int, **kwargs: Any) -> None:
        """`receive_s`: how long a request may take to arrive; `max_connections`: how many this process keeps open."""
        super().__init__(*args, **kwargs)
        self._receive_s = receive_s
        self._max_connections = max_connections
        self._abort_timer: asyncio.TimerHandle | None = None
        self._arriving = False
        self._head_bytes = 0  # of a head that is not complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, or close it at once where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._max_connections:
            transport.abort()
            return
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer of a connection that has ended."""
        super().connection_lost(exc)
        self._stop_timer()

    def data_received(self, data: bytes) -> None:
        """Parse the data, and time what is still incomplete."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._is_head_incomplete():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.send_400_response(INVALID_REQUEST)
        if self._is_busy():
            self._start_timer()
        else:
            self._stop_timer()

    def on_message_begin(self) -> None:
        """Note that a request begins to arrive."""
        super().on_message_begin()
        self._arriving, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        """Check the head. Raises ValueError, which the parser reports, for one that is too long or has not one host."""
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() != "1.0"):
            raise ValueError("one host is expected")
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD_BYTES:
            raise ValueError("the head is too long")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the request has arrived with its body."""
        super().on_message_complete()
        self._arriving = False

    def on_response_complete(self) -> None:
        """Time the client's reading of a response that was written."""
        super().on_response_complete()
        self._stop_timer()
        if self._is_busy():
            self._start_timer()

    def send_400_response(self, msg: str) -> None:
        """Answer that this is no request, where a response can still be sent, and end the connection."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(_bad_request_response())
        REQUESTS.labels("other", 400).inc()
        self.transport.close()

    def _is_head_incomplete(self) -> bool:
        """Return whether a head has begun to arrive and is not complete."""
        return self._arriving and "path" not in self.scope

    def _is_busy(self) -> bool:
        """Return whether a request is arriving, or its response is still being read."""
        return self._arriving or self.transport.get_write_buffer_size() > 0

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


def _bad_request_response() -> bytes:
    """Return a response that says that this is no request."""
    id = token_hex(8)
    body = problem_body(400, INVALID_REQUEST, id)
    status = HTTPStatus.BAD_REQUEST
    headers = {"content-type": MEDIA_TYPE, "content-length": len(body), "connection": "close", REQUEST_ID_HEADER: id}
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def create_protocol_factory(settings: ServiceSettings) -> Any:
    """Return the function with which uvicorn creates the protocol of a connection."""
    return partial(TimedHttpProtocol, receive_s=settings.receive_s, max_connections=settings.max_connections)
