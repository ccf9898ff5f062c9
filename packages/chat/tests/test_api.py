"""Requests and answers: what is refused, waited for, given up, and understood."""

import asyncio
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable
from threading import Event
from typing import Any, TypeVar

import pytest
from aiohttp import ClientSession

from askalike_chat.api import JsonApi, check_address, read
from askalike_chat.chat import Lookups
from askalike_chat.errors import ApiError, BotError, NotUnderstoodError
from askalike_chat.service import Found, Service as Client
from chat_servers import ChatServer, ZulipServer
from http_servers import LocalServer, QuietHandler

ResultT = TypeVar("ResultT")
LOGIN = {"Authorization": f"Basic {b64encode(f'a:{ChatServer.token}'.encode()).decode()}"}


def with_session(work: Callable[[ClientSession], Awaitable[ResultT]]) -> ResultT:
    async def run() -> ResultT:
        async with ClientSession() as session:
            return await work(session)

    return asyncio.run(run())


def test_tokens_are_sent_encrypted_or_not_at_all() -> None:
    with pytest.raises(BotError, match="https://"):
        check_address("http://chat.example")
    with pytest.raises(BotError, match="wss://"):
        check_address("ws://chat.example", schemes=("wss", "ws"))
    for odd in ("chat.example", "https://", "ftp://chat.example", "https://[1"):
        with pytest.raises(BotError, match="address such as"):
            check_address(odd)


@pytest.mark.parametrize("address", ["https://q.example", "https://q.example/desk", "https://q.example/a/desk/x"])
def test_a_service_is_named_by_its_archive(address: str) -> None:
    async def make(session: ClientSession) -> Client:
        return Client(session, address)

    with pytest.raises(BotError, match="such as https://questions.example/a/desk"):
        with_session(make)


def test_a_dead_server_is_an_error() -> None:
    async def post(session: ClientSession) -> Any:
        return await JsonApi(session, server.address, LOGIN).send_form("POST", "api/v1/messages", {})

    with ZulipServer() as server:
        for asked in (10_000, "nan"):
            server.faults.append((429, {"retry_after": asked}))
            with pytest.raises(ApiError, match="asks to wait"):
                with_session(post)
    with pytest.raises(ApiError, match="does not answer"):
        with_session(post)


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("drips_in", ["header", "body"])
def test_an_answer_that_drips_is_given_up(status: int, drips_in: str) -> None:
    """A byte at a time, for longer than the whole exchange may take: also in the body of an error."""
    is_given_up = Event()

    class Dripping(QuietHandler):
        def do_GET(self) -> None:
            beginning = f"HTTP/1.1 {status} X\r\n"
            if drips_in == "body":
                beginning += "Content-Length: 100000\r\nContent-Type: application/json\r\n\r\n"
            self.wfile.write(beginning.encode())
            try:
                for _ in range(200):
                    if is_given_up.wait(0.05):
                        break
                    self.wfile.write(b"x")
                    self.wfile.flush()
            except OSError:
                pass

    async def get(session: ClientSession) -> Any:
        api = JsonApi(session, server.address, {})
        with pytest.raises(ApiError, match="no complete answer within 0.3 s"):
            await api._send("GET", "x", b"", "", 0.3)

    server = LocalServer(Dripping)
    try:
        with_session(get)
    finally:
        is_given_up.set()
        server.server_close()


def test_a_redirect_is_not_followed_with_the_token() -> None:
    seen: list[str] = []

    class Redirecting(QuietHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.reply(b"", 302, location="/elsewhere")

    async def get(session: ClientSession) -> Any:
        return await JsonApi(session, server.address, LOGIN).get("x")

    server = LocalServer(Redirecting)
    with pytest.raises(ApiError, match="answered 302"):
        with_session(get)
    server.server_close()
    assert seen == ["/x"]


def test_what_is_not_understood_names_its_place() -> None:
    with pytest.raises(NotUnderstoodError, match=r"Found: results.0.title: "):
        read(Found, {"results": [{"id": "r1"}], "likely_from": 0.5})
    with pytest.raises(NotUnderstoodError, match="Found: it: "):
        read(Found, [])


def test_a_channel_is_asked_for_hourly(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def ask(id: str) -> str:
        asked.append(id)
        return id

    async def look_up(*ids: str) -> list[str]:
        return [await channels.get(id) for id in ids]

    channels = Lookups(ask)
    assert asyncio.run(look_up("a", "b", "a")) == ["a", "b", "a"]
    later = time.monotonic() + 3601
    with monkeypatch.context() as patched:
        patched.setattr("askalike_chat.chat.time.monotonic", lambda: later)
        answered = look_up("a")
        with pytest.raises(StopIteration) as stopped:
            answered.send(None)
    assert stopped.value.value == ["a"]
    assert asked == ["a", "b", "a"]
