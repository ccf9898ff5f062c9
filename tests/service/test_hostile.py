"""Malicious and malformed requests: each is answered properly or its connection is closed."""

import contextlib
import json
import re
import select
import socket
import time
from urllib.parse import quote

import pytest
from serving import Service

from waiting import PATIENCE_S, wait_for

V1 = "/v1/riverside"
SIMILAR = f"{V1}/similar"
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"
INJECTIONS = [
    SCRIPT,
    "'; DROP TABLE questions; --",
    '" OR 1=1 --',
    "{{7*7}} ${7*7} #{7*7} <%= 7*7 %>",
    "{% for x in ().__class__.__base__.__subclasses__() %}{{x}}{% endfor %}",
    "%s%s%n %(id)s {0.__class__}",
    "$(reboot) `reboot` | reboot ; reboot",
    "../../../../etc/passwd\\..\\..",
    "\x00\x01\x1b[2J\x7f",
    "\u202e\u2066\ufeff\U000e0001 right to left",
    "A\u0301" * 400,
    "😀" * 900,
    'AND OR NOT NEAR * " ( ) ^ ~ : [ ] { }',
    "\r\nset-cookie: a=b\r\n\r\n<html>",
]
RAW_REQUESTS = {
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "no method": b" / HTTP/1.1\r\nhost: localhost\r\n\r\n",
    "another version": b"GET /nowhere HTTP/9.9\r\nhost: localhost\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n",
    "two lengths": b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n"
    b"content-length: 4\r\n\r\n{}  ",
    "negative length": b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-length: -2\r\n\r\n{}",
    "length of words": b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-length: two\r\n\r\n{}",
    "endless length": b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999999\r\n\r\n{}",
    "length and chunks": b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a coding unknown": b"POST %s HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a bad chunk": b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "a folded header": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-a: b\r\n c\r\nbad header\r\n\r\n",
    "a space before the colon": b"GET /healthz HTTP/1.1\r\nhost : localhost\r\n\r\n",
    "a null in a header": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-a: \x00\r\n\r\n",
    "a header of 1 MB": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-a: " + b"a" * 1_000_000 + b"\r\n\r\n",
    "an address of 1 MB": b"GET /?" + b"a" * 1_000_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
    "a head in many parts": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + b"x-a: b\r\n" * 100_000,
    "a broken host": b"GET /healthz HTTP/1.1\r\nhost: [::1\r\n\r\n",
    "another host": b"GET /healthz HTTP/1.1\r\nhost: evil.example\r\n\r\n",
    "an address elsewhere": b"GET http://evil.example/healthz HTTP/1.1\r\nhost: evil.example\r\n\r\n",
    "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\nhost: localhost\r\n\r\n",
    "a method unknown": b"BREW /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
}


def exchange(service: Service, request: bytes) -> bytes:
    """Return all that comes back until the connection is closed or silent."""
    with service.connect() as connection:
        connection.settimeout(3)
        received = b""
        with contextlib.suppress(TimeoutError, ConnectionError):
            connection.sendall(request)
            while part := connection.recv(65536):
                received += part
                if is_complete(received):
                    break
        return received


def is_complete(answer: bytes) -> bool:
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return length is not None and len(body) >= int(length[1])


@pytest.mark.parametrize("name", RAW_REQUESTS)
def test_malformed_requests_are_refused(service: Service, name: str) -> None:
    received = exchange(service, RAW_REQUESTS[name].replace(b"%s", SIMILAR.encode()))
    head, _, body = received.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    assert status in {400, 404, 405, 413, 415, 421}, received
    assert b"application/problem+json" in head
    assert b"x-request-id: " in head
    assert json.loads(body)["status"] == status
    assert service.get("/healthz").status == 200


@pytest.mark.parametrize("text", INJECTIONS)
def test_injections_stay_text(service: Service, text: str) -> None:
    for answer in (
        service.get(f"{SIMILAR}?title={quote(text)}"),
        service.send("POST", SIMILAR, {"title": text, "body": text, "tags": [text], "explain": True, "prefix": True}),
        service.send("POST", f"{V1}/answer", {"title": text}),
        service.send(
            "POST", f"{V1}/feedback", {"title": text, "shown_ids": [text], "verdict": "accept", "chosen_id": text}
        ),
        service.get(f"/v1/{quote(text, safe='')}/similar"),
        service.send("PUT", f"{V1}/questions/{quote(text[:250], safe='')}", {"title": text, "body": text}),
    ):
        assert answer.status in {200, 201, 204, 404, 422}, answer.body
        assert "49 " not in answer.body.decode()
        assert answer.status == 204 or "json" in answer.headers["content-type"]
        assert "set-cookie" not in answer.headers
    assert service.get(f"{SIMILAR}?title=library+card").json["results"]


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe{}",
        b'{"title": "\xc3\x28"}',
        b'{"title": "\xed\xa0\x80"}',
        b'{"title": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"k": 1' + b"0" * 100_000 + b"}",
        b'{"k": NaN}',
        b'{"title": "a", "title": "b", "tags": [null]}',
        b"null",
    ],
)
def test_broken_utf8_and_json_tricks_are_refused(service: Service, body: bytes) -> None:
    answer = service.send("POST", SIMILAR, body, {"content-type": "application/json"})
    assert answer.status in {400, 422}
    assert answer.json["detail"]


UNKNOWN_FIELDS = {f"x{n}": 0 for n in range(20_000)}


@pytest.mark.parametrize(
    ("path", "body", "n_errors"),
    [
        (SIMILAR, UNKNOWN_FIELDS | {"title": "card"}, 1),
        (f"{V1}/feedback", {"title": "x", "shown_ids": [0] * 100, "verdict": "accept"}, 20),
        (f"{V1}/questions:batch", {"items": [{f"x{n}": 0 for n in range(40)}] * 1_000}, 20),
        (f"{V1}/apache-answer/api/v1/collections/a/query", {"query_embeddings": [["a"] * 1_999] * 100}, 20),
        (f"{V1}/apache-answer/api/v1/collections/a/upsert", {k: [0] * 99_999 for k in ("metadatas", "documents")}, 3),
    ],
)
def test_many_errors_are_counted_and_few_are_listed(service: Service, path: str, body: object, n_errors: int) -> None:
    answer = service.send("POST", path, body)
    assert answer.status == 422
    assert len(answer.json["errors"]) == n_errors
    assert ("errors in all" in answer.json["detail"]) == (n_errors == 20)
    assert len(answer.body) < 20_000


def test_a_long_unknown_field_is_not_sent_back(service: Service) -> None:
    assert len(service.send("POST", SIMILAR, {"x" * 200_000: 0}).body) < 2_000


@pytest.mark.parametrize("path", [SIMILAR, f"{V1}/answer", f"{V1}/feedback"])
def test_a_question_has_at_most_256_kilobytes(service: Service, path: str) -> None:
    assert service.send("POST", path, {"title": "x", "body": "é" * 42_000}).status != 413
    assert service.send("POST", path, b" " * 260_000, {"content-type": "application/json"}).status == 413


@pytest.mark.parametrize("marks", ["\u0f73", "\u0301\u0327"])
def test_combining_characters_block_no_request(service: Service, marks: str) -> None:
    text = "a" + marks * (80_000 // len(marks))  # unless runs are cut, this takes longer than a request may
    for path, body in {
        SIMILAR: {"body": text},
        f"{V1}/answer": {"title": "a", "body": text},
        f"{V1}/feedback": {"title": "a", "body": text, "shown_ids": [], "verdict": "none_of_these"},
        f"{V1}/questions:batch": {"items": [{"id": "marks", "title": text[:900], "body": text}]},
    }.items():
        body = json.dumps(body, ensure_ascii=False).encode()
        answer = service.send("POST", path, body, {"content-type": "application/json"})
        assert answer.status in {200, 201, 204}, answer.body
    assert service.send("GET", f"{V1}/questions/marks").json["body"] == text
    assert service.send("DELETE", f"{V1}/questions/marks").status == 204


@pytest.mark.parametrize("path", [SIMILAR, f"{V1}/answer", f"{V1}/feedback"])
def test_signs_of_many_letters_count_so(service: Service, path: str) -> None:
    fields = {"title": "a", "shown_ids": [], "verdict": "none_of_these"} if "feedback" in path else {"title": "a"}
    for count, status in ((5_000, {200, 204}), (85_000, {422})):
        body = json.dumps(fields | {"body": "\ufdfa" * count}, ensure_ascii=False).encode()
        answer = service.send("POST", path, body, {"content-type": "application/json"})
        assert answer.status in status, answer.body
    assert "1,530,000" in answer.json["detail"]


def test_links_of_a_question_come_in_pages(service: Service) -> None:
    items = [{"id": f"copy{n}", "title": f"Copy {n}"} for n in range(1_000)]
    links = [{"source": item["id"], "target": "r001"} for item in items]
    assert service.send("POST", f"{V1}/questions:batch", {"items": items}).status == 201
    assert service.send("POST", f"{V1}/links:batch", {"items": links}).status == 201
    n_links = len(service.get(f"{V1}/questions/r001").json["links"])
    assert n_links == 1_000
    first, rest = (service.get(f"{V1}/links?question=r001&offset={n}").json["links"] for n in (0, 1_000))
    assert len(first) == 1_000
    assert {link["source"] for link in first + rest} >= {item["id"] for item in items}
    assert service.get("/a/riverside/questions/r001").body.count(b"Copy ") < 1_000


def test_answers_of_a_question_come_in_pages(service: Service) -> None:
    items = [{"id": f"reply{n}", "question_id": "r002", "body": f"Reply {n}", "votes": n} for n in range(150)]
    assert service.send("POST", f"{V1}/answers:batch", {"items": items}).status == 201
    shown = service.get(f"{V1}/questions/r002").json["answers"]
    first, rest = (service.get(f"{V1}/answers?question=r002&offset={n}").json["answers"] for n in (0, 100))
    assert len(shown) == 100
    assert first == shown
    assert {answer["id"] for answer in first + rest} >= {item["id"] for item in items}
    votes = [answer["votes"] or 0 for answer in first + rest if not answer["accepted"]]
    assert votes == sorted(votes, reverse=True)
    page = service.get("/a/riverside/questions/r002").body
    assert b"100+ answers" in page
    assert b"Reply 120" in page
    assert b"Reply 20" not in page


def test_leaving_client_is_no_service_error(service: Service) -> None:
    for path in (SIMILAR, f"{V1}/feedback"):
        with service.connect() as connection:
            head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            connection.sendall(f"{head}x-request-id: left\r\ncontent-length: 900\r\n\r\n{{".encode())
            time.sleep(0.2)
    wait_for(lambda: sum(line.get("request_id") == "left" for line in service.log()) == 2)
    assert {line["status"] for line in service.log() if line.get("request_id") == "left"} <= {400, 499}
    assert not [line for line in service.log() if "traceback" in line]


def test_responses_are_uncached_and_typed(service: Service) -> None:
    for path in (f"{SIMILAR}?title=card", f"{V1}/questions/r001", "/healthz", "/nowhere", "/metrics", "/openapi.json"):
        headers = service.get(path).headers
        assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")
    assert service.get("/widget.js").headers["cache-control"].startswith("public")


def test_extra_slash_leads_to_the_path_alone(service: Service) -> None:
    for path, other in ((f"{SIMILAR}/?title=a%20b", f"{SIMILAR}?title=a%20b"), ("/healthz/", "/healthz")):
        answer = service.get(path)
        assert (answer.status, answer.headers["location"]) == (307, other)
    for path in ("//healthz/", "/nowhere/", "//elsewhere.example/"):
        assert service.get(path).status == 404


@pytest.mark.parametrize("header", ["forwarded", "via", "x-forwarded-for", "x-real-ip"])
def test_without_keys_a_proxy_is_refused(service: Service, header: str) -> None:
    answer = service.get(f"{SIMILAR}?title=card", **{header: "for=203.0.113.9"})
    assert answer.status == 421
    assert "public_url" in answer.json["detail"]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../../etc/passwd",
        "/v1/..%2f..%2fetc%2fpasswd/similar",
        "/v1/%2e%2e/similar",
        "/v1/riverside%2f..%2f..%2fetc/similar",
        "/v1/riverside%00/similar",
        "/v1/%ff%fe/similar",
        "//v1//riverside//similar",
        "/v1/RIVERSIDE/similar",
        f"/v1/{'a' * 10_000}/similar",
        "/v1/riverside/similar/../../../etc/passwd",
    ],
)
def test_a_path_leads_nowhere_else(service: Service, path: str) -> None:
    answer = service.get(path)
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
    assert "root:" not in answer.body.decode()


def test_slow_requests_are_cut_and_block_nobody(serve, archive) -> None:
    service = serve(archive, options=("--set", "receive_s=1"))
    head = (
        f"POST {SIMILAR} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n"
    )
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(service.connect()) for _ in range(40)]
        late = [stack.enter_context(service.connect()) for _ in range(3)]
        silent = stack.enter_context(service.connect())
        for connection in late:
            connection.sendall(head.encode())
        for connection in slow:
            connection.sendall(b"GET /")
        is_cut_off = False
        while not is_cut_off:
            for connection in (*slow, *late):
                with contextlib.suppress(ConnectionError):
                    connection.send(b"g")
            assert service.get(f"{SIMILAR}?title=library+card").status == 200
            is_cut_off = any(select.select(late, [], [], 0.2)[0])
        assert all(b" 408 " in connection.recv(100) for connection in late)
        assert all(map(is_closed, (*slow, silent)))


def test_too_many_or_half_open_connections_are_closed(serve, archive) -> None:
    service = serve(archive, options=("--set", "max_connections=20"))
    address = (service.url.hostname, service.url.port)
    with contextlib.ExitStack() as stack:

        def connect(n: int) -> socket.socket:
            return stack.enter_context(socket.create_connection(address, PATIENCE_S, (f"127.0.0.{n}", 0)))

        for _ in range(10):
            connect(1).sendall(b"GET /healthz HTTP/1.1\r\n")
        assert is_closed(connect(1))
        other = connect(2)
        other.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b" 200 " in other.recv(100)
        for n in range(3, 12):
            connect(n)
        assert is_closed(connect(12))
    assert wait_for(service.is_ready)


def is_closed(connection: socket.socket) -> bool:
    with contextlib.suppress(ConnectionResetError):
        return connection.recv(100) == b""
    return True
