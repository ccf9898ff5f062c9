"""HTTP/1.1 as uvicorn speaks it, with an end to whatever takes too long, and errors in the service's shape.

A request that arrives a byte at a time, or an answer that nobody fetches, would else keep its connection for ever.
"""

import asyncio
from functools import partial
from secrets import token_hex
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from askalike.service.problems import MEDIA_TYPE, problem_body
from askalike.service.settings import ServiceSettings
from askalike.service.tracing import ANSWERED, HEADER

GRACE_S = 1.0
"""By so much the application, which answers, comes before the connection is cut."""
NO_HTTP = "this is no valid HTTP/1.1 request"


class Protocol(H11Protocol):
    """One connection."""

    def __init__(self, *arguments: Any, receive_s: float, most: int, **named: Any) -> None:
        """`receive_s`: as long a request may take to arrive; `most`: as many connections this process keeps."""
        super().__init__(*arguments, **named)
        self._receive_s = receive_s
        self._most = most
        self._cut: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes a connection, or closes it at once where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._most:
            transport.abort()
            return
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        super().connection_lost(exc)
        self._rest()

    def data_received(self, data: bytes) -> None:
        """Something has come."""
        super().data_received(data)
        if self._busy():
            self._watch()
        else:
            self._rest()

    def on_response_complete(self) -> None:
        """An answer was written; it may still have to be fetched."""
        super().on_response_complete()
        self._rest()
        if self._busy():
            self._watch()

    def send_400_response(self, msg: str) -> None:
        """Says that this is no request, where an answer can still be given, and ends the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            id = token_hex(8)
            body = problem_body(400, NO_HTTP, "", id)
            headers = [("content-type", MEDIA_TYPE), ("content-length", str(len(body))), ("connection", "close")]
            for event in (
                h11.Response(status_code=400, headers=[*headers, (HEADER, id)], reason=b"Bad Request"),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        ANSWERED.labels("other", 400).inc()
        self.transport.close()

    def _busy(self) -> bool:
        """Whether a request is arriving, or its answer is still being fetched."""
        begun = self.conn.their_state is h11.IDLE and self.conn.trailing_data[0] != b""
        return begun or self.conn.their_state is h11.SEND_BODY or self.transport.get_write_buffer_size() > 0

    def _watch(self) -> None:
        if self._cut is None:
            self._cut = self.loop.call_later(self._receive_s + GRACE_S, self._time_is_up)

    def _rest(self) -> None:
        if self._cut is not None:
            self._cut.cancel()
            self._cut = None

    def _time_is_up(self) -> None:
        self._cut = None
        if not self.transport.is_closing() or self.transport.get_write_buffer_size():
            self.transport.abort()


def protocol(settings: ServiceSettings) -> Any:
    """What uvicorn makes a connection's protocol with."""
    return partial(Protocol, receive_s=settings.receive_s, most=settings.max_connections)
