"""Topics of Discourse (API of 3.4, docs.discourse.org; discourse-solved; data explorer's CSV)."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from imported import Importing, Refusing

from askalike.core.errors import SettingsError


def post(id: int, number: int, cooked: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": id, "post_number": number, "post_type": 1, "cooked": f"<p>{cooked}</p>", "username": "ada",
        "hidden": False,
        "created_at": "2024-01-02T03:04:05.678Z", "actions_summary": [{"id": 2, "count": number}],
    } | fields  # fmt: skip


def topic(id: int, title: str, *posts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": id, "title": title, "category_id": 4, "tags": ["login"], "visible": True, "closed": False,
        "archetype": "regular", "created_at": "2024-01-02T03:04:05.678Z",
        "post_stream": {"posts": list(posts), "stream": [p["id"] for p in posts]},
    } | fields  # fmt: skip


TOPICS = [
    topic(
        1, "How do I log in?", post(11, 1, "I cannot."), post(12, 2, "Press."),
        post(13, 3, "Ask.", accepted_answer=True),
        post(14, 4, "closed", post_type=3), post(15, 5, "spam", hidden=True),
        closed=True, last_posted_at="2024-02-01T00:00:00Z",
    ),
    topic(2, "Which browser?", post(21, 1, "Which?"), accepted_answer={"post_number": 2}, category_id=7),
    topic(3, "Secret", post(31, 1, "?"), archetype="private_message"),
    topic(4, "Unlisted", post(41, 1, "?"), visible=False),
    topic(5, "Long", post(51, 1, "?"), post_stream={"posts": [post(51, 1, "?")], "stream": [51, 52]}),
]  # fmt: skip


def test_topics_of_the_api(imported: Importing, tmp_path: Path) -> None:
    for n, one in enumerate(TOPICS):
        (tmp_path / f"t{n}.json").write_text(json.dumps(one))
    (tmp_path / "t4.json").write_text(json.dumps(TOPICS[4]))
    done = imported("discourse", *sorted(tmp_path.glob("t*.json")), site="https://forum.example.org/", category="all")
    one = done.questions["1"]
    assert list(done.questions) == ["1", "2", "5"]
    assert (one.title, one.body, one.markup, one.tags, one.category) == (
        "How do I log in?", "<p>I cannot.</p>", "html", ("login",), "4",
    )  # fmt: skip
    assert (one.url, one.votes, one.closed_at) == ("https://forum.example.org/t/1", 1, "2024-02-01T00:00:00")
    assert [q.states for q in done.questions.values()] == [("answered",), ("open",), ("open",)]
    answers = done.archive.view().get_answers_to(["1"])["1"]
    assert [(a.id, a.accepted, a.votes) for a in answers] == [("13", True, 3), ("12", False, 2)]
    assert done.summary.notes == {
        "hidden posts, and posts of the system, left out": 2, "private messages and banners left out": 1,
        "unlisted topics left out": 1, "topics of which not all posts were fetched": 1,
    }  # fmt: skip


def test_only_named_categories(imported: Importing, tmp_path: Path) -> None:
    (tmp_path / "topics.json").write_text(json.dumps(TOPICS))
    done = imported("discourse", tmp_path / "topics.json", category="7,9")
    assert list(done.questions) == ["2"]
    assert done.summary.notes["topics of other categories left out"] == 4


def test_a_csv_of_the_data_explorer(imported: Importing, tmp_path: Path) -> None:
    names = ["topic_id", "post_id", "post_number", "title", "category_id", "tags", "cooked", "username", "created_at"]
    names += ["like_count", "accepted_answer"]
    first = ["How do I log in?", "4", "login,home"]
    rows = [
        ["1", "11", "1", *first, "<p>I\ncannot.</p>", "ada", "2024-01-02 03:04:05 UTC", "2", "false"],
        ["1", "12", "2", *first, "<p>Press.</p>", "grace", "2024-01-02 03:05:05 UTC", "0", "true"],
        ["2", "22", "2", "No first post", "4", "", "<p>x</p>", "ada", "", "", ""],
        ["3", "31", "1", "Why?", "4", "", "<p>y</p>", "ada", "", "", ""],
    ]  # fmt: skip
    with (tmp_path / "posts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    done = imported("discourse", tmp_path / "posts.csv", category="4")
    assert list(done.questions) == ["1", "3"]
    assert (done.questions["1"].tags, done.questions["1"].created_at) == (("login", "home"), "2024-01-02T03:04:05")
    [answer] = done.archive.view().get_answers_to(["1"])["1"]
    assert (answer.id, answer.accepted, answer.author, answer.votes) == ("12", True, "grace", 0)
    assert done.summary.rejected == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "c.json",
            '{"topic_list": {"topics": []}}',
            "is a list of topics without their posts; fetch /t/ID.json of each",
        ),
        ("c.json", '{"id": 1}', "has no post_stream; expected topics"),
        ("c.json", json.dumps(TOPICS[0])[:-40], "cut short"),
        (
            "c.csv",
            "id,title\n1,Why?\n",
            "no column topic_id, post_id, post_number, category_id, cooked; there are: id, title",
        ),
    ],
)
def test_bad_files_are_one_clear_error(
    expect_refusal: Refusing, tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    expect_refusal(message, "discourse", tmp_path / name, category="all")


def test_categories_have_to_be_named(expect_refusal: Refusing, tmp_path: Path) -> None:
    (tmp_path / "topics.json").write_text(json.dumps(TOPICS))
    message = "no category is named; name the public ones: --category 4,7"
    expect_refusal(message, "discourse", tmp_path / "topics.json", error=SettingsError)


def test_only_topics_that_changed_since(imported: Importing, tmp_path: Path) -> None:
    edited = topic(7, "Edited?", post(71, 1, "?", updated_at="2024-05-01T00:00:00Z"))
    (tmp_path / "topics.json").write_text(json.dumps([*TOPICS[:2], edited]))
    done = imported("discourse", tmp_path / "topics.json", category="all", since="2024-02-01")
    assert list(done.questions) == ["1", "7"]
    assert done.summary.notes["older than --since left out"] == 1
