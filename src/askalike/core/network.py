"""Requests to other servers, and the socket that a server of askalike listens on.

A request has one time limit and one size limit for the whole response, and follows no redirect to another origin.
"""

import socket
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from io import BytesIO
from socket import SHUT_RDWR
from typing import Any, Self, cast
from urllib.error import HTTPError
from urllib.parse import urlsplit

from askalike.core.errors import SettingsError

CHUNK_BYTES = 1 << 14
MAX_ERROR_BYTES = 1 << 16
BACKLOG = 1024


def fetch(request: urllib.request.Request, timeout_s: float, max_bytes: int) -> bytes:
    """Return the body of the response.

    timeout_s: for all of it, so that a server that sends a byte a second is given up, too. Raises TimeoutError,
    ValueError if it has more than `max_bytes`, other errors as `urllib.request.urlopen`, and HTTPException. An
    HTTPError has the beginning of its body with it, as far as that came in time.
    """
    content = bytearray()
    deadline = time.monotonic() + timeout_s
    opener = urllib.request.OpenerDirector()
    with _Connections(timeout_s) as connections:
        for handler in (
            urllib.request.ProxyHandler(), urllib.request.HTTPDefaultErrorHandler(), _SameOrigin(),
            urllib.request.HTTPErrorProcessor(), connections,
        ):  # fmt: skip
            opener.add_handler(handler)
        try:
            with opener.open(request, timeout=timeout_s) as response:
                while chunk := response.read1(CHUNK_BYTES):
                    content += chunk
                    if len(content) > max_bytes:
                        raise ValueError(f"its answer is over {max_bytes >> 20} MB")
        except HTTPError as error:
            raise HTTPError(error.url, error.code, error.msg, error.headers, BytesIO(_read_beginning(error))) from None
        except (OSError, HTTPException):
            if time.monotonic() < deadline:
                raise
    if time.monotonic() >= deadline:  # the connection was closed because of it
        raise TimeoutError(f"timed out: no complete answer within {timeout_s:g} s")
    return bytes(content)


def _read_beginning(error: HTTPError) -> bytes:
    """Return up to MAX_ERROR_BYTES of an error's body: what has come until its connection is closed."""
    content = bytearray()
    response = cast(Any, error.fp)
    with error, suppress(OSError, HTTPException, ValueError):
        while len(content) < MAX_ERROR_BYTES and (chunk := response.read1(CHUNK_BYTES)):
            content += chunk
    return bytes(content[:MAX_ERROR_BYTES])


class _SameOrigin(urllib.request.HTTPRedirectHandler):
    """Treats a redirect to another origin as an error: neither a key nor a request inside this network goes there."""

    def redirect_request(self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str):  # type: ignore[no-untyped-def]
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if (old.scheme, old.netloc) != (new.scheme, new.netloc):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Connections(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens the connections of one response, and closes them once its time is over, also while its header arrives."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__()
        self._sockets: list[socket.socket] = []
        self._is_over = False
        self._timer = threading.Timer(timeout_s, self._close)
        self._timer.daemon = True

    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(partial(self._make, HTTPConnection), req)

    def https_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(partial(self._make, HTTPSConnection), req)

    def _make(self, kind: type[HTTPConnection], host: str, **options: Any) -> HTTPConnection:
        connection = kind(host, **options)
        connection.connect = partial(self._connect, connection, connection.connect)  # type: ignore[method-assign]
        return connection

    def _connect(self, connection: HTTPConnection, connect: Callable[[], None]) -> None:
        connect()
        self._sockets.append(connection.sock)  # which the connection forgets when the response has begun
        if self._is_over:
            self._close()

    def _close(self) -> None:
        self._is_over = True
        for own in self._sockets:
            with suppress(OSError):  # it is closed already
                own.shutdown(SHUT_RDWR)

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 means any free port. Raises SettingsError if that is impossible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]  # Python adds the address
        place = _describe_address(host, port)
        raise SettingsError(f"cannot listen at {place}: {reason}; choose another --host or --port") from None


def base_url(listener: socket.socket) -> str:
    """Return the address at which a browser reaches a server."""
    host, port = listener.getsockname()[:2]
    return f"http://{_describe_address(host, port)}"


def _describe_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
