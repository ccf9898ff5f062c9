"""A cluster behind TLS and a login: what is trusted, what is refused, and what is said then."""

import base64
import http.client
import http.server
import shutil
import ssl
import subprocess
import threading
from urllib.parse import urlsplit

import pytest
from cluster.load import make_archive

from askalike import rankers
from askalike.core.errors import EngineError, SettingsError
from askalike.core.records import Question
from askalike.store import Archive
from askalike_opensearch.connection import connect

USER, PASSWORD = "desk", "s@cret"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate for 127.0.0.1 and its key."""
    if not shutil.which("openssl"):
        pytest.skip("needs the command openssl, for a certificate")
    folder = tmp_path_factory.mktemp("certificate")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=desk"
    extensions = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "ca.pem"]
    subprocess.run([*command.split(), *extensions], check=True, capture_output=True)
    return folder / "ca.pem", folder / "key.pem"


class _Door(http.server.BaseHTTPRequestHandler):
    """Sends on to a node what comes with the right login."""

    protocol_version = "HTTP/1.1"
    node = ""

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers.get("authorization") != f"Basic {login}":
            self._answer(401, "text/plain", b"Unauthorized")
            return
        node = http.client.HTTPConnection(self.node)
        headers = {"content-type": self.headers["content-type"]} if body else {}
        node.request(self.command, self.path, body or None, headers)
        with node.getresponse() as answer:
            self._answer(answer.status, answer.headers["content-type"] or "text/plain", answer.read())
        node.close()

    do_GET = do_POST = do_PUT = do_DELETE = _pass_on

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class _SecureServer(http.server.ThreadingHTTPServer):
    """Greets each client in a thread of its own; what a client hangs up on is nothing to print."""

    daemon_threads = True
    context: ssl.SSLContext

    def finish_request(self, request, client_address) -> None:
        try:
            with self.context.wrap_socket(request, server_side=True) as secure:
                super().finish_request(secure, client_address)
        except OSError:
            pass


@pytest.fixture(scope="module")
def port(cluster_url, certificate):
    """The port where a node answers over TLS, to one user."""
    door = type("_DoorOfNode", (_Door,), {"node": urlsplit(cluster_url).netloc})
    with _SecureServer(("127.0.0.1", 0), door) as server:
        server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.context.load_cert_chain(*certificate)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_archive_is_searched_over_tls_with_a_login(port, certificate, tmp_path):
    address = f"https://{USER}:s%40cret@127.0.0.1:{port}?ca={certificate[0]}"
    with Archive.open(make_archive(tmp_path / "desk", 5), f"opensearch+{address}") as archive:
        searcher = rankers.open_current(rankers.create("bm25"), archive.view())
        assert len(rankers.rank(searcher, {"q": Question("q", "bread")}, 10)["q"]) == 5


def test_a_wrong_password_is_one_line(port, certificate):
    with pytest.raises(EngineError, match=r"user or password is wrong.*\(401\)") as raised:
        connect(f"https://{USER}:other@127.0.0.1:{port}?ca={certificate[0]}")
    assert "other" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_unknown_certificate_is_one_line(port):
    with pytest.raises(
        EngineError, match=r"certificate is not trusted \(self.signed certificate\).*\?ca=FILE"
    ) as raised:
        connect(f"https://{USER}:s%40cret@127.0.0.1:{port}")
    assert "\n" not in str(raised.value)
    assert "s@cret" not in str(raised.value)


def test_a_certificate_of_another_host_is_refused(port, certificate):
    with pytest.raises(EngineError, match="certificate is not trusted.*localhost"):
        connect(f"https://{USER}:s%40cret@localhost:{port}?ca={certificate[0]}")


def test_https_where_there_is_no_tls(cluster_url):
    with pytest.raises(EngineError, match="an address with http://"):
        connect(cluster_url.replace("http:", "https:"))


def test_http_where_there_is_tls(port):
    with pytest.raises(EngineError, match="no node answers"):
        connect(f"http://127.0.0.1:{port}")


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_that_holds_no_certificate_is_named(tmp_path, content):
    file = tmp_path / "ca.pem"
    if content:
        file.write_text(content)
    with pytest.raises(SettingsError, match="ca.pem.*expected"):
        connect(f"https://127.0.0.1:9200?ca={file}")
