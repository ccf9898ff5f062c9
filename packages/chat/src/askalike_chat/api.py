"""Requests to HTTP interfaces: JSON, one time limit for a whole exchange, pauses that rate limits ask for."""

import asyncio
import json
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

from aiohttp import ClientError, ClientSession
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from askalike_chat.errors import ApiError, BotError, NotUnderstoodError, RefusedBotError

TIMEOUT_S = 30.0
MAX_RESPONSE_BYTES = 32 << 20
CHUNK_BYTES = 1 << 16
MAX_TRIES = 4
FIRST_PAUSE_S = 0.5
MAX_WAIT_S = 300.0
"""The longest wait that is obeyed; a longer one is an error, so that an old thread is not answered after hours."""
TEMPORARY = ("unreachable", "500", "502", "503", "504")
"""Codes of errors after which a request that changes nothing is sent again."""
ModelT = TypeVar("ModelT")


class Model(BaseModel):
    """A part of what a server sends; fields that are not named are ignored, and ids are text."""

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)


def read(model: type[ModelT], value: Any, *path: str) -> ModelT:
    """Return a value from a server, or what it has at a path, in its expected form. Raises NotUnderstoodError."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    try:
        return TypeAdapter(model).validate_python(value)
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, (*path, *wrong["loc"]))) or "it"
        raise NotUnderstoodError(f"{model.__name__}: {place}: {wrong['msg']}", "not understood") from None


def is_loopback(host: str) -> bool:
    """Return whether an address or a host name is this machine's own."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(address: str, *, schemes: tuple[str, str] = ("https", "http")) -> str:
    """Return an address to which tokens may be sent: encrypted, or on this machine. Raises BotError."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host or parts.scheme not in schemes:
        raise BotError(f"{address!r}: expected an address such as {schemes[0]}://example.org")
    if parts.scheme == schemes[1] and not is_loopback(host):
        raise BotError(f"{address}: tokens are sent there; expected an address that begins with {schemes[0]}://")
    return address


def find_proxy(address: str) -> str | None:
    """Return the proxy for an address that the environment names; None if there is none."""
    parts = urlsplit(address)
    scheme = {"wss": "https", "ws": "http"}.get(parts.scheme, parts.scheme)
    return None if proxy_bypass(parts.netloc) else getproxies().get(scheme)


class JsonApi:
    """The HTTP interface at an address. headers: sent with each request."""

    def __init__(self, session: ClientSession, address: str, headers: Mapping[str, str]) -> None:
        self._session = session
        self._headers = {"User-Agent": "askalike", **headers}
        self._address = check_address(address.rstrip("/"))

    async def get(self, path: str, query: Mapping[str, Any] | None = None, timeout_s: float = TIMEOUT_S) -> Any:
        """Return the JSON at a path; a request that fails is repeated. Raises ApiError."""
        place = f"{path}?{urlencode(query)}" if query else path
        return await self._repeat("GET", place, b"", "", timeout_s)

    async def ask_json(self, path: str, body: Any, tries: int = MAX_TRIES) -> Any:
        """Return the answer to JSON that changes nothing, or nothing more if it is sent again. Raises ApiError."""
        return await self._repeat("POST", path, _to_json(body), "application/json", TIMEOUT_S, tries)

    async def send_json(self, method: str, path: str, body: Any) -> Any:
        """Send JSON, once: whether a request without an answer was obeyed cannot be seen. Raises ApiError."""
        kind = "application/json" if body is not None else ""
        return await self._send(method, path, _to_json(body), kind, TIMEOUT_S)

    async def send_form(self, method: str, path: str, fields: Mapping[str, Any]) -> Any:
        """The same with a form."""
        return await self._send(
            method, path, urlencode(fields).encode(), "application/x-www-form-urlencoded", TIMEOUT_S
        )

    async def _repeat(
        self, method: str, place: str, body: bytes, kind: str, timeout_s: float, tries: int = MAX_TRIES
    ) -> Any:
        pause_s = FIRST_PAUSE_S
        for n in range(1, tries + 1):
            try:
                return await self._send(method, place, body, kind, timeout_s)
            except ApiError as error:
                if error.code not in TEMPORARY or n == tries:
                    raise
            await asyncio.sleep(pause_s)
            pause_s *= 2
        return None

    async def _send(self, method: str, place: str, body: bytes, kind: str, timeout_s: float) -> Any:
        """Return the answer; one that says that the request came too early is asked for again."""
        address = f"{self._address}/{place}"
        shown = address.partition("?")[0]
        headers = self._headers | ({"Content-Type": kind} if kind else {})
        for _ in range(MAX_TRIES):
            status, asked_wait, content = await self._exchange(method, address, headers, body, timeout_s)
            answer = _parse_json(content)
            if 200 <= status < 300:
                if content and answer is None:
                    raise NotUnderstoodError(f"{shown}: its answer is not JSON", "not understood")
                return answer
            await asyncio.sleep(_wait_or_raise(status, asked_wait, answer, shown))
        raise ApiError(f"{shown}: too many requests", "429")

    async def _exchange(
        self, method: str, address: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> tuple[int, str, bytes]:
        """Return status, Retry-After and content of the response, which has to be complete in time."""
        shown = address.partition("?")[0]
        content = bytearray()
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._session.request(
                    method, address, data=body or None, headers=headers, allow_redirects=False,
                    proxy=find_proxy(address),
                ) as response,
            ):  # fmt: skip
                async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                    content += chunk
                    if len(content) > MAX_RESPONSE_BYTES:
                        raise ApiError(f"{shown}: its answer is over {MAX_RESPONSE_BYTES >> 20} MB", "too long")
                return response.status, response.headers.get("Retry-After", ""), bytes(content)
        except TimeoutError:
            raise ApiError(f"{shown}: no complete answer within {timeout_s:g} s", "unreachable") from None
        except (ClientError, OSError) as error:
            raise ApiError(f"{shown}: does not answer ({error or type(error).__name__})", "unreachable") from None


def _to_json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode(errors="replace") if body is not None else b""


def _parse_json(content: bytes) -> Any:
    try:
        return json.loads(content) if content else None
    except (ValueError, RecursionError):
        return None


def _wait_or_raise(status: int, asked_wait: str, answer: Any, shown: str) -> float:
    """Return how long a rate limit asks to wait. Raises ApiError for any other error."""
    told = answer if isinstance(answer, dict) else {}
    if status != 429:
        text = str(told.get("msg") or told.get("message") or "")
        kind = RefusedBotError if status == 401 else ApiError
        raise kind(f"{shown}: answered {status} {text}".rstrip(), str(told.get("code") or status))
    asked = told.get("retry_after", told.get("retry-after", asked_wait))
    try:
        wait_s = max(float(str(asked)), 0.0)
    except ValueError:
        wait_s = 1.0
    if not wait_s <= MAX_WAIT_S:
        raise ApiError(f"{shown}: too many requests; it asks to wait {wait_s:.0f} s", "429")
    return wait_s
