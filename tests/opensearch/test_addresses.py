"""Addresses of clusters, and what is said where there is none."""

import http.server
import json
import threading

import pytest
from opensearch.nodes import free_port

from askalike.core.errors import EngineError, SettingsError
from askalike.opensearch.connection import OpenSearchAddress, OpenSearchConnection, connect


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
    pytest.importorskip("opensearchpy", reason="needs the extra opensearch")
    with pytest.raises(EngineError, match="no node answers .*is it running"):
        connect(f"http://127.0.0.1:{free_port()}")


class _Site(http.server.BaseHTTPRequestHandler):
    status, body = 200, b"<html>Welcome</html>"

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("content-type", "application/json" if self.status != 200 else "text/plain")
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        pass


class _LockedSite(_Site):
    status, body = 401, b"{}"


VERSION = {"version": {"number": "3.5.0", "distribution": "opensearch"}}


class _NodeThatLosesAnother(_Site):
    """A node that knows its version, and then has lost another node once."""

    lost = False

    def do_GET(self) -> None:
        if self.path == "/":
            answer = VERSION
        elif not type(self).lost:
            type(self).lost, self.status = True, 500
            answer = {"error": {"type": "node_disconnected_exception", "reason": "[node3] disconnected"}, "status": 500}
        else:
            answer = {"found": True}
        self.body = json.dumps(answer).encode()
        self.send_response(self.status)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(self.body)


def test_a_request_is_sent_again_where_a_node_has_lost_another():
    pytest.importorskip("opensearchpy", reason="needs the extra opensearch")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _NodeThatLosesAnother) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        connection = OpenSearchConnection(OpenSearchAddress.parse(f"http://127.0.0.1:{server.server_port}"))
        assert connection.request("GET", "/index/_doc/state") == {"found": True}
        assert _NodeThatLosesAnother.lost
        server.shutdown()


class _NodeThatBreaksOff(_Site):
    """A node that knows its version, and then ends the connection once within the head of an answer."""

    broken = False

    def do_GET(self) -> None:
        if self.path != "/" and not type(self).broken:
            type(self).broken = True
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-ty")
            return
        self.status, self.body = 201, json.dumps(VERSION).encode()
        super().do_GET()


def test_an_answer_that_breaks_off_is_asked_for_again():
    pytest.importorskip("opensearchpy", reason="needs the extra opensearch")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _NodeThatBreaksOff) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        connection = OpenSearchConnection(OpenSearchAddress.parse(f"http://127.0.0.1:{server.server_port}"))
        assert connection.request("GET", "/index/_doc/state") == VERSION
        assert _NodeThatBreaksOff.broken
        server.shutdown()


class _NodeBehindAPage(_Site):
    """A node that knows its version; then a proxy answers with a page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json" if self.path == "/" else "text/plain")
        self.end_headers()
        self.wfile.write(json.dumps(VERSION).encode() if self.path == "/" else b"Please log in")


def test_a_page_instead_of_an_answer_is_named():
    pytest.importorskip("opensearchpy", reason="needs the extra opensearch")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _NodeBehindAPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        connection = OpenSearchConnection(OpenSearchAddress.parse(f"http://127.0.0.1:{server.server_port}"))
        with pytest.raises(EngineError, match="the answer is not from OpenSearch .*Please log in"):
            connection.request("GET", "/index/_doc/state")
        server.shutdown()


class _NodeThatRefusesFirst(_Site):
    """A node that refuses the first bulk request's document, with the status `refusal`."""

    status, body = 201, json.dumps(VERSION).encode()
    refusal, bodies = 0, list[bytes]()

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        refused = {"status": self.refusal, "error": {"type": "exception", "reason": "not now"}}
        item = {"status": 201} if len(self.bodies) > 1 else refused
        self.body = json.dumps({"items": [{"index": item}]}).encode()
        self.do_GET()


@pytest.mark.parametrize("refusal", [404, 429, 503])
def test_documents_are_sent_again_that_a_node_cannot_take_now(refusal):
    """404: it has not heard of a new index yet. 429: its queues are full."""
    pytest.importorskip("opensearchpy", reason="needs the extra opensearch")
    node = type("_Node", (_NodeThatRefusesFirst,), {"refusal": refusal, "bodies": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), node) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        connection = OpenSearchConnection(OpenSearchAddress.parse(f"http://127.0.0.1:{server.server_port}"))
        connection.bulk("desk", [({"index": {"_id": "1-0"}}, {"docid": 1})])
        server.shutdown()
    assert len(node.bodies) == 2
    assert node.bodies[0] == node.bodies[1]


class _Healthy(_Site):
    status, body = 201, json.dumps(VERSION).encode()


class _Waiting(_Healthy):
    """A node that waits for another one which never answers."""

    asked, over = threading.Event(), threading.Event()

    def do_GET(self) -> None:
        if self.path != "/":
            self.asked.set()
            self.over.wait()
        super().do_GET()


def test_a_read_that_a_node_does_not_answer_is_sent_to_the_next():
    pytest.importorskip("opensearchpy", reason="needs the extra opensearch")
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Waiting) as waiting,
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Healthy) as healthy,
    ):
        servers = waiting, healthy
        for server in servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        nodes = ",".join(f"127.0.0.1:{server.server_port}" for server in servers)
        connection = OpenSearchConnection(OpenSearchAddress.parse(f"http://{nodes}"))
        try:
            while not _Waiting.asked.is_set():  # nodes are asked in turn
                assert connection.request("GET", "/index/_doc/state") == VERSION
        finally:
            _Waiting.over.set()
            for server in servers:
                server.shutdown()


@pytest.mark.parametrize(
    ("site", "problem"),
    [(_Site, "not an OpenSearch cluster|the answer is not from"), (_LockedSite, "user or password is wrong")],
)
def test_something_else_answers(site, problem):
    pytest.importorskip("opensearchpy", reason="needs the extra opensearch")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(EngineError, match=problem):
            OpenSearchConnection(OpenSearchAddress.parse(f"http://127.0.0.1:{server.server_port}"))
        server.shutdown()
