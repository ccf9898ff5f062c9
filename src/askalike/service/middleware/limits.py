"""Refuses request bodies that are too long, too slow or of the wrong media type before a route reads them."""

import asyncio
import time

from fastapi import HTTPException, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askalike.core.counts import format_count
from askalike.service.requests.problems import problem_response


class BodyLimitMiddleware:
    """ASGI middleware: 413 for a body over the limit, 408 for one that arrives too slowly, 415 for another type.

    400 for a request with both a length and chunks. The API accepts only JSON: a page of another site cannot send it
    unless CORS allows that, while it could send a form or plain text. The pages accept only forms, and check their
    origin.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, receive_s: float) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._receive_s = receive_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if refusal := self._check_headers(request):
            await problem_response(request, *refusal)(scope, receive, send)
        else:
            await self._app(scope, self._limit_receive(receive), send)

    def _check_headers(self, request: Request) -> tuple[int, str] | None:
        """Return the status and the reason if the headers already show that the request must be refused; else None."""
        size = request.headers.get("content-length", "0")
        if size.isdigit() and int(size) > self._max_bytes:
            return self._too_long_error()
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        chunked = "transfer-encoding" in request.headers
        if chunked and "content-length" in request.headers:
            return 400, "content-length: sent together with transfer-encoding; send one of them"
        has_body = chunked or size != "0"
        is_api = request.url.path.startswith("/v1/")
        accepted = "application/json" if is_api else "application/x-www-form-urlencoded"
        if has_body and media_type != accepted:
            return 415, f"content-type: {media_type or 'none'} is not accepted; send {accepted}"
        return None

    def _too_long_error(self) -> tuple[int, str]:
        return 413, f"body: longer than {format_count(self._max_bytes, 'byte')}; send less at a time"

    def _limit_receive(self, receive: Receive) -> Receive:
        n_bytes, complete, deadline = 0, False, time.monotonic() + self._receive_s

        async def limited_receive() -> Message:
            nonlocal n_bytes, complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                detail = f"body: did not arrive within {self._receive_s:g} s; send it faster, or less at a time"
                raise HTTPException(408, detail, {"connection": "close"}) from None
            complete = not message.get("more_body", False)
            n_bytes += len(message.get("body", b""))
            if n_bytes > self._max_bytes:
                raise HTTPException(*self._too_long_error())
            return message

        return limited_receive
