"""Addresses of clusters, and what is said where there is none."""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler

import pytest
from cluster.nodes import free_port

import askalike_opensearch
from askalike.core.errors import EngineError, SettingsError
from askalike_opensearch.commands import opensearch_command
from askalike_opensearch.connection import OpenSearchAddress, OpenSearchConnection, connect
from commands import run_command
from http_servers import LocalServer, QuietHandler


def test_an_address_names_nodes_login_and_options():
    address = OpenSearchAddress.parse("https://desk:s%40cret@one:9201,two?ca=/etc/ca.pem&timeout=5")
    assert address.hosts == (("one", 9201), ("two", 9200))
    assert address.credentials == ("desk", "s@cret")
    assert (address.secure, address.ca_file, address.timeout_s) == (True, "/etc/ca.pem", 5)
    assert "s@cret" not in f"{address} {address!r}"


@pytest.mark.parametrize(
    "url", ["localhost:9200", "ftp://one", "http://one:port", "http://one/path", "http://one?x=1", ""]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(SettingsError, match="expected http"):
        OpenSearchAddress.parse(url)


def test_a_refused_address_does_not_show_the_password():
    with pytest.raises(SettingsError) as raised:
        OpenSearchAddress.parse("http://desk:secret@one:port")
    assert "secret" not in str(raised.value)


def test_nothing_listens_there():
    with pytest.raises(EngineError, match="no node answers .*is it running"):
        connect(f"http://127.0.0.1:{free_port()}")


@contextmanager
def connected(*sites: type[BaseHTTPRequestHandler]) -> Iterator[OpenSearchConnection]:
    """Serve these sites as the nodes of a cluster; yield a connection to it."""
    with ExitStack() as stack:
        servers = [stack.enter_context(LocalServer(site)) for site in sites]
        nodes = ",".join(f"127.0.0.1:{server.server_port}" for server in servers)
        yield OpenSearchConnection(OpenSearchAddress.parse(f"http://{nodes}"))


VERSION = {"version": {"number": "3.5.0", "distribution": "opensearch"}}


class _Site(QuietHandler):
    status, kind, body = 200, "text/plain", b"<html>Welcome</html>"

    def do_GET(self) -> None:
        self.reply(self.body, self.status, content_type=self.kind)


class _LockedSite(_Site):
    status, kind, body = 401, "application/json", b"{}"


class _Healthy(_Site):
    """A node that answers everything with its version."""

    status, kind, body = 201, "application/json", json.dumps(VERSION).encode()


@pytest.mark.parametrize(
    ("site", "problem"),
    [(_Site, "not an OpenSearch cluster|the answer is not from"), (_LockedSite, "user or password is wrong")],
)
def test_something_else_answers(site, problem):
    with pytest.raises(EngineError, match=problem), connected(site):
        pass


class _NodeThatLosesAnother(_Healthy):
    """A node that knows its version, and then has lost another node once."""

    lost = False

    def do_GET(self) -> None:
        if self.path != "/" and not type(self).lost:
            type(self).lost, self.status = True, 500
            error = {"type": "node_disconnected_exception", "reason": "[node3] disconnected"}
            self.body = json.dumps({"error": error, "status": 500}).encode()
        super().do_GET()


def test_request_is_sent_again_after_a_nodes_loss():
    with connected(_NodeThatLosesAnother) as connection:
        assert connection.request("GET", "/index/_doc/state") == VERSION
    assert _NodeThatLosesAnother.lost


class _NodeThatBreaksOff(_Healthy):
    """A node that knows its version, and then ends the connection once within the head of an answer."""

    broken = False

    def do_GET(self) -> None:
        if self.path != "/" and not type(self).broken:
            type(self).broken = True
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-ty")
            return
        super().do_GET()


def test_answer_that_breaks_off_is_asked_again():
    with connected(_NodeThatBreaksOff) as connection:
        assert connection.request("GET", "/index/_doc/state") == VERSION
    assert _NodeThatBreaksOff.broken


class _NodeBehindAPage(_Healthy):
    """A node that knows its version; then a proxy answers with a page."""

    def do_GET(self) -> None:
        if self.path != "/":
            self.status, self.kind, self.body = 200, "text/plain", b"Please log in"
        super().do_GET()


def test_a_page_instead_of_an_answer_is_named():
    with (
        connected(_NodeBehindAPage) as connection,
        pytest.raises(EngineError, match="the answer is not from OpenSearch .*Please log in"),
    ):
        connection.request("GET", "/index/_doc/state")


class _NodeThatRefusesFirst(_Healthy):
    """A node that refuses the first bulk request's document, with the status `refusal`."""

    refusal, bodies = 0, list[bytes]()

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        refused = {"status": self.refusal, "error": {"type": "exception", "reason": "not now"}}
        item = {"status": 201} if len(self.bodies) > 1 else refused
        self.body = json.dumps({"items": [{"index": item}]}).encode()
        self.do_GET()


@pytest.mark.parametrize("refusal", [404, 429, 503])
def test_refused_documents_are_sent_again(refusal):
    """404: it has not heard of a new index yet. 429: its queues are full."""
    node = type("_Node", (_NodeThatRefusesFirst,), {"refusal": refusal, "bodies": []})
    with connected(node) as connection:
        connection.bulk("desk", [({"index": {"_id": "1-0"}}, {"docid": 1})])
    assert len(node.bodies) == 2
    assert node.bodies[0] == node.bodies[1]


class _Waiting(_Healthy):
    """A node that waits for another one which never answers."""

    asked, over = threading.Event(), threading.Event()

    def do_GET(self) -> None:
        if self.path != "/":
            self.asked.set()
            self.over.wait()
        super().do_GET()


def test_unanswered_read_is_sent_to_the_next_node():
    with connected(_Waiting, _Healthy) as connection:
        answers = []
        try:
            while not _Waiting.asked.is_set():  # nodes are asked in turn
                answers.append(connection.request("GET", "/index/_doc/state"))
        finally:
            _Waiting.over.set()
    assert answers == [VERSION] * len(answers) != []


def test_a_memory_limit_excludes_an_engine():
    code, _, said = run_command("index", "nowhere", "--memory", "1GB", "--engine", "opensearch+http://127.0.0.1:1")
    assert code == 2
    assert "--engine and --memory exclude each other" in said


def test_list_of_commands_says_what_the_command_says():
    assert askalike_opensearch.COMMAND.summary == opensearch_command.info.help.split("\n")[0]
