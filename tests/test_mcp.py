"""`askalike mcp`, asked by the SDK's own client: over both transports, with the current protocol and that of 2025."""

import json
import os
import re
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from askalike.mcp import create_server
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.store import Archive
from askalike.store.keys import create_key
from calibration.riverside import riverside
from commands import MAIN, askalike, environment
from preloaded import PreloadedProcess
from waiting import PATIENCE_S, run

WORDS = "lm_jelinek_mercer"
LOST_CARD = "I have lost my library card"
ResultT = TypeVar("ResultT")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return riverside(tmp_path_factory.mktemp("assistants") / "riverside")


@pytest.fixture(scope="module")
def engine(archive: Path) -> Iterator[ArchiveRetriever]:
    with ArchiveRetriever.open(archive, WORDS) as engine:
        yield engine


@pytest.fixture(scope="module")
def http_server(archive: Path) -> Iterator[str]:
    """The address of `askalike mcp --http` in a process of its own."""
    with serve(archive) as address:
        yield address


@contextmanager
def serve(archive: Path, *options: str) -> Iterator[str]:
    process = PreloadedProcess(["mcp", archive, "-r", WORDS, "--http", "--port", "0", *options], os.environ)
    lines = iter(process.stderr.readline, "")
    yield next(match[0] for line in lines if (match := re.search(r"http://\S+", line)))
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) in (0, -15)
    process.stderr.close()


def ask(server: Any, question: Callable[[Client], Awaitable[ResultT]], mode: Any = "auto") -> ResultT:
    async def connect() -> ResultT:
        async with Client(server, mode=mode, read_timeout_seconds=120) as client:
            return await question(client)

    return run(connect())


def call(server: Any, tool: str, mode: Any = "auto", **arguments: Any) -> Any:
    """The structured output of a tool, which is its text, too; the text alone where it is an error."""
    result = ask(server, lambda client: client.call_tool(tool, arguments), mode)
    [content] = result.content
    if result.is_error:
        return content.text
    assert json.loads(content.text) == result.structured_content
    return result.structured_content


async def use_every_tool(client: Client) -> dict[str, Any]:
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ["search", "fetch", "similar_questions"]
    assert all(tool.annotations and tool.annotations.read_only_hint and tool.output_schema for tool in tools)
    found = (await client.call_tool("search", {"query": LOST_CARD})).structured_content["results"]
    fetched = (await client.call_tool("fetch", {"id": found[0]["id"]})).structured_content
    similar = (await client.call_tool("similar_questions", {"title": LOST_CARD})).structured_content
    return {"found": found, "fetched": fetched, "similar": similar}


@pytest.mark.parametrize(
    ("transport", "mode"),
    [
        pytest.param("http", "auto", marks=pytest.mark.long),
        ("http", "legacy"),
        ("stdio", "auto"),
        pytest.param("stdio", "legacy", marks=pytest.mark.long),
    ],
)
def test_a_client_lists_and_calls_every_tool(archive: Path, http_server: str, transport: str, mode: Any) -> None:
    command = ["-c", MAIN, "mcp", str(archive), "-r", WORDS]
    started = StdioServerParameters(command=sys.executable, args=command, env=environment())
    used = ask(started if transport == "stdio" else http_server, use_every_tool, mode)
    url = "https://desk.example/q/r013"
    title = "I have lost my library card. What should I do?"
    assert used["found"][0] == {"id": "r013", "title": title, "url": url}
    assert used["fetched"]["text"].startswith(f"{title}\n\n")
    assert "Accepted answer r013_1:\nTell us at once" in used["fetched"]["text"]
    assert used["fetched"]["metadata"]["accepted_answer"] == "r013_1"
    assert {key: used["fetched"][key] for key in ("id", "title", "url")} == used["found"][0]
    first = used["similar"]["questions"][0]
    assert (first["id"], first["url"], first["probability"]) == ("r013", url, None)
    assert {"lost", "library", "card"} <= set(first["matched_words"])
    assert first["fields"]
    assert first["passage"] == ""  # its title matched, and it has no body
    assert first["accepted_answer"]["text"].startswith("Tell us at once")
    assert used["similar"]["abstained"] is False
    assert used["similar"]["ranker"] == WORDS


def test_both_protocols_are_spoken(http_server: str) -> None:
    async def version(client: Client) -> Any:
        return client.session.protocol_version

    versions = [ask(http_server, version, mode) for mode in ("legacy", "auto")]
    assert versions[0].startswith("2025-")
    assert versions[1] > versions[0]


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("search", {"query": 5}, "search: query: expected text"),
        ("search", {}, "search: query: is missing"),
        ("search", {"query": "x" * 1_001}, "search: query: expected at most 1,000 characters"),
        ("fetch", {"id": "nobody"}, "fetch: no question 'nobody'; expected an id that search returned"),
        ("similar_questions", {"title": ["x"]}, "similar_questions: title: expected text"),
        ("similar_questions", {"title": "x", "tags": "cards"}, "similar_questions: tags: expected a list"),
        ("similar_questions", {"title": "x", "tags": ["no such tag"]}, "no such tag"),
        ("similar_questions", {"title": "x", "before": "soon"}, "soon"),
        ("similar_questions", {"title": "x", "min_probability": 2}, "min_probability: expected 1 or less"),
        ("similar_questions", {"title": "x", "min_probability": 0.5}, "not calibrated"),
        ("similar_questions", {"title": "x", "min_prob": 0.5}, "no argument 'min_prob'; expected title, body, tags"),
        ("merge", {}, "merge"),
    ],
)
def test_a_wrong_argument_is_one_clear_line(engine: ArchiveRetriever, tool: str, arguments: Any, problem: str) -> None:
    async def refused(client: Client) -> str:
        try:
            result = await client.call_tool(tool, arguments)
        except Exception as error:  # a tool that does not exist is an error of the protocol for some versions
            return str(error)
        assert result.is_error
        return str(result.content[0].text)

    message = ask(create_server(engine), refused)
    assert problem in message
    assert "\n" not in message


def test_what_is_asked_for_narrows_what_is_found(engine: ArchiveRetriever) -> None:
    server = create_server(engine)
    assert call(server, "similar_questions", title="zyzzyva quux")["abstained"] is True
    assert call(server, "similar_questions", title=LOST_CARD, before="1990-01-01") == {
        "questions": [], "abstained": True, "ranker": WORDS,
    }  # fmt: skip


def test_a_calibrated_archive_gives_probabilities(calibrated_riverside: Path) -> None:
    with ArchiveRetriever.open(calibrated_riverside, WORDS) as engine:
        server = create_server(engine)
        probable = call(server, "similar_questions", title=LOST_CARD, min_probability=0.2)["questions"]
        assert 0.2 <= probable[0]["probability"] <= 1
        assert call(server, "similar_questions", title=LOST_CARD, min_probability=1.0)["abstained"] is True


def test_server_with_keys_answers_who_has_one(archive: Path) -> None:
    with Archive.open(archive) as opened:
        key = create_key(opened, "read")
    with serve(archive, "--require-keys") as address:
        assert httpx2.post(address, json={}).status_code == 401
        wrong = httpx2.post(address, json={}, headers={"Authorization": f"Bearer {key[:-1]}"})
        assert wrong.status_code == 401

        async def search_with_key() -> Any:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
                Client(streamable_http_client(address, http_client=http)) as client,
            ):
                return (await client.call_tool("search", {"query": LOST_CARD})).structured_content

        assert run(search_with_key())["results"][0]["id"] == "r013"


def test_foreign_pages_and_hosts_are_refused(http_server: str) -> None:
    assert httpx2.post(http_server, json={}, headers={"Host": "evil.example"}).status_code == 421
    assert httpx2.post(http_server, json={}, headers={"Origin": "https://evil.example"}).status_code == 403


def test_too_many_requests_are_slowed_down(archive: Path) -> None:
    with serve(archive) as address:
        url = urlsplit(address)
        with socket.create_connection((url.hostname, url.port), timeout=PATIENCE_S) as connection:
            connection.sendall(b"GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n" * 900)
            received = b""
            while b" 429 " not in received:
                received += (part := connection.recv(1 << 16))
                assert part, "closed before a request was turned away"
    assert b" 404 " in received


@pytest.mark.long
def test_requests_that_do_not_arrive_are_cut_off(http_server: str) -> None:
    url = urlsplit(http_server)
    with socket.create_connection((url.hostname, url.port), timeout=PATIENCE_S) as connection:
        connection.sendall(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{")
        assert connection.recv(100) == b""


def test_without_a_key_only_loopback_is_listened_at(tmp_path: Path) -> None:
    riverside(tmp_path / "riverside")
    done = askalike("mcp", tmp_path / "riverside", "-r", WORDS, "--http", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        "askalike: a key is needed at 0.0.0.0; make one: askalike keys create"
    )
