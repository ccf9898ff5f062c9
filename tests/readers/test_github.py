"""GitHub's issues and discussions in the shapes of `gh` 2.60, the GraphQL API and the REST API of 2022-11-28."""

import json
from pathlib import Path
from typing import Any

import pytest
from imported import Importing, Refusing

from askalike import rankers
from askalike.core.errors import InputError, SettingsError
from askalike.core.records import Link
from askalike.readers import import_archive
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.store import Archive

SITE = "https://github.com/riverside/library"


def issue(number: int, title: str, **fields: Any) -> dict[str, Any]:
    return {
        "number": number, "title": title, "body": f"Body of {number}", "url": f"{SITE}/issues/{number}",
        "createdAt": "2024-01-02T03:04:05Z", "closedAt": None, "state": "OPEN", "stateReason": "",
        "author": {"login": "ada", "is_bot": False}, "labels": [{"name": "bug"}], "comments": [],
    } | fields  # fmt: skip


def comment(body: str, association: str = "MEMBER", login: str = "grace") -> dict[str, Any]:
    return {
        "id": f"IC_{body[-3:]}", "body": body, "createdAt": "2024-02-01T00:00:00Z", "author": {"login": login},
        "authorAssociation": association,
    }  # fmt: skip


def marked(number: int | None) -> dict[str, Any]:
    canonical = None if number is None else {"number": number, "repository": {"nameWithOwner": "riverside/library"}}
    return {"__typename": "MarkedAsDuplicateEvent", "createdAt": "2024-03-01T00:00:00Z", "canonical": canonical}


def pages(*items: dict[str, Any] | None, of: str = "issues") -> str:
    """Return what `gh api graphql --paginate` prints: one document for each page."""
    return "\n".join(json.dumps({"data": {"repository": {of: {"nodes": [item]}}}}) for item in items)


def write(tmp_path: Path, text: str) -> Path:
    (tmp_path / "issues.json").write_text(text, encoding="utf-8")
    return tmp_path / "issues.json"


def test_gh_issue_list(imported: Importing, tmp_path: Path) -> None:
    body = "<!-- Please search first -->\nIt does not start."
    issues = [
        issue(1, "It does not start", body=body, closedAt="2024-01-09T00:00:00Z", state="CLOSED"),
        issue(2, "Cannot start it", comments=[comment("Duplicate of #1")], stateReason="DUPLICATE"),
        issue(
            3,
            "Starts twice",
            comments=[comment("duplicate of #1", association="NONE"), comment(f"Dup of {SITE}/issues/2")],
        ),
        issue(4, "Bump a package", author={"login": "dependabot[bot]"}),
        issue(5, "Mend it", url=f"{SITE}/pull/5"),
        issue(6, "Nobody says of what", stateReason="DUPLICATE"),
    ]
    done = imported("github", write(tmp_path, json.dumps(issues)))
    assert list(done.questions) == ["1", "2", "3", "6"]
    one = done.questions["1"]
    assert (one.body, one.tags, one.author, one.url) == ("It does not start.", ("bug",), "ada", f"{SITE}/issues/1")
    assert (one.created_at, one.closed_at) == ("2024-01-02T03:04:05", "2024-01-09T00:00:00")
    assert {(link.source, link.target) for link in done.archive.view().links()} == {("2", "1"), ("3", "2")}
    assert done.summary.source == "riverside/library"
    assert done.summary.notes == {
        "issues and discussions that a bot opened left out": 1, "pull requests left out": 1,
        "duplicates whose original nobody names": 1,
    }  # fmt: skip


def test_graphql_marks_duplicates(imported: Importing, tmp_path: Path) -> None:
    unmarked = {"__typename": "UnmarkedAsDuplicateEvent"}
    thumbs = [{"content": "THUMBS_UP", "users": {"totalCount": 4}}, {"content": "HEART", "users": {"totalCount": 9}}]
    text = pages(
        issue(1, "It does not start", reactionGroups=thumbs, labels={"nodes": [{"name": "bug"}]}),
        issue(2, "Cannot start it", timelineItems={"nodes": [marked(1)]}),
        issue(3, "A circle", timelineItems={"nodes": [marked(2)]}),
        issue(7, "Another circle", timelineItems={"nodes": [marked(3), marked(7)]}),
        issue(4, "Other", timelineItems={"nodes": [marked(1), unmarked]}, comments={"nodes": [comment("dup of #1")]}),
        issue(5, "Its original is gone", timelineItems={"nodes": [marked(None)]}),
        None,
    )  # fmt: skip
    done = imported("github", write(tmp_path, text))
    assert done.questions["1"].votes == 4
    assert set(done.archive.view().links()) == {
        Link(source, target, created_at="2024-03-01T00:00:00")
        for source, target in (("2", "1"), ("3", "2"), ("7", "3"))
    }
    assert done.summary.notes == {
        "duplicates of an issue that was deleted, transferred, or is of another repository": 1,
        "issues that GitHub names without their content left out": 1,
    }


def test_answers_of_discussions(imported: Importing, tmp_path: Path) -> None:
    answers = [
        comment("Read the manual."),
        comment("I can help!", login="helper[bot]"),
        comment("Press it.") | {"isAnswer": True},
    ]
    asked = issue(8, "How does it start?", category={"name": "Q&A", "isAnswerable": True}, upvoteCount=3)
    bots = issue(
        9, "Only bots answer", category={"name": "Q&A", "isAnswerable": True}, comments={"nodes": answers[1:2]}
    )
    said = issue(10, "It is out", category={"name": "News", "isAnswerable": False}, comments={"nodes": answers})
    text = pages(asked | {"comments": {"nodes": answers}}, bots, said, of="discussions")
    done = imported("github", write(tmp_path, text))
    found = done.archive.view().get_answers_to(["8", "9", "10"])
    assert [(a.body, a.accepted) for a in found["8"]] == [("Press it.", True), ("Read the manual.", False)]
    assert found["9"] == found["10"] == []
    assert (done.questions["8"].category, done.questions["8"].votes) == ("Q&A", 3)
    assert done.summary.notes == {"answers of bots left out": 2}


def test_the_rest_api(imported: Importing, tmp_path: Path) -> None:
    row = {
        "number": 1, "title": "It does not start", "body": None, "html_url": f"{SITE}/issues/1",
        "url": "https://api/1",
        "created_at": "2024-01-02T03:04:05Z", "closed_at": None, "user": {"login": "ada", "type": "User"},
        "labels": [], "state_reason": None, "comments": 5,
    }  # fmt: skip
    pull = row | {"number": 2, "pull_request": {"url": "https://api/2"}}
    bot = row | {"number": 3, "user": {"login": "x", "type": "Bot"}}
    done = imported("github", write(tmp_path, json.dumps([row, pull, bot])))
    assert [(q.id, q.url, q.author) for q in done.questions.values()] == [("1", f"{SITE}/issues/1", "ada")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"data": null, "errors": [{"message": "Bad credentials"}]}',
            "GitHub answered 'Bad credentials'; fetch it again",
        ),
        ('{"data": {"repository": null}}', "without issues or discussions"),
        ("[7]", "expected the JSON of gh issue list or gh api graphql"),
        ('[{"title": "no number"}]', r"no row was taken \(1 rejected\), line 1: no number"),
    ],
)
def test_bad_files_are_one_clear_error(expect_refusal: Refusing, tmp_path: Path, text: str, message: str) -> None:
    expect_refusal(message, "github", write(tmp_path, text))


def test_a_file_cut_short_keeps_what_came_before(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps([issue(1, "Why?"), issue(2, "How?")])[:-200])
    with pytest.raises(InputError, match="cut short; kept the 1 question before it"):
        import_archive("github", [path], tmp_path / "out", language="en")


@pytest.mark.parametrize(
    ("bad", "options", "reason"),
    [
        (issue(2, "Stops", updatedAt="yesterday"), {"since": "2024-01-01"}, "date 'yesterday': expected a date"),
        ("a text", {}, "expected an issue or a discussion"),
    ],
)
def test_one_bad_item_is_rejected(imported: Importing, tmp_path: Path, bad: Any, options: Any, reason: str) -> None:
    good = issue(1, "Starts", updatedAt="2024-03-01T00:00:00Z")
    done = imported("github", write(tmp_path, pages(good, bad)), **options)
    assert (done.summary.questions, done.summary.rejected) == (1, 1)
    assert reason in (done.archive.path / "rejected.jsonl").read_text()


def test_missing_count_of_reactions_is_none(imported: Importing, tmp_path: Path) -> None:
    reactions = [{"content": "THUMBS_UP", "users": {"totalCount": None}}]
    done = imported("github", write(tmp_path, json.dumps([issue(1, "Starts", reactionGroups=reactions)])))
    assert done.questions["1"].votes == 0


def test_an_issue_of_another_repository_is_rejected(tmp_path: Path) -> None:
    other = issue(2, "How?", url="https://github.com/other/thing/issues/2")
    odd = issue(3, "Odd", author="ada", labels=7, comments="none", category=[], timelineItems={"nodes": [1, "x"]})
    path = write(tmp_path, json.dumps([issue(1, "Why?"), other, odd]))
    done = import_archive("github", [path], tmp_path / "out", language="en")
    assert (done.questions, done.rejected) == (2, 1)
    with Archive.open(tmp_path / "out") as archive:
        assert "is of other/thing" in (archive.path / "rejected.jsonl").read_text()


@pytest.mark.parametrize(
    ("fields", "states", "solved_in"),
    [
        ({}, ("open",), None),
        ({"state": "CLOSED", "stateReason": "COMPLETED", "closedAt": "2024-03-04T00:00:00Z"}, ("answered",), None),
        ({"state": "CLOSED", "closedAt": "2024-03-04T00:00:00Z", "milestone": {"title": "2.0"}}, ("answered",), "2.0"),
        (
            {
                "state": "CLOSED", "stateReason": "COMPLETED", "closedAt": "2024-03-04T00:00:00Z",
                "labels": [{"name": "Fixed in v2.1"}], "milestone": {"title": "2.0"},
            },
            ("answered",),
            "v2.1",
        ),
        ({"state": "CLOSED", "stateReason": "NOT_PLANNED", "milestone": {"title": "2.0"}}, ("closed",), None),
        ({"state": "CLOSED", "stateReason": "DUPLICATE", "locked": True}, ("closed", "locked"), None),
        ({"closed": True, "stateReason": "OUTDATED"}, ("outdated",), None),
        ({"isAnswered": True, "closed": False}, ("answered",), None),
        ({"stateReason": "REOPENED"}, ("open",), None),
    ],
)  # fmt: skip
def test_states(imported: Importing, tmp_path: Path, fields: dict[str, Any], states: Any, solved_in: str) -> None:
    done = imported("github", write(tmp_path, json.dumps([issue(1, "It does not start", **fields)])))
    one = done.questions["1"]
    assert (one.states, one.solved_in) == (states, solved_in)


def test_a_discussion_of_bots_alone_has_no_answer(imported: Importing, tmp_path: Path) -> None:
    bot = {"login": "stale[bot]"}
    comments = [comment("This is stale.", login="stale[bot]"), comment("Closing.", login="stale[bot]")]
    fields: dict[str, Any] = {"category": {"name": "Q&A", "isAnswerable": True}, "comments": comments}
    by_person, by_bot = issue(1, "How?", **fields), issue(2, "Weekly report", author=bot, **fields)
    done = imported("github", write(tmp_path, json.dumps([by_person, by_bot])))
    assert list(done.questions) == ["1"]
    assert done.archive.view().get_answers_to(["1"]) == {"1": []}
    assert done.summary.notes == {
        "answers of bots left out": 2, "issues and discussions that a bot opened left out": 1,
    }  # fmt: skip


def test_circle_of_duplicates_is_its_first_issue(imported: Importing, tmp_path: Path) -> None:
    links = {1: 2, 2: 3, 3: 1}
    issues = [
        issue(number, f"It does not start {number}", comments=[comment(f"Duplicate of #{original}")])
        for number, original in links.items()
    ]
    done = imported("github", write(tmp_path, json.dumps(issues)))
    engine = ArchiveRetriever(done.archive, rankers.create("bm25"))
    assert [hit.id for hit in engine.search("It does not start", min_similarity=0)] == ["1"]


def test_only_what_changed_since(imported: Importing, tmp_path: Path) -> None:
    old, new = issue(1, "Old?", updatedAt="2026-01-30T23:59:59Z"), issue(2, "New?", updatedAt="2026-01-31T00:00:00Z")
    file = write(tmp_path, json.dumps([old, new]))
    done = imported("github", file, since="2026-01-31")
    assert (list(done.questions), done.summary.notes) == (["2"], {"older than --since left out": 1})
    imported("github", write(tmp_path, json.dumps([old, new])))
    done = imported("github", write(tmp_path, json.dumps([old])), since="2026-01-31")  # a day on which nothing changed
    assert (list(done.questions), done.summary.notes) == (["2", "1"], {"older than --since left out": 1})


def test_a_date_to_go_by(expect_refusal: Refusing, tmp_path: Path) -> None:
    file = write(tmp_path, json.dumps([issue(1, "When?")]))
    expect_refusal("no updatedAt, which --since goes by", "github", file, since="2026-01-31")
    expect_refusal("since.*expected a date", "github", file, since="yesterday", error=SettingsError)
    with pytest.raises(SettingsError, match="--since and --prune: unchanged records would be removed"):
        import_archive("github", [file], tmp_path / "archive", options={"since": "2026-01-31"}, prune=True)
