"""What all requests share: ids, errors, limits, the log, and the API's description."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from serving import Service

from commands import askalike
from preloaded import run_preloaded
from waiting import wait_for

SIMILAR = "/v1/riverside/similar"


def test_every_response_has_an_id(service: Service) -> None:
    ids = {service.get(path).headers["x-request-id"] for path in ("/healthz", "/nowhere", f"{SIMILAR}?title=card")}
    assert len(ids) == 3
    assert service.get("/healthz", **{"x-request-id": "mine-1"}).headers["x-request-id"] == "mine-1"
    assert service.get("/healthz", **{"x-request-id": "a b"}).headers["x-request-id"] != "a b"


@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [
        ("GET", "/nowhere", 404, "Not Found"),
        ("GET", "/v1/nope/similar?title=x", 404, "there are: riverside"),
        ("GET", "/v1/..%2f..%2fetc/similar?title=x", 404, ""),
        ("GET", "/v1/%00/similar", 404, "no archive"),
        ("GET", "/v1/riverside/nowhere", 404, "/docs"),
        ("POST", "/v1/riverside/questions", 404, "/docs"),
        ("GET", "/v1/riverside/questions/", 404, "/docs"),
        ("DELETE", SIMILAR, 405, "expected GET, POST"),
    ],
)
def test_addresses_that_do_not_exist(service: Service, method: str, path: str, status: int, detail: str) -> None:
    answer = service.send(method, path)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert detail in answer.json["detail"]


def test_unknown_method_is_answered_with_known_ones(service: Service) -> None:
    assert service.send("DELETE", SIMILAR).headers["allow"] == "GET, POST"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", f"{SIMILAR}?title=card", "/a/riverside", "/nowhere"])
def test_head_is_get_without_the_body(service: Service, path: str) -> None:
    got, head = service.get(path), service.send("HEAD", path)
    assert (head.status, head.headers["content-type"]) == (got.status, got.headers["content-type"])
    assert (head.body, int(head.headers["content-length"]) > 0) == (b"", True)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"title=card", {"content-type": "application/x-www-form-urlencoded"}, 415),
        (b'{"title": "card"}', {"content-type": "text/plain"}, 415),
        (b"{", {"content-type": "application/json"}, 422),
        (b"[]", {"content-type": "application/json"}, 422),
        (b'{"title": "\xff"}', {"content-type": "application/json"}, 400),
        (b'{"title": "\\ud800"}', {"content-type": "application/json"}, 422),
        (b'{"title": 1}', {"content-type": "application/json"}, 422),
        (b" " * (4 << 20) + b"{}", {"content-type": "application/json"}, 413),
        (b"{}", {"content-type": "application/json", "content-length": "99999999"}, 413),
    ],
)
def test_bodies_that_are_refused(service: Service, body: bytes, headers: dict[str, str], status: int) -> None:
    answer = service.send("POST", SIMILAR, body, headers)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json["detail"]


def test_a_body_without_a_length_is_counted(service: Service) -> None:
    with service.connect() as connection:
        head = ("host: localhost", "content-type: application/json", "transfer-encoding: chunked", "", "")
        connection.sendall("\r\n".join((f"POST {SIMILAR} HTTP/1.1", *head)).encode())
        for _ in range(65):
            connection.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        assert b" 413 " in connection.recv(100)


def test_the_log_has_no_text_by_default(service: Service) -> None:
    service.get(f"{SIMILAR}?title=secretword", **{"x-request-id": "secret-1"})
    line = wait_for(lambda: [x for x in service.log() if x.get("request_id") == "secret-1"])[0]
    assert (line["path"], line["status"], line["archive"], line["found"]) == (SIMILAR, 200, "riverside", 0)
    assert "secretword" not in "".join(service.lines)


def test_excess_requests_are_refused_and_texts_logged(serve, archive) -> None:
    narrow = serve(archive, options=("--set", "max_waiting=1", "--set", "log_texts=true"))
    narrow.get(f"{SIMILAR}?title=secretword")
    wait_for(lambda: [x for x in narrow.log() if "secretword" in x.get("query", "")])
    with ThreadPoolExecutor(16) as pool:
        query = {"title": "how long may I keep a book from the library", "k": 100}
        answers = list(pool.map(lambda _: narrow.send("POST", SIMILAR, query), range(64)))
    assert {a.status for a in answers} == {200, 503}
    assert all(a.headers["retry-after"] == "1" for a in answers if a.status == 503)
    assert narrow.get("/healthz").status == 200


def test_a_slow_search_is_given_up(serve, archive) -> None:
    hasty = serve(archive, options=("--set", "timeout_s=0.001"))
    answer = hasty.send("POST", SIMILAR, {"title": "card", "body": "how long may I keep a book " * 3_000})
    assert (answer.status, answer.headers.get("retry-after")) == (503, "1")


def test_the_api_describes_itself(service: Service) -> None:
    description = service.get("/openapi.json").json
    assert description["openapi"].startswith("3.")
    similar = description["paths"]["/v1/{archive}/similar"]
    assert set(similar) == {"get", "post"}
    assert {"title", "body", "k", "tags", "before", "min_probability", "explain"} <= {
        p["name"] for p in similar["get"]["parameters"]
    }
    assert "application/problem+json" in similar["get"]["responses"]["422"]["content"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "not an archive"),
        (["{archive}", "--set", "timeout=1"], "timeout is not a setting (known: parts"),
        (["{archive}", "--set", "timeout=1"], "; settings of the service: log_texts, max_body_bytes, timeout_s, "),
        (["{archive}", "--set", "after=May"], "after='May': date 'May': expected a date such as"),
        (["{archive}", "--port", "99999"], "port"),
        (["{archive}", "{archive}"], "two archives are called 'riverside'"),
        (["{archive}", "--ranker", "bm52"], "no ranker is called"),
    ],
)
def test_an_error_at_the_start_is_one_line(archive: Path, arguments: list[str], message: str) -> None:
    code, said = run_preloaded("serve", *(a.format(archive=archive) for a in arguments))
    assert code == 2
    assert message in said
    assert said.count("\n") <= 2
    assert "Traceback" not in said


def test_a_missing_extra_is_named_in_one_line(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = askalike("serve", archive)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "pip install 'askalike[service]'" in done.stderr


def test_unused_calibration_is_in_the_log(serve, copy, calibrated_riverside: Path) -> None:
    earlier = copy(calibrated_riverside)
    told = serve(earlier, options=("--set", "fields=title"))
    [line] = [line for line in told.log() if "calibration" in line["message"]]
    assert line["message"].endswith(f"was made with other settings; run: askalike calibrate {earlier}")
