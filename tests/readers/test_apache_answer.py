"""Apache Answer's public API (source of July 2026), from a real server of HTTP in this process."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from imported import HttpSite, Importing, Refusing

from askalike.core.errors import InputError
from askalike.core.records import Link
from askalike.readers import import_archive
from askalike.readers._site import MAX_RESPONSE_BYTES, MAX_TRIES, SiteClient


class Site(HttpSite):
    """A site that answers from a table of responses."""

    def __init__(self) -> None:
        super().__init__()
        self.responses: dict[str, tuple[int, Any]] = {}
        self.failures: list[int] = []
        self.redirects: dict[str, str] = {}

    def respond(self, path: str) -> tuple[int, bytes, str]:
        parts = urlsplit(path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        id, page = asked.get("id", asked.get("question_id", "")), asked.get("page", "")
        key = f"{parts.path.rpartition('v1/')[2]} {id} {page}".rstrip()
        status, body = self.responses.get(key, (404, {"code": 404, "data": None}))
        status = self.failures.pop() if self.failures else status
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return 302 if key in self.redirects else status, content, self.redirects.get(key, "")

    def put(self, key: str, data: Any) -> None:
        self.responses[key] = 200, {"code": 200, "reason": "base.success", "msg": "Success.", "data": data}

    def put_questions(self, *questions: dict[str, Any]) -> None:
        """Put a list of questions, what each says of itself, and no answers."""
        listed = [{**q, "answer_count": 0} | q for q in questions]
        self.put("question/page  1", {"count": len(listed), "list": listed})
        for q in questions:
            self.put(f"question/info {q['id']}", {**q, "content": f"Body of {q['id']}", "create_time": 1700000000})


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def question(id: str, title: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": id,
        "title": title,
        "show": 1,
        "status": 1,
        "tags": [{"slug_name": "cards"}],
        "vote_count": 2,
    } | fields


def fetch(imported: Importing, site: Site, folder: Path, **more: Any) -> Any:
    return imported("apache_answer", site.address, pause=0, responses=folder, **more)


def test_questions_answers_and_originals(imported: Importing, site: Site, tmp_path: Path) -> None:
    operation = {"type": "a duplicate", "msg": f"{site.address}/questions/1/lost-card", "time": 1700000900}
    site.put_questions(
        question("1", "I lost my card", answer_count=2, accepted_answer_id="12", user_info={"username": "ada"}),
        question(
            "2", "My card is lost", url_title="my-card-is-lost", status=2, operation=operation, accepted_answer_id="0"
        ),
        question("3", "Not listed", show=2),
        question("4", "Removed meanwhile"),
        question("5", "Closed as spam", status=2, operation={"type": "spam", "msg": "", "time": 1700000900}),
    )
    del site.responses["question/info 4"]
    answers = [
        {"id": "11", "content": "Wait.", "status": 1, "vote_count": 0, "create_time": 1700000001},
        {"id": "12", "content": "Ring **us**.", "status": 1, "vote_count": 3, "create_time": 1700000002},
        {"id": "13", "content": "Deleted", "status": 10},
    ]
    site.put("answer/page 1 1", {"count": 3, "list": answers})
    done = fetch(imported, site, tmp_path / "kept")
    one, two, five = (done.questions[id] for id in ("1", "2", "5"))
    assert list(done.questions) == ["1", "2", "5"]
    assert (one.title, one.body, one.tags, one.votes, one.author, one.created_at) == (
        "I lost my card", "Body of 1", ("cards",), 2, "ada", "2023-11-14T22:13:20",
    )  # fmt: skip
    assert (one.url, two.url) == (f"{site.address}/questions/1", f"{site.address}/questions/2/my-card-is-lost")
    assert (two.closed_at, five.closed_at) == (
        "2023-11-14T22:28:20", "2023-11-14T22:28:20",
    )  # fmt: skip
    assert [q.states for q in (one, two, five)] == [("answered",), ("closed",), ("closed",)]
    found = done.archive.view().get_answers_to(["1"])["1"]
    assert [(a.id, a.body, a.accepted, a.votes) for a in found] == [
        ("12", "Ring **us**.", True, 3),
        ("11", "Wait.", False, 0),
    ]
    assert list(done.archive.view().links()) == [Link("2", "1", "duplicate", "2023-11-14T22:28:20")]
    assert done.summary.source == site.address.removeprefix("http://")
    assert done.summary.notes == {
        "questions that are not listed left out": 1, "questions that were removed meanwhile left out": 1,
    }  # fmt: skip


def test_odd_texts_and_ids_are_read(imported: Importing, site: Site, tmp_path: Path) -> None:
    site.put_questions(question("1", "Half a pair \ud800 of code units"), question("a b\ud800", "Whose id is odd"))
    done = fetch(imported, site, tmp_path / "kept")
    assert done.questions["1"].title == "Half a pair \ufffd of code units"
    assert site.requests[-1].endswith("/question/info?id=a%20b%3F")


def test_unchanged_things_are_not_asked_for_again(imported: Importing, site: Site, tmp_path: Path) -> None:
    site.put_questions(*(question(str(n), f"How do I mend part {n}?") for n in range(20)))
    fetch(imported, site, tmp_path / "kept")
    assert len(site.requests) == 21
    site.requests.clear()
    site.put_questions(*(question(str(n), f"How do I mend part {n}{'!' * (n == 7)}?", view_count=n) for n in range(20)))
    done = fetch(imported, site, tmp_path / "kept")
    assert {r.partition("?")[2] for r in site.requests if "info" in r} == {"id=7"}
    assert done.summary.changes["questions"] == {"added": 0, "updated": 1, "unchanged": 19, "removed": 0}


def test_interrupted_import_goes_on_after_passing_errors(
    imported: Importing, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askalike.readers._site.MAX_WAIT_SECONDS", 0.001)
    site.put_questions(*(question(str(n), f"How do I mend part {n}?") for n in range(4)))
    site.responses["question/info 3"] = 500, b"broken"
    with pytest.raises(
        InputError, match=r"question/info\?id=3: answered 500 .* a repeated import resumes there; kept the 3 questions"
    ):
        import_archive(
            "apache_answer", [site.address], tmp_path / "out", options={"pause": 0, "responses": tmp_path / "kept"}
        )
    site.put("question/info 3", question("3", "How do I mend part 3?"))
    site.requests.clear()
    site.failures = [429, 503]
    assert len(fetch(imported, site, tmp_path / "kept").questions) == 4
    assert [r for r in site.requests if "info" in r] == ["/answer/api/v1/question/info?id=3"]


def test_nobody_waits_after_the_last_try(site: Site, tmp_path: Path) -> None:
    waits: list[float] = []
    site.responses["question/page  1"] = 503, b"busy"
    with pytest.raises(InputError, match="answered 503"):
        SiteClient(site.address, tmp_path, 0, 30, waits.append).get("/answer/api/v1/question/page?page=1")
    assert len(waits) == MAX_TRIES


def test_unwritable_folder_is_one_clear_error(site: Site, expect_refusal: Refusing, tmp_path: Path) -> None:
    site.put_questions(question("1", "How do I mend it?"))
    (tmp_path / "kept").write_text("")
    message = r"kept: cannot be written \(.*\); .* --responses"
    expect_refusal(message, "apache_answer", site.address, pause=0, responses=tmp_path / "kept")


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, {"code": 401, "data": None}, "answered 401"),
        (200, b"<html>", "its answer is not JSON"),
        (200, b"[" * 100_000 + b"]" * 100_000, "its answer is not JSON"),
        (200, b" " * (MAX_RESPONSE_BYTES + 1), "its answer is over 64 MB"),
        (200, {"code": 200, "data": None}, "expected an Apache Answer site that all may read"),
        (404, b"", "expected an Apache Answer site that all may read"),
    ],
)
def test_another_site_is_one_clear_error(
    site: Site, expect_refusal: Refusing, tmp_path: Path, status: int, body: Any, message: str
) -> None:
    site.responses["question/page  1"] = status, body
    expect_refusal(message, "apache_answer", site.address, pause=0, responses=tmp_path / "kept")


def test_silent_site_is_one_clear_error(
    expect_refusal: Refusing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askalike.readers._site.MAX_WAIT_SECONDS", 0.001)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        options = {"pause": 0, "timeout": 0.05, "responses": tmp_path / "kept"}
        expect_refusal("does not answer .*timed out", "apache_answer", address, **options)


def test_a_redirect_to_another_host_is_refused(site: Site, expect_refusal: Refusing, tmp_path: Path) -> None:
    with Site() as elsewhere:
        site.redirects["question/page  1"] = f"{elsewhere.address.replace('127.0.0.1', 'localhost')}/internal"
        expect_refusal("answered 302", "apache_answer", site.address, pause=0, responses=tmp_path / "kept")
        assert elsewhere.requests == []


def test_a_response_that_drips_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askalike.readers._site.MAX_TRIES", 1)

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            for n in range(2_000):
                connection.sendall(b"x-%d: y\r\n" % n)
                time.sleep(0.02)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=drip, args=(listener,), daemon=True).start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        client = SiteClient(address, tmp_path, 0, 0.2)
        with pytest.raises(InputError, match="timed out"):
            client.get("/x")


def test_a_list_without_an_end_is_given_up(
    site: Site, expect_refusal: Refusing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askalike.readers.apache_answer.MAX_PAGES", 3)
    for page in range(1, 9):
        site.put(f"question/page  {page}", {"count": 10**9, "list": [{"id": str(page), "title": "x", "show": 2}]})
    expect_refusal("has over 3 pages", "apache_answer", site.address, pause=0, responses=tmp_path / "kept")


def test_a_path_is_no_site(expect_refusal: Refusing, tmp_path: Path) -> None:
    expect_refusal("expected the address of a site, e.g. https://", "apache_answer", tmp_path / "faq.csv")


def test_a_recorded_site(imported: Importing, site: Site, shared_data: Path, tmp_path: Path) -> None:
    recorded = shared_data / "apache-answer"
    if not recorded.is_dir():
        pytest.skip("the recorded responses are not here")
    listed = []
    for file in sorted(recorded.glob("*.json")):
        record = json.loads(file.read_text())
        parts = urlsplit(record["request"].removeprefix("GET "))
        asked = parse_qs(parts.query)
        if parts.path.endswith("question/page"):
            listed += record["response"]["data"]["list"]
        elif "similar" not in parts.path:
            page = f" {asked['page'][0]}" if "page" in asked else ""
            name = parts.path.rpartition("v1/")[2]
            site.responses[f"{name} {asked.get('id', asked.get('question_id'))[0]}{page}"] = 200, record["response"]
    site.put("question/page  1", {"count": len(listed), "list": listed})
    done = fetch(imported, site, tmp_path / "kept")
    assert (done.summary.questions, done.summary.answers) == (6, 4)
    assert done.summary.notes == {"questions that were removed meanwhile left out": 3}
    assert [(link.source, link.target) for link in done.archive.view().links()] == [
        ("10010000000000034", "10010000000000022")
    ]
