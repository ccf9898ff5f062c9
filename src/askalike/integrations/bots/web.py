"""Requests to a chat's HTTP interface: JSON, one pause for all that its rate limits ask for, and plain errors."""

import json
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from threading import Event
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit

from askalike.core.errors import SettingsError
from askalike.core.network import fetch
from askalike.core.values import is_loopback, parse_url
from askalike.integrations.bots.chat import ChatError, RefusedBotError

TIMEOUT_S = 30.0
MAX_RESPONSE_BYTES = 32 << 20
MAX_TRIES = 4
FIRST_PAUSE_S = 0.5
MAX_WAIT_S = 300.0
"""The longest wait that is obeyed; a longer one is an error, so that an old thread is not answered after hours."""


def check_address(address: str, *, schemes: tuple[str, str] = ("https", "http")) -> str:
    """Return an address to which tokens may be sent: encrypted, or on this machine. Raises SettingsError."""
    parts = urlsplit(address)
    if parts.scheme == schemes[0] or (parts.scheme == schemes[1] and is_loopback(parts.hostname or "")):
        return address
    raise SettingsError(f"{address}: tokens are sent there; expected an address that begins with {schemes[0]}://")


class ApiClient:
    """The HTTP interface at an address. headers: sent with each request. stop: ends all waits."""

    def __init__(self, address: str, headers: Mapping[str, str], stop: Event) -> None:
        try:
            self._address = check_address(parse_url(address.rstrip("/")))
        except ValueError as error:
            raise SettingsError(str(error)) from None
        self._headers, self._stop = headers, stop

    def get(self, path: str, query: Mapping[str, Any] | None = None, timeout_s: float = TIMEOUT_S) -> Any:
        """Return the JSON at a path; a request that fails is repeated. Raises ChatError."""
        place = f"{path}?{urlencode(query)}" if query else path
        pause = FIRST_PAUSE_S
        for n in range(1, MAX_TRIES + 1):
            try:
                return self._send("GET", place, None, "", timeout_s)
            except ChatError as error:
                if error.code not in ("unreachable", "500", "502", "503", "504") or n == MAX_TRIES:
                    raise
            if self._stop.wait(pause):
                break
            pause *= 2
        raise ChatError(f"{self._address}: ended while waiting", "stopped")

    def send_json(self, method: str, path: str, body: Any) -> Any:
        """Send JSON, once: whether a request without an answer was obeyed cannot be seen. Raises ChatError."""
        return self._send(method, path, json.dumps(body).encode(), "application/json", TIMEOUT_S)

    def send_form(self, method: str, path: str, fields: Mapping[str, Any]) -> Any:
        """The same with a form."""
        return self._send(method, path, urlencode(fields).encode(), "application/x-www-form-urlencoded", TIMEOUT_S)

    def _send(self, method: str, path: str, body: bytes | None, kind: str, timeout_s: float) -> Any:
        """Return the answer; one that says that the request came too early is asked for again."""
        address = f"{self._address}/{path}"
        shown = address.partition("?")[0]
        headers = {"User-Agent": "askalike", **self._headers} | ({"Content-Type": kind} if kind else {})
        for _ in range(MAX_TRIES):
            try:
                request = urllib.request.Request(address, body, headers, method=method)
                content = fetch(request, timeout_s, MAX_RESPONSE_BYTES)
                return json.loads(content) if content else None
            except HTTPError as error:
                wait_s = self._wait_or_raise(error, shown)
            except (OSError, HTTPException) as error:
                raise ChatError(f"{shown}: does not answer ({error or type(error).__name__})", "unreachable") from None
            except (ValueError, RecursionError) as error:
                raise ChatError(f"{shown}: its answer is not JSON ({error})", "unreachable") from None
            if self._stop.wait(wait_s):
                break
        raise ChatError(f"{shown}: too many requests", "429")

    def _wait_or_raise(self, error: HTTPError, shown: str) -> float:
        """Return how long a rate limit asks to wait. Raises ChatError for any other error."""
        with error:
            try:
                answer = json.loads(error.read())
            except (OSError, HTTPException, ValueError, RecursionError):
                answer = None
        answer = answer if isinstance(answer, dict) else {}
        if error.code != 429:
            text = str(answer.get("msg") or answer.get("message") or error.reason)
            kind = RefusedBotError if error.code == 401 else ChatError
            raise kind(f"{shown}: answered {error.code} {text}", str(answer.get("code") or error.code))
        asked = answer.get("retry_after", answer.get("retry-after", error.headers.get("Retry-After")))
        try:
            wait_s = max(float(str(asked)), 0.0)
        except ValueError:
            wait_s = 1.0
        if wait_s > MAX_WAIT_S:
            raise ChatError(f"{shown}: too many requests; it asks to wait {wait_s:.0f} s", "429")
        return wait_s
