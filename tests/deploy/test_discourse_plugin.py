"""`deploy/discourse` in Ruby, loaded by a stand-in of Discourse's plug-in API, with a real service and broken ones."""

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from askalike.core.records import Question
from askalike.store import Archive, keys

sys.path.insert(0, str(Path(__file__).parents[1] / "service"))
pytest.importorskip("fastapi", reason="needs the extra service")
from serving import Service

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "deploy" / "discourse"
STAND_IN = Path(__file__).with_name("discourse_stand_in.rb")
RUBY = shutil.which("ruby")
pytestmark = pytest.mark.skipif(RUBY is None, reason="needs Ruby: apt-get install ruby")
TOPICS = {
    "11": "How do I reset my password?",
    "12": "I forgot my password",
    "slug": "Change the password of an account",
    "14": "Where do I park my bike?",
}
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    path = tmp_path_factory.mktemp("forum") / "forum"
    with Archive.create(path) as archive:
        archive.upsert(Question(id, title, url=f"https://forum.example/t/{id}/13") for id, title in TOPICS.items())
        archive.set_meta(language="en")
        key = keys.create_key(archive, "read")
    served = Service(path, options=("--ranker", "lm_jelinek_mercer", "--set", "require_keys=true"))
    yield served, key
    served.end()


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Call the modifier of a plug-in that was just started."""
    process = subprocess.Popen([str(RUBY), STAND_IN, PLUGIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask_plugin(
        settings: dict[str, str], title: str = "forgot my password reset", raw: str = "", **more: Any
    ) -> Any:
        assert process.stdin is not None
        assert process.stdout is not None
        request = {"settings": settings, "title": title, "raw": raw, "visible": [11, 12, 13, 14]} | more
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    yield ask_plugin
    process.communicate()


def settings(service: tuple[Service, str], key: str | None = None) -> dict[str, str]:
    served, own = service
    return {"askalike_url": f"{served.url.geturl()}/v1/forum/", "askalike_key": own if key is None else key}


def test_similar_topics_come_before_other_plugins(ask: Ask, service) -> None:
    found = ask(settings(service), "forgot my password reset", ids=[14, 11, 99])
    assert found == {"ids": [12, 11, 14, 99], "logged": []}


def test_topic_without_a_number_is_found_by_address(ask: Ask, service) -> None:
    assert ask(settings(service), "Change the password of an acc")["ids"][0] == 13


def test_topics_hidden_from_the_user_are_left_out(ask: Ask, service) -> None:
    found = ask(settings(service), visible=[11, 14])
    assert found["ids"] == [11]


def test_an_empty_title_asks_nobody(ask: Ask) -> None:
    assert ask({"askalike_url": "http://127.0.0.1:9/v1/forum", "askalike_key": ""}, "  ") == {"ids": [], "logged": []}


@pytest.mark.parametrize(
    ("url", "logged"), [("http://127.0.0.1:9/v1/forum", "ECONNREFUSED"), ("not an address", "URI"), ("", "askalike")]
)
def test_error_leaves_other_topics_and_one_log_line(ask: Ask, url: str, logged: str) -> None:
    found = ask({"askalike_url": url, "askalike_key": ""}, ids=[7])
    assert found["ids"] == [7]
    assert len(found["logged"]) == 1
    assert logged in found["logged"][0]


def test_refused_key_is_an_error_without_the_key(ask: Ask, service) -> None:
    found = ask(settings(service, "ask_wrong"))
    assert found["ids"] == []
    assert "401" in found["logged"][0]
    assert "ask_wrong" not in found["logged"][0]


def test_after_an_error_the_service_is_left_alone(ask: Ask, service) -> None:
    broken = {"askalike_url": "http://127.0.0.1:9/v1/forum", "askalike_key": ""}
    assert len(ask(broken)["logged"]) == 1
    assert ask(settings(service)) == {"ids": [], "logged": []}


@pytest.mark.parametrize("drip", [False, True])
def test_hanging_or_dripping_service_is_given_up(ask: Ask, drip: bool) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        threading.Thread(target=answer_slowly, args=(server, drip), daemon=True).start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/v1/forum"
        started = time.monotonic()
        found = ask({"askalike_url": address, "askalike_key": ""}, ids=[7])
        waited = time.monotonic() - started
    assert found["ids"] == [7]
    assert "Timeout" in found["logged"][0]
    assert waited < 30  # a hang would last 60 s, Ruby's own limit; the machine may be busy


def answer_slowly(server: socket.socket, drip: bool) -> None:
    try:
        connection, _ = server.accept()
        with connection:
            for _ in range(600):
                time.sleep(0.1)
                if drip:
                    connection.sendall(b"X")
    except OSError:
        pass


@pytest.mark.parametrize("body", [b"[]", b"{}", b"not JSON", b'{"results": [{"id": null, "url": null}]}'])
def test_an_answer_of_another_shape_finds_nothing(ask: Ask, body: bytes) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        threading.Thread(target=answer_once, args=(server, body), daemon=True).start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/v1/forum"
        assert ask({"askalike_url": address, "askalike_key": ""}, ids=[7])["ids"] == [7]


def answer_once(server: socket.socket, body: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
