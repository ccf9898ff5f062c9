"""Gives every request an id, and the log a line on each answer."""

import re
import time
from secrets import token_hex
from typing import Any

from prometheus_client import Counter, Histogram
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askalike.service.log import log_event

REQUESTS = Counter("askalike_requests", "Requests by their status", ["method", "status"])
LATENCY_BUCKETS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 1, 5)
REQUEST_SECONDS = Histogram("askalike_request_seconds", "Time of a request", ["endpoint"], buckets=LATENCY_BUCKETS_S)
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")
REQUEST_ID_HEADER = "x-request-id"
REQUEST_ID_PATTERN = re.compile("[A-Za-z0-9._-]{1,64}")
"""An id that a client or a proxy may give; anything else is replaced by one of ours."""


class TracingMiddleware:
    """ASGI middleware: the id is in `request.state.id` and in the answer's header."""

    def __init__(self, app: ASGIApp, log_texts: bool) -> None:
        self._app = app
        self._log_texts = log_texts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        request.state.id = id = _request_id(request)
        started, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (REQUEST_ID_HEADER.encode(), id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            took_s = time.perf_counter() - started
            REQUESTS.labels(request.method if request.method in METHODS else "other", status).inc()
            REQUEST_SECONDS.labels(getattr(scope.get("endpoint"), "__name__", "none")).observe(took_s)
            log_event("request", **self._log_fields(request, status, took_s))

    def _log_fields(self, request: Request, status: int, took_s: float) -> dict[str, Any]:
        texts = {"query": request.scope["query_string"].decode("latin-1")} if self._log_texts else {}
        return {
            "request_id": request.state.id,
            "method": request.method,
            "path": request.scope["path"],
            "status": status,
            "took_ms": round(1000 * took_s, 2),
            **texts,
            **getattr(request.state, "facts", {}),
        }


def add_log_fields(request: Request, **fields: Any) -> None:
    """Adds facts to the request's line in the log."""
    request.state.facts = getattr(request.state, "facts", {}) | fields


def _request_id(request: Request) -> str:
    given = request.headers.get(REQUEST_ID_HEADER, "")
    return given if REQUEST_ID_PATTERN.fullmatch(given) else token_hex(8)
