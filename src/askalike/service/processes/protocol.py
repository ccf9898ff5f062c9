"""HTTP/1.1 as uvicorn speaks it, with an end to whatever takes too long, and errors in the service's shape.

A request that arrives a byte at a time, or an answer that nobody fetches, would else keep its connection for ever.
"""

import asyncio
from functools import partial
from http import HTTPStatus
from secrets import token_hex
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from askalike.service.middleware.tracing import REQUEST_ID_HEADER, REQUESTS
from askalike.service.requests.problems import MEDIA_TYPE, problem_body
from askalike.service.settings import ServiceSettings

GRACE_S = 1.0
"""By so much the application, which answers, comes before the connection is cut."""
MAX_HEAD_BYTES = 32 << 10
INVALID_REQUEST = "this is no valid HTTP/1.1 request"


class TimedHttpProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, receive_s: float, max_connections: int, **kwargs: Any) -> None:
        """`receive_s`: as long a request may take to arrive; `most`: as many connections this process keeps."""
        super().__init__(*args, **kwargs)
        self._receive_s = receive_s
        self._max_connections = max_connections
        self._abort_timer: asyncio.TimerHandle | None = None
        self._arriving = False
        self._head_bytes = 0  # bytes of a head that is not whole yet

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes a connection, or closes it at once where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._max_connections:
            transport.abort()
            return
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        super().connection_lost(exc)
        self._stop_timer()

    def data_received(self, data: bytes) -> None:
        """Something has come."""
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
        """A request begins to arrive."""
        super().on_message_begin()
        self._arriving, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        """Its head is here. Raises ValueError, which the parser tells, for one too long or without its one host."""
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() != "1.0"):
            raise ValueError("one host is expected")
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD_BYTES:
            raise ValueError("the head is too long")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is here, its body too."""
        super().on_message_complete()
        self._arriving = False

    def on_response_complete(self) -> None:
        """An answer was written; it may still have to be fetched."""
        super().on_response_complete()
        self._stop_timer()
        if self._is_busy():
            self._start_timer()

    def send_400_response(self, msg: str) -> None:
        """Says that this is no request, where an answer can still be given, and ends the connection."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(_bad_request_response())
        REQUESTS.labels("other", 400).inc()
        self.transport.close()

    def _is_head_incomplete(self) -> bool:
        """Whether a head has begun to arrive and is not whole."""
        return self._arriving and "path" not in self.scope

    def _is_busy(self) -> bool:
        """Whether a request is arriving, or its answer is still being fetched."""
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
    """An answer that says that this is no request."""
    id = token_hex(8)
    body = problem_body(400, INVALID_REQUEST, "", id)
    status = HTTPStatus.BAD_REQUEST
    headers = {"content-type": MEDIA_TYPE, "content-length": len(body), "connection": "close", REQUEST_ID_HEADER: id}
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def create_protocol_factory(settings: ServiceSettings) -> Any:
    """What uvicorn makes a connection's protocol with."""
    return partial(TimedHttpProtocol, receive_s=settings.receive_s, max_connections=settings.max_connections)
