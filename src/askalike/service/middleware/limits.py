"""Refuses bodies that are too long, too slow, or of another kind than is taken, before anything reads them."""

import asyncio
import time

from fastapi import HTTPException, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askalike.service.requests.problems import problem_response

JSON_TYPES = ("application/json",)
FORM_TYPES = ("application/x-www-form-urlencoded",)
"""What the pages send; those check where a form comes from."""


class BodyLimitMiddleware:
    """ASGI middleware: 413 for a body over the limit, said to be or found to be; 408 for one that takes too long to
    arrive; 415 for one that is not JSON; 400 for one whose length is told in two ways.

    Pages send forms instead. A page of another site cannot send JSON without being allowed to (CORS), which a form or
    a plain body would not ask for.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, receive_s: float) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._receive_s = receive_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or refuses it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if refusal := self._check_headers(request):
            await problem_response(request, *refusal)(scope, receive, send)
            return
        await self._app(scope, self._limit_receive(receive), send)

    def _check_headers(self, request: Request) -> tuple[int, str] | None:
        size = request.headers.get("content-length", "0")
        if size.isdigit() and int(size) > self._max_bytes:
            return self._too_long_error()
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        chunked = "transfer-encoding" in request.headers
        if chunked and "content-length" in request.headers:
            return 400, "content-length: told beside transfer-encoding; send one of them"
        has_body = chunked or size != "0"
        taken = JSON_TYPES if request.url.path.startswith("/v1/") else FORM_TYPES
        if has_body and media_type not in taken:
            return 415, f"content-type: {media_type or 'none'} is not taken; send {' or '.join(taken)}"
        return None

    def _too_long_error(self) -> tuple[int, str]:
        return 413, f"body: longer than the {self._max_bytes} bytes that are taken; send less at a time"

    def _limit_receive(self, receive: Receive) -> Receive:
        taken, whole, until = 0, False, time.monotonic() + self._receive_s

        async def counted() -> Message:
            nonlocal taken, whole
            if whole:
                return await receive()
            message = await self._receive_in_time(receive, until)
            whole = not message.get("more_body", False)
            taken += len(message.get("body", b""))
            if taken > self._max_bytes:
                raise HTTPException(*self._too_long_error())
            return message

        return counted

    async def _receive_in_time(self, receive: Receive, deadline: float) -> Message:
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                return await receive()
        except TimeoutError:
            late = f"body: not here within {self._receive_s:g} s; send it faster, or less at a time"
            raise HTTPException(408, late, {"connection": "close"}) from None
