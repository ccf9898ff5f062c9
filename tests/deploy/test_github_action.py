"""`deploy/github-action`, with events as GitHub sends them, against a small server of HTTP.

The events are written from "Webhook events and payloads: issues", the comments from "REST API endpoints for issue
comments", both of API version 2022-11-28.
"""

import importlib.util
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from askalike.calibration.calibrate import calibrate
from askalike.readers import import_archive
from askalike.search.engine import LocalEngine
from askalike.store import Archive
from commands import environment

yaml = pytest.importorskip("yaml", reason="needs PyYAML")
ROOT = Path(__file__).parents[2]
ACTION = ROOT / "deploy" / "github-action"
spec = importlib.util.spec_from_file_location("suggest", ACTION / "suggest.py")
assert spec
assert spec.loader
suggest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(suggest)


def test_a_redirect_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_port}/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/similar"
        with pytest.raises(suggest.SuggestError, match="answered 302"):
            suggest.fetch("GET", address, None, {"Authorization": "Bearer ask_SECRET"})
        server.shutdown()
    assert requests == ["/similar"]


ISSUE_URL = "https://github.com/octo-org/desk/issues/42"
BOT = "github-actions[bot]"


class GitHubAndService:
    """The comments of issue 42, and what a service finds for it."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.results: Any = []
        self.requests: list[tuple[str, str, Any]] = []
        self.status = 200
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def handle_request(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                hub.requests.append((self.command, self.path, body))
                content = json.dumps(hub.answer(self.command, self.path, body)).encode()
                self.send_response(hub.status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = handle_request

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, method: str, path: str, body: Any) -> Any:
        parts = urlsplit(path)
        if parts.path == "/v1/desk/similar":
            return self.results if not isinstance(self.results, list) else {"results": self.results}
        if method == "GET":
            page = int(parse_qs(parts.query)["page"][0])
            return self.comments[100 * (page - 1) : 100 * page]
        if method == "POST":
            self.comments.append(comment(body["body"], id=len(self.comments) + 1))
            return self.comments[-1]
        found = next(c for c in self.comments if c["id"] == int(parts.path.rpartition("/")[2]))
        found["body"] = body["body"]
        return found

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [(m, p) for m, p, _ in self.requests if m != "GET" and not p.endswith("/similar")]


def comment(body: str, login: str = BOT, id: int = 1) -> dict[str, Any]:
    return {"id": id, "body": body, "user": {"login": login, "type": "Bot" if login == BOT else "User"}}


def result(title: str, probability: float | None, url: str | None = "https://desk.example/q/1") -> dict[str, Any]:
    return {"id": "1", "title": title, "url": url, "probability": probability}


def event(action: str = "opened", **issue: Any) -> dict[str, Any]:
    return {
        "action": action,
        "issue": {
            "number": 42, "html_url": ISSUE_URL, "title": "I lost my card", "body": None, "state": "open",
            "user": {"login": "ada", "type": "User"},
        } | issue,
        "repository": {"full_name": "octo-org/desk"},
        "sender": {"login": "ada", "type": "User"},
    }  # fmt: skip


@pytest.fixture
def hub() -> Iterator[GitHubAndService]:
    hub = GitHubAndService()
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


def run(hub: GitHubAndService, folder: Path, sent: Any = None, **env: str) -> int:
    file = folder / "event.json"
    file.write_text(json.dumps(sent or event()))
    common = {"GITHUB_API_URL": hub.address, "GITHUB_REPOSITORY": "octo-org/desk", "GITHUB_EVENT_PATH": str(file)}
    return int(suggest.main(common | {"TOKEN": "t", "URL": f"{hub.address}/v1/desk", "THRESHOLD": "0.8"} | env))


def test_a_new_issue_gets_one_comment_with_at_most_three(hub: GitHubAndService, tmp_path: Path) -> None:
    itself = result("I lost my card", 1.0, ISSUE_URL)
    hub.results = [itself, *(result(f"Lost card {n}", 0.95 - n / 100, f"https://desk.example/q/{n}") for n in range(4))]
    assert run(hub, tmp_path) == 0
    [written] = hub.comments
    assert written["body"].splitlines()[1:] == [
        "This may have been asked before:", "",
        "- [Lost card 0](https://desk.example/q/0) (95%)",
        "- [Lost card 1](https://desk.example/q/1) (94%)",
        "- [Lost card 2](https://desk.example/q/2) (93%)",
    ]  # fmt: skip
    assert hub.requests[0][2] == {"title": "I lost my card", "body": "", "k": 4}


def test_the_comment_is_edited_and_not_repeated(hub: GitHubAndService, tmp_path: Path) -> None:
    others = [comment("hello", "ada", n) for n in range(150)]
    hub.comments = [*others, comment(f"{suggest.MARKER}\nmine", "mallory", 998)]
    hub.results = [result("Lost card", 0.9)]
    for _ in range(2):
        assert run(hub, tmp_path, event("edited")) == 0
    assert hub.writes == [("POST", "/repos/octo-org/desk/issues/42/comments")]
    hub.results = [result("Card stolen", 0.85)]
    assert run(hub, tmp_path, event("edited")) == 0
    assert "Card stolen" in hub.comments[-1]["body"]
    hub.results = []
    assert run(hub, tmp_path, event("edited")) == 0
    assert hub.comments[-1]["body"].endswith(suggest.NOTHING_LEFT)
    assert len(hub.comments) == 152
    assert [method for method, _ in hub.writes] == ["POST", "PATCH", "PATCH"], "nothing is closed or labelled"
    assert hub.comments[150]["body"].endswith("mine")


@pytest.mark.parametrize(
    "sent",
    [
        event("labeled"),
        event("closed", state="closed"),
        event(state="closed"),
        event(user={"login": "dependabot[bot]", "type": "Bot"}),
        event(pull_request={"url": "https://api.github.com/repos/octo-org/desk/pulls/42"}),
        {"zen": "Keep it logically awesome.", "hook_id": 1},
    ],
)
def test_other_events_do_nothing(hub: GitHubAndService, tmp_path: Path, sent: Any) -> None:
    hub.results = [result("Lost card", 0.9)]
    assert run(hub, tmp_path, sent) == 0
    assert hub.requests == []


def test_it_is_silent_below_the_threshold(hub: GitHubAndService, tmp_path: Path) -> None:
    hub.results = [result("Lost card", 0.79)]
    assert run(hub, tmp_path) == 0
    assert hub.comments == []
    assert run(hub, tmp_path, THRESHOLD="") == 0
    assert len(hub.comments) == 1


def test_a_title_mentions_nobody_and_is_no_markup(hub: GitHubAndService, tmp_path: Path) -> None:
    hub.results = [
        result("@octo-org/all see](https://evil.example) <img src=x> #12", 0.9, "javascript:alert(1)"),
        result("Ends) early", 0.9, "https://desk.example/q/(1)"),
    ]
    assert run(hub, tmp_path) == 0
    [_, _, _, first, second] = hub.comments[0]["body"].splitlines()
    assert first == "- @\u200bocto-org/all see\\](https://evil.example) \\<img src=x\\> \\#12 (90%)"
    assert second == "- Ends) early (90%)"


def test_what_goes_wrong_is_one_line(hub: GitHubAndService, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub.results = [result("Lost card", None)]
    wrong = [({}, "not calibrated"), ({"THRESHOLD": "2"}, "expected a probability"), ({"URL": "file:///x"}, "https://")]
    for env, problem in wrong:
        assert run(hub, tmp_path, **env) == 1
        [line] = capsys.readouterr().out.splitlines()
        assert line.startswith("::error::askalike: ")
        assert problem in line
    hub.results = "an error"
    assert run(hub, tmp_path) == 1
    hub.status = 503
    assert run(hub, tmp_path) == 1
    assert "answered 503" in capsys.readouterr().out.splitlines()[-1]
    assert run(hub, tmp_path, URL="http://127.0.0.1:9/v1/desk") == 1
    assert hub.comments == []


@pytest.fixture
def commands(tmp_path: Path) -> dict[str, str]:
    """An environment with the commands askalike and gh; gh gives the issues of the file in $ISSUES."""
    folder = tmp_path / "bin"
    folder.mkdir()
    gh = '#!/bin/sh\necho "$@" >> "$ISSUES.calls"\ncat "$ISSUES"\n'
    ours = f"#!{sys.executable}\nfrom askalike.cli import main\n\nmain()\n"
    for name, text in (("gh", gh), ("askalike", ours)):
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    return environment() | {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_an_archive_on_the_machine_is_searched_without_a_service(
    hub: GitHubAndService, tmp_path: Path, commands: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", commands["PATH"])
    monkeypatch.setenv("PYTHONPATH", commands["PYTHONPATH"])
    import_archive("table", [ROOT / "examples" / "riverside.csv"], tmp_path / "desk")
    assert run(hub, tmp_path, URL="", ARCHIVE=str(tmp_path / "desk")) == 1, "nothing is calibrated yet"
    with LocalEngine.open(tmp_path / "desk") as engine:
        calibrate(engine.archive, engine.ranker).calibration.save(tmp_path / "desk")
    sent = event(title="I have lost my library card", body="--help")
    assert run(hub, tmp_path, sent, URL="", ARCHIVE=str(tmp_path / "desk"), THRESHOLD="0.3") == 0
    assert "https://desk.example/q/r013" in hub.comments[0]["body"]


def test_the_scheduled_import_takes_what_has_changed(tmp_path: Path, commands: dict[str, str]) -> None:
    issues = tmp_path / "issues.json"
    env = commands | {"ISSUES": str(issues), "ARCHIVE": str(tmp_path / "desk"), "GITHUB_REPOSITORY": "octo-org/desk"}

    def import_issues(*numbers: int) -> None:
        nodes = [
            {"number": n, "title": f"How do I mend part {n}?", "url": f"https://github.com/octo-org/desk/issues/{n}"}
            for n in numbers
        ]
        issues.write_text(json.dumps({"data": {"repository": {"issues": {"nodes": nodes}}}}))
        subprocess.run(["bash", ACTION / "import" / "import.sh"], env=env, check=True, capture_output=True)

    import_issues(1, 2)
    import_issues(2, 3)
    import_issues()
    with Archive.open(tmp_path / "desk") as archive:
        assert len(archive.view()) == 3
    first, second, _ = Path(f"{issues}.calls").read_text().splitlines()
    assert "owner=octo-org -F name=desk" in first
    assert "since=" not in first
    assert "since=20" in second


@pytest.mark.parametrize("file", ["action.yml", "import/action.yml", "workflow.yml"])
def test_the_actions_are_yaml_that_names_existing_files(file: str) -> None:
    described = yaml.safe_load((ACTION / file).read_text())
    if file == "workflow.yml":
        assert described["permissions"] == {"contents": "read", "issues": "write"}
        steps = [step for job in described["jobs"].values() for step in job["steps"]]
        inputs = yaml.safe_load((ACTION / "action.yml").read_text())["inputs"]
        assert set(steps[1]["with"]) <= set(inputs)
        assert all(
            (ACTION / s["uses"].partition("github-action")[2].partition("@")[0].strip("/")).is_dir() for s in steps
        )
    else:
        assert described["runs"]["using"] == "composite"
