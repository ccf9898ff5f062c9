"""Question2Answer's table `qa_posts` (1.8, docs.question2answer.org) as `mysql --batch` and phpMyAdmin 5 write it."""

import json
from pathlib import Path

import pytest
from imported import Importing, Refusing

from askalike.core.records import Link

NAMES = [
    "postid", "type", "parentid", "categoryid", "selchildid", "closedbyid", "userid", "netvotes", "format", "created",
    "updated", "updatetype", "title", "content", "tags", "name",
]  # fmt: skip
POSTS = [
    "1 Q NULL 3 4 NULL 7 5 html 2024-01-02·03:04:05 NULL NULL How·do·I·log·in? <p>At·home</p> login,home NULL",
    "2 Q NULL 3 NULL 1 NULL -1 NULL 2024-01-03·00:00:00 2024-01-05·00:00:00 C Log·in·how? a\\tb\\n\\\\c NULL Ada",
    "3 Q NULL NULL NULL 6 NULL 0 NULL 2024-01-04·00:00:00 NULL NULL Spam? NULL NULL NULL",
    "4 A 1 3 NULL NULL 8 2 NULL 2024-01-02·04:00:00 NULL NULL NULL Press·the·button. NULL NULL",
    "5 C 4 3 NULL NULL 7 0 NULL 2024-01-02·05:00:00 NULL NULL NULL Thanks! NULL NULL",
    "6 NOTE 3 NULL NULL NULL 1 0 NULL 2024-01-04·01:00:00 NULL NULL NULL Spam. NULL NULL",
    "7 Q_HIDDEN NULL 3 NULL NULL 9 0 NULL 2024-01-06·00:00:00 NULL NULL Gone Gone NULL NULL",
]
ROWS = [[cell.replace("·", " ") for cell in post.split(" ")] for post in POSTS]


def write_tsv(path: Path, rows: list[list[str]]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in (NAMES, *rows)))
    return path


def as_json(rows: list[list[str]]) -> list[dict[str, str | None]]:
    cells = {"NULL": None, "a\\tb\\n\\\\c": "a\tb\n\\c"}
    return [{n: cells.get(cell, cell) for n, cell in zip(NAMES, row, strict=True)} for row in rows]


@pytest.mark.parametrize("format", ["tsv", "json", "phpmyadmin"])
def test_posts(imported: Importing, tmp_path: Path, format: str) -> None:
    path = write_tsv(tmp_path / "qa_posts.tsv", ROWS)
    if format != "tsv":
        path = tmp_path / "qa_posts.json"
        table = {"type": "table", "name": "qa_posts", "database": "qa", "data": as_json(ROWS)}
        path.write_text(
            json.dumps(as_json(ROWS) if format == "json" else [{"type": "header", "version": "5.2"}, table])
        )
    categories = tmp_path / "qa_categories.tsv"
    categories.write_text("categoryid\ttitle\n3\tAccounts\n")
    done = imported("question2answer", path, site="https://qa.example.org/", categories=categories)
    one, two, three = done.questions.values()
    assert (one.title, one.body, one.markup, one.tags) == (
        "How do I log in?",
        "<p>At home</p>",
        "html",
        ("login", "home"),
    )
    assert (one.category, one.author, one.votes, one.url) == ("Accounts", "7", 5, "https://qa.example.org/1")
    assert (two.body, two.markup, two.author, two.votes) == ("a\tb\n\\c", "text", "Ada", -1)
    assert (one.closed_at, two.closed_at, three.closed_at) == (None, "2024-01-05T00:00:00", "2024-01-04T00:00:00")
    assert [q.states for q in (one, two, three)] == [("answered",), ("closed",), ("closed",)]
    [answer] = done.archive.view().get_answers_to(["1"])["1"]
    assert (answer.body, answer.accepted, answer.url) == (
        "Press the button.",
        True,
        "https://qa.example.org/1?show=4#a4",
    )
    assert list(done.archive.view().links()) == [Link("2", "1", "duplicate", "2024-01-05T00:00:00")]
    assert done.summary.notes == {"comments and notes left out": 2, "hidden or queued posts left out": 1}


def test_rows_that_cannot_be_taken(imported: Importing, tmp_path: Path) -> None:
    bad = [[*ROWS[0], "a tab too many"], ["9", "Q", *ROWS[0][2:12], "", "", "", ""], ["", *ROWS[0][1:]]]
    done = imported("question2answer", write_tsv(tmp_path / "qa_posts.tsv", [*ROWS, *bad]))
    assert (done.summary.questions, done.summary.rejected) == (3, 3)


def test_another_table_is_one_clear_error(expect_refusal: Refusing, tmp_path: Path) -> None:
    (tmp_path / "qa_users.tsv").write_text("userid\thandle\n1\tada\n")
    message = "no column postid, type, title, content; there are: userid, handle"
    expect_refusal(message, "question2answer", tmp_path / "qa_users.tsv")
