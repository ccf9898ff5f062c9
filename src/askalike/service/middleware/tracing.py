"""Gives every request an id, and logs every response."""

import re
import time
from secrets import token_hex

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askalike.service.log import log_event
from askalike.service.metrics import REQUEST_SECONDS, REQUESTS
from askalike.service.requests.context import REQUEST_ID_HEADER, REQUEST_STATE_KEY, RequestState

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")
REQUEST_ID_PATTERN = re.compile("[A-Za-z0-9._-]{1,64}")
"""Request ids that are accepted from a client or a proxy; any other is replaced."""


class TracingMiddleware:
    """ASGI middleware: sets the id in the request's state and the response's header, logs and counts the response."""

    def __init__(self, app: ASGIApp, log_texts: bool) -> None:
        self._app = app
        self._log_texts = log_texts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        id = request.headers.get(REQUEST_ID_HEADER, "")
        if not REQUEST_ID_PATTERN.fullmatch(id):
            id = token_hex(8)
        state = scope[REQUEST_STATE_KEY] = RequestState(id)
        start, status = time.perf_counter(), 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (REQUEST_ID_HEADER.encode(), id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        finally:
            elapsed_s = time.perf_counter() - start
            REQUESTS.labels(request.method if request.method in METHODS else "other", status).inc()
            REQUEST_SECONDS.labels(getattr(scope.get("endpoint"), "__name__", "none")).observe(elapsed_s)
            texts = {"query": scope["query_string"].decode("latin-1")} if self._log_texts else {}
            log_event(
                "request",
                request_id=id,
                method=request.method,
                path=scope["path"],
                status=status,
                took_ms=round(1000 * elapsed_s, 2),
                **texts,
                **state.log_fields,
            )
