"""`deploy/github-action`, with events as GitHub sends them, against a small server of HTTP.

The events are written from "Webhook events and payloads: issues", the comments from "REST API endpoints for issue
comments", both of API version 2022-11-28.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from askalike.readers import import_archive
from commands import Finished, askalike
from http_servers import LocalServer, QuietHandler

yaml = pytest.importorskip("yaml", reason="needs PyYAML")
ROOT = Path(__file__).parents[2]
ACTION = ROOT / "deploy" / "github-action"
sys.path.insert(0, str(ACTION))
import github_api  # noqa: E402
import issue_index  # noqa: E402
import issue_text  # noqa: E402
import suggest  # noqa: E402


def test_a_redirect_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[str] = []

    class Elsewhere(QuietHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.reply(b"", 302, location=f"http://localhost:{self.server.server_port}/elsewhere")

    with LocalServer(Elsewhere) as server, pytest.raises(github_api.ActionError, match="answered 302"):
        github_api.fetch("GET", f"{server.address}/similar", None, {"Authorization": "Bearer ask_SECRET"})
    assert requests == ["/similar"]


ISSUE_URL = "https://github.com/octo-org/desk/issues/42"
BOT = "github-actions[bot]"


class GitHubAndService:
    """The comments of issue 42, and what a service finds for it."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.results: Any = []
        self.issues: list[dict[str, Any]] = []
        self.graphql_answer: Any = None
        self.requests: list[tuple[str, str, Any]] = []
        self.status = 200
        hub = self

        class Handler(QuietHandler):
            def handle_request(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                hub.requests.append((self.command, self.path, body))
                self.reply(json.dumps(hub.answer(self.command, self.path, body)).encode(), hub.status)

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = handle_request

        self.server = LocalServer(Handler)
        self.address = self.server.address

    def answer(self, method: str, path: str, body: Any) -> Any:
        parts = urlsplit(path)
        if parts.path == "/v1/desk/similar":
            return self.results if not isinstance(self.results, list) else {"results": self.results}
        if parts.path == "/graphql":
            return self.graphql_answer or self.answer_issues(body["variables"])
        if method == "GET":
            page = int(parse_qs(parts.query)["page"][0])
            return self.comments[100 * (page - 1) : 100 * page]
        if method == "POST":
            self.comments.append(comment(body["body"], id=len(self.comments) + 1))
            return self.comments[-1]
        found = next(c for c in self.comments if c["id"] == int(parts.path.rpartition("/")[2]))
        found["body"] = body["body"]
        return found

    def answer_issues(self, variables: dict[str, Any]) -> Any:
        """Answer three issues a page, as GraphQL does."""
        start, since = int(variables["endCursor"] or 0), variables["since"] or ""
        changed = [issue for issue in self.issues if issue["updatedAt"] >= since]
        page = {"hasNextPage": start + 3 < len(changed), "endCursor": str(start + 3)}
        return {"data": {"repository": {"issues": {"nodes": changed[start : start + 3], "pageInfo": page}}}}

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [(m, p) for m, p, _ in self.requests if m != "GET" and not p.endswith(("/similar", "/graphql"))]


def comment(body: str, login: str = BOT, id: int = 1) -> dict[str, Any]:
    return {"id": id, "body": body, "user": {"login": login, "type": "Bot" if login == BOT else "User"}}


def result(title: str, probability: float | None, url: str | None = "https://desk.example/q/1") -> dict[str, Any]:
    return {"id": "1", "title": title, "url": url, "probability": probability}


def event(action: str = "opened", **issue: Any) -> dict[str, Any]:
    return {
        "action": action,
        "issue": {
            "number": 42, "html_url": ISSUE_URL, "title": "I lost my card", "body": None, "state": "open",
            "created_at": "2026-05-01T12:00:00Z", "labels": [],
            "user": {"login": "ada", "type": "User"},
        } | issue,
        "repository": {"full_name": "octo-org/desk"},
        "sender": {"login": "ada", "type": "User"},
    }  # fmt: skip


@pytest.fixture
def hub() -> Iterator[GitHubAndService]:
    hub = GitHubAndService()
    yield hub
    hub.server.server_close()


def run(hub: GitHubAndService, folder: Path, sent: Any = None, **env: str) -> int:
    file = folder / "event.json"
    file.write_text(json.dumps(sent or event()))
    common = {"GITHUB_API_URL": hub.address, "GITHUB_REPOSITORY": "octo-org/desk", "GITHUB_EVENT_PATH": str(file)}
    return int(suggest.main(common | {"TOKEN": "t", "URL": f"{hub.address}/v1/desk", "THRESHOLD": "0.8"} | env))


def test_new_issue_gets_one_short_comment(hub: GitHubAndService, tmp_path: Path) -> None:
    itself = result("I lost my card", 1.0, ISSUE_URL)
    hub.results = [itself, *(result(f"Lost card {n}", 0.95 - n / 100, f"https://desk.example/q/{n}") for n in range(4))]
    assert run(hub, tmp_path) == 0
    [written] = hub.comments
    assert written["body"].splitlines()[1:] == [
        "<!-- suggested: 1 1 1 -->", "This may have been asked before:", "",
        "- [Lost card 0](https://desk.example/q/0) (95 % likely the same)",
        "- [Lost card 1](https://desk.example/q/1) (94 % likely the same)",
        "- [Lost card 2](https://desk.example/q/2) (93 % likely the same)", "", suggest.FOOTER,
    ]  # fmt: skip
    assert hub.requests[0][2] == {"title": "I lost my card", "body": "", "k": 4}


def test_the_comment_is_edited_and_not_repeated(hub: GitHubAndService, tmp_path: Path) -> None:
    others = [comment("hello", "ada", n) for n in range(150)]
    hub.comments = [*others, comment(f"{github_api.MARKER}\nmine", "mallory", 998)]
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
        event("labeled") | {"label": {"name": "bug"}},
        event("created") | {"comment": comment("thanks for /similar", "ada")},
        event("created") | {"comment": comment("/similar")},
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
    first, second = (line for line in hub.comments[0]["body"].splitlines() if line.startswith("- "))
    shown = "@\u200bocto-org/all see\\](https:\u200b//evil.example) \\<img src=x\\> \\#\u200b12"
    assert first == f"- {shown} (90 % likely the same)"
    assert second == "- Ends) early (90 % likely the same)"


@pytest.mark.parametrize(
    "linked",
    [
        "https://evil.example/a", "HTTP://evil.example", "ftp://evil.example", "www.evil.example", "WWW.evil.example",
        "GH-12", "gh-12", "#12", "octo-org/desk#12", "@octo-org/all", "octo@0123456", "0123456",
        "0123456789abcdef0123456789ABCDEF01234567", "ann@example.org", "mailto:ann@example.org",
    ],
)  # fmt: skip
def test_github_links_nothing_in_a_plain_title(linked: str) -> None:
    line = suggest.format_line(result(f"See {linked} now", 0.9, None))
    assert line.replace("\\", "").replace(suggest.ZERO_WIDTH, "") == f"- See {linked} now (90 % likely the same)"
    assert not GITHUB_LINKS.search(line.replace("\\", ""))


GITHUB_LINKS = re.compile(
    r"(?:https?|ftp)://|\bwww\.|\bGH-\d|#\d|@[\w-]|\b[0-9a-f]{7,40}\b", re.IGNORECASE
)  # GitHub's documentation: "Autolinked references and URLs"; GFM 6.9: autolinks (extension)


def test_body_of_unclosed_comments_is_read_once() -> None:
    body = "<!--" * 200_000
    assert issue_text.clean_body(f"{body} x", frozenset()) == f"{body} x"
    assert issue_text.clean_body("a<!-- b\n --> c<!--d--><!-- <!-- --> e -->", frozenset()) == "a c e -->"
    assert issue_text.find_template_lines([body] * 5) == set()


@pytest.mark.usefixtures("commands", "issues")
def test_a_body_of_any_length_is_searched(hub: GitHubAndService, tmp_path: Path) -> None:
    workflow_run(hub, tmp_path, {})
    long = event(title="My lost card on machine 9", body="借りた本を失くした。" * 16_000, number=42)
    assert len(long["issue"]["body"].encode()) > 1 << 18
    workflow_run(hub, tmp_path, long, THRESHOLD="0.01")
    assert len(hub.comments) == 1


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


def test_reasons_are_shown_beside_the_probability(hub: GitHubAndService, tmp_path: Path) -> None:
    scores = {"*card*": 2.0, "Do": 1.5, "lost": 1.0, "the": 0.0}
    words = [{"word": word, "fields": ["title"], "score": score} for word, score in scores.items()]
    words.append({"word": "mine", "fields": [], "score": 1.0})
    hub.results = [result("Lost card", 0.9) | {"contributions": words, "solution": "was solved in 2.1"}]
    assert run(hub, tmp_path) == 0
    assert "(90 % likely the same): both say \\*card\\*, lost; was solved in 2.1" in hub.comments[0]["body"]


@pytest.mark.parametrize(
    ("env", "labels", "comments"),
    [
        ({"LABELS": "bug, crash"}, ["bug"], 1), ({"LABELS": "bug"}, ["question"], 0),
        ({"SKIP_LABELS": "meta"}, ["bug", "meta"], 0), ({"SKIP_LABELS": "meta"}, [], 1),
    ],
)  # fmt: skip
def test_labels_are_a_gate(
    hub: GitHubAndService, tmp_path: Path, env: dict[str, str], labels: list[str], comments: int
) -> None:
    hub.results = [result("Lost card", 0.9)]
    assert run(hub, tmp_path, event(labels=[{"name": name} for name in labels]), **env) == 0
    assert len(hub.comments) == comments


def test_a_label_opens_the_gate_later(hub: GitHubAndService, tmp_path: Path) -> None:
    hub.results = [result("Lost card", 0.9)]
    labelled = event("labeled", labels=[{"name": "bug"}]) | {"label": {"name": "bug"}}
    assert run(hub, tmp_path, labelled, LABELS="bug") == 0
    assert len(hub.comments) == 1


def test_comment_asks_again_even_when_closed(hub: GitHubAndService, tmp_path: Path) -> None:
    asked = event("created", state="closed") | {"comment": comment(" /similar\nplease", "ada")}
    assert run(hub, tmp_path, asked) == 0
    assert hub.comments[0]["body"].endswith(suggest.NOTHING_FOUND)
    hub.results = [result("Lost card", 0.9)]
    assert run(hub, tmp_path, asked) == 0
    [written] = hub.comments
    assert "Lost card" in written["body"]


def test_a_dry_run_writes_to_the_summary_alone(hub: GitHubAndService, tmp_path: Path) -> None:
    hub.results = [result("Lost card", 0.9)]
    summary = tmp_path / "summary.md"
    assert run(hub, tmp_path, DRY_RUN="true", GITHUB_STEP_SUMMARY=str(summary)) == 0
    assert hub.writes == []
    assert "[Lost card](https://desk.example/q/1) (90 % likely the same)" in summary.read_text()


def test_lines_of_templates_are_left_out() -> None:
    form = "### Version\n\n{}\n\n### Logs\n\n_No response_\n\n- [x] I have searched\n<!-- be kind -->"
    lines = issue_text.find_template_lines([*(form.format(n) for n in range(60)), None, "free text"])
    assert {"### Version", "### Logs"} <= lines
    assert issue_text.clean_body(form.format("7\r\n\r\n\r\ntext"), lines) == "7\n\ntext"
    assert issue_text.find_template_lines(["### Version"] * 4) == set()


MAX_ARGUMENT_BYTES = 131_072
"""Linux refuses a command with a longer argument (E2BIG)."""


@pytest.fixture
def issues(hub: GitHubAndService) -> None:
    """An issue of each topic."""
    hub.issues = [issue_node(n, f"The {topic} on machine {n}") for n, topic in enumerate(TOPICS, 1)]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command askalike within this process; in one of its own it is run by first_day/test_afternoon.py."""

    def run_command(command: list[str], input: str = "", **_: Any) -> Finished:
        assert command[0] == "askalike"
        assert all(len(word.encode()) < MAX_ARGUMENT_BYTES for word in command)
        return askalike(*command[1:], input=input)

    monkeypatch.setattr(subprocess, "run", run_command)
    monkeypatch.setenv("ASKALIKE_RANKER", "bm25")


TOPICS = ("printer jams", "dark theme", "login loop", "slow search", "broken link", "lost card")


def issue_node(number: int, title: str, **fields: Any) -> dict[str, Any]:
    """An issue as GraphQL answers it, of one day a number."""
    return {
        "number": number, "title": title, "body": "### Version\n\n1", "state": "OPEN", "stateReason": None,
        "url": f"https://github.com/octo-org/desk/issues/{number}", "author": {"__typename": "User", "login": "mona"},
        "createdAt": f"2026-01-{number:02}T12:00:00Z", "updatedAt": f"2026-01-{number:02}T12:00:00Z",
        "labels": {"nodes": []}, "timelineItems": {"nodes": []}, "comments": {"nodes": []},
    } | fields  # fmt: skip


def workflow_run(hub: GitHubAndService, folder: Path, sent: Any, **inputs: str) -> str:
    """Run both scripts' main functions, as the action's steps do; return what the job's summary says."""
    file, summary = folder / "event.json", folder / "summary.md"
    file.write_text(json.dumps(sent))
    summary.write_text("")
    env = {
        "GITHUB_API_URL": hub.address, "GITHUB_GRAPHQL_URL": f"{hub.address}/graphql", "TOKEN": "t",
        "GITHUB_REPOSITORY": "octo-org/desk", "GITHUB_EVENT_PATH": str(file), "GITHUB_STEP_SUMMARY": str(summary),
        "ARCHIVE": str(folder / "desk"), **inputs,
    }  # fmt: skip
    assert (issue_index.main(env), suggest.main(env)) == (0, 0)
    return summary.read_text()


@pytest.mark.usefixtures("commands", "issues")
def test_without_a_service_later_runs_follow_events(hub: GitHubAndService, tmp_path: Path) -> None:
    hub.issues[4] |= {"state": "CLOSED", "stateReason": "COMPLETED", "closedAt": "2026-02-01T00:00:00Z"}
    said = workflow_run(hub, tmp_path, {})
    assert "6 changed issues imported" in said
    assert [body["variables"]["endCursor"] for _, path, body in hub.requests if path == "/graphql"] == [None, "3"]
    new = event(title="My lost card on machine 9", body="### Version\n\n9", number=42)
    workflow_run(hub, tmp_path, new, THRESHOLD="0.3")
    [written] = hub.comments
    assert "[The lost card on machine 6](https://github.com/octo-org/desk/issues/6) (similarity" in written["body"]
    assert "both say" in written["body"]
    assert len([path for _, path, _ in hub.requests if path == "/graphql"]) == 2, "an event needs no other issue"
    at = {"number": 43, "created_at": "2026-05-02T12:00:00Z", "html_url": f"{ISSUE_URL[:-2]}43"}
    later = event(title="Another lost card on machine 9", **at)
    workflow_run(hub, tmp_path, later, THRESHOLD="0.3")
    assert "issues/42)" in hub.comments[-1]["body"], "the event's issue is in the archive"


@pytest.mark.usefixtures("commands", "issues")
def test_the_state_has_lines_that_many_issues_share(hub: GitHubAndService, tmp_path: Path) -> None:
    hub.issues[0]["body"] += "\n\nI am Ann."
    workflow_run(hub, tmp_path, {})
    state = (tmp_path / "desk" / suggest.STATE_FILE).read_text()
    assert json.loads(state)["template_lines"] == ["### Version", "1"]
    assert "Ann" not in state
    assert sorted(file.name for file in tmp_path.iterdir()) == ["desk", "event.json", "summary.md"]


@pytest.mark.usefixtures("commands", "issues")
def test_closed_and_newer_issues_need_asking_for(hub: GitHubAndService, tmp_path: Path) -> None:
    hub.issues[5] |= {"state": "CLOSED", "stateReason": "COMPLETED", "closedAt": "2026-02-01T00:00:00Z"}
    hub.issues.append(issue_node(30, "My lost card on machine 9"))
    workflow_run(hub, tmp_path, {})
    new = event(title="My lost card on machine 9", number=20, created_at="2026-01-20T12:00:00Z")
    workflow_run(hub, tmp_path, new, THRESHOLD="0.4")
    assert hub.comments == []
    workflow_run(hub, tmp_path, new, THRESHOLD="0.4", CLOSED="true")
    [written] = hub.comments
    assert suggest.suggested_ids(written["body"]) == ["6"]


@pytest.mark.usefixtures("commands", "issues")
def test_rejected_suggestions_are_not_made_again(hub: GitHubAndService, tmp_path: Path) -> None:
    workflow_run(hub, tmp_path, {})
    workflow_run(hub, tmp_path, event(title="My lost card on machine 9"), THRESHOLD="0.3")
    hub.comments[0] |= {"reactions": {"+1": 0, "-1": 2}, "issue_url": f"{hub.address}/repos/octo-org/desk/issues/42"}
    said = workflow_run(hub, tmp_path, {})
    assert "Reactions to 1 comments: 👍 0, 👎 2" in said
    rows = (tmp_path / "desk" / "feedback.csv").read_text().splitlines()
    assert rows[1].startswith("42,My lost card on machine 9,6,The lost card on machine 6,0,reject")
    workflow_run(hub, tmp_path, event("edited", title="My lost card on machine 9"), THRESHOLD="0.3")
    assert "machine 6" not in hub.comments[0]["body"]
    import_archive("pairs", [tmp_path / "desk" / "feedback.csv"], tmp_path / "pairs")


@pytest.mark.usefixtures("commands", "issues")
def test_a_damaged_state_is_built_again(hub: GitHubAndService, tmp_path: Path) -> None:
    workflow_run(hub, tmp_path, {})
    (tmp_path / "desk" / suggest.STATE_FILE).write_text("{")
    workflow_run(hub, tmp_path, event(title="My lost card on machine 9"), THRESHOLD="0.3")
    assert len(hub.comments) == 1


def test_an_error_of_graphql_is_one_line(
    hub: GitHubAndService, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.graphql_answer = {"errors": [{"message": "API rate limit exceeded"}]}
    env = {"GITHUB_API_URL": hub.address, "GITHUB_REPOSITORY": "octo-org/desk", "TOKEN": "t"}
    assert issue_index.main(env | {"ARCHIVE": str(tmp_path / "desk")}) == 1
    assert capsys.readouterr().out.endswith("/graphql: API rate limit exceeded\n")


@pytest.mark.parametrize("file", ["action.yml", "workflow.yml"])
def test_the_actions_are_yaml_that_names_existing_files(file: str) -> None:
    described = yaml.safe_load((ACTION / file).read_text())
    if file == "workflow.yml":
        assert described["permissions"] == {"contents": "read", "issues": "write"}
        steps = [step for job in described["jobs"].values() for step in job["steps"]]
        inputs = yaml.safe_load((ACTION / "action.yml").read_text())["inputs"]
        assert all(set(step["with"]) <= set(inputs) for step in steps)
        assert all(
            (ACTION / s["uses"].partition("github-action")[2].partition("@")[0].strip("/")).is_dir() for s in steps
        )
    else:
        assert described["runs"]["using"] == "composite"
        commands = [step["run"] for step in described["runs"]["steps"] if "run" in step]
        scripts = re.findall(r"GITHUB_ACTION_PATH/(\S+\.py)", " ".join(commands))
        assert scripts == ["issue_index.py", "suggest.py"]
        assert all((ACTION / script).is_file() for script in scripts)


def test_the_inputs_are_those_that_the_page_lists() -> None:
    page = (ROOT / "docs" / "github.md").read_text().partition("## ")[0]
    inputs = yaml.safe_load((ACTION / "action.yml").read_text())["inputs"]
    assert set(inputs) == set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE))
