"""Reads topics of a Discourse forum: responses of its API (`/t/ID.json`), or a CSV of its data explorer."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from askalike.core.errors import InputError, SettingsError
from askalike.core.records import Answer, LocatedRecord, Mark, Place, Question, Record, RejectedRow
from askalike.readers._json import read_json_values
from askalike.readers._rows import group_rows, open_table, require_columns
from askalike.readers._source import FollowUpReader, SourceFiles, find_files, parse_rows
from askalike.readers._values import as_object, list_objects, parse_optional_date, require_text, split_cell, to_text

EXPLORER_COLUMNS = ("topic_id", "post_id", "post_number", "title", "category_id", "cooked")
"""Required columns of a CSV of the data explorer; the query is in docs/formats.md."""
SYSTEM_USER = "system"

Topic = Mapping[str, Any]


class DiscourseReader(FollowUpReader):
    """Topics of a Discourse forum: PATHs are files of `/t/ID.json`, or a CSV of the data explorer.

    Imports only topics of the named categories, and never private messages, unlisted topics or hidden posts.

    Examples:

    ```
    askalike import discourse topics/*.json -o forum --category all
    askalike import discourse topics.csv -o forum --category 4,7 --since 2026-01-31
    ```
    """

    category: str | None = Field(None, description="ids of the categories to import, e.g. 4,7; all for every category")
    site: str | None = Field(None, description="the forum's address, for links to its topics")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield each topic as a question, its other posts as answers. Raises InputError."""
        if self.category is None:
            advice = "name the public ones: --category 4,7 (their ids are in /categories.json), or all"
            raise SettingsError(f"no category is named; {advice}")
        files = find_files(paths, "*.json", "*.jsonl", "*.csv", "*.json.gz", "*.csv.gz")
        source.expect(files)
        parse = partial(self._build_records, source=source)
        for file in files:
            is_table = ".csv" in file.suffixes
            topics = _read_explorer(source, file) if is_table else _read_topics(source, file)
            changed = (
                (place, topic)
                for place, topic in topics
                if isinstance(topic, RejectedRow) or not self.is_unchanged(_changed_at(topic), source)
            )
            yield from parse_rows(changed, parse, shown=lambda topic: {**topic, "post_stream": "…"})

    def _build_records(self, topic: Topic, source: SourceFiles) -> Sequence[Record]:
        """Return a topic's first post as a question, and its answers; nothing for a topic that is left out."""
        if reason := self._find_reason_to_leave_out(topic):
            source.note(reason)
            return ()
        posts = [post for post in _posts(topic) if _is_shown(post, source)]
        first = next((post for post in posts if post.get("post_number") in (1, "1")), None)
        id, title = require_text(topic, "id"), require_text(topic, "title")
        if first is None:
            raise KeyError("first post in it")
        url = f"{self.site.rstrip('/')}/t/{id}" if self.site else None
        fetched = len(_posts(topic))
        all_posts = as_object(topic.get("post_stream")).get("stream")
        source.note(
            "topics of which not all posts were fetched", isinstance(all_posts, list) and len(all_posts) > fetched
        )
        answers = [_build_answer(post, id, url) for post in posts if post is not first]
        question = Question(
            id,
            title,
            to_text(first.get("cooked")),
            "html",
            _tags(topic),
            to_text(topic.get("category_id")) or None,
            created_at=parse_optional_date(topic.get("created_at") or first.get("created_at")),
            closed_at=parse_optional_date(topic.get("last_posted_at"))
            if topic.get("closed") in (True, "true")
            else None,
            author=to_text(first.get("username")) or None,
            url=url,
            votes=_likes(first),
            accepted_answer_id=(accepted := _accepted(topic, posts)),
            marks=_marks(topic, accepted is not None),
        )
        return [question, *answers]

    def _find_reason_to_leave_out(self, topic: Topic) -> str | None:
        categories = split_cell(self.category, ",") if self.category != "all" else ()
        if categories and to_text(topic.get("category_id")) not in categories:
            return "topics of other categories left out"
        if to_text(topic.get("archetype") or "regular") != "regular":
            return "private messages and banners left out"
        return "unlisted topics left out" if topic.get("visible") in (False, "false") else None


def _is_shown(post: Mapping[str, Any], source: SourceFiles) -> bool:
    """Return whether a post was written by a person and is visible; count it if not."""
    hidden = post.get("hidden") in (True, "true") or bool(post.get("deleted_at"))
    small_action = post.get("post_type", 1) not in (1, "1") or post.get("username") == SYSTEM_USER
    source.note("hidden posts, and posts of the system, left out", hidden or small_action)
    return not (hidden or small_action)


def _build_answer(post: Mapping[str, Any], topic_id: str, topic_url: str | None) -> Answer:
    id, number = to_text(post.get("id")), to_text(post.get("post_number"))
    if not id:
        raise KeyError("id of a post")
    return Answer(
        id,
        topic_id,
        to_text(post.get("cooked")),
        "html",
        created_at=parse_optional_date(post.get("created_at")),
        author=to_text(post.get("username")) or None,
        url=f"{topic_url}/{number}" if topic_url else None,
        votes=_likes(post),
    )


def _read_topics(source: SourceFiles, file: Path) -> Iterator[tuple[Place, Topic]]:
    """Yield the topics in a response of the API. Raises InputError for a list of topics, which has no texts."""
    for place, value in read_json_values(source, file):
        topic = as_object(value)
        if "topic_list" in topic:
            raise InputError(
                f"{place}: is a list of topics without their posts; fetch /t/ID.json of each, see docs/formats.md"
            )
        if "post_stream" not in topic:
            raise InputError(f"{place}: has no post_stream; expected topics as /t/ID.json gives them")
        yield place, topic


def _read_explorer(source: SourceFiles, file: Path) -> Iterator[tuple[Place, Topic | RejectedRow]]:
    """Yield the topics in a CSV of posts, where the posts of a topic are consecutive. Raises InputError."""
    table = open_table(source, file)
    require_columns(table.header or (), file, EXPLORER_COLUMNS, "docs/formats.md has the query")
    for place, rows in group_rows(table.rows, lambda row: row["topic_id"]):
        if isinstance(rows, RejectedRow):
            yield place, rows
            continue
        posts = [{**row, "id": row["post_id"], "accepted_answer": row.get("accepted_answer") == "true"} for row in rows]
        shared = {"id": rows[0]["topic_id"], "tags": list(split_cell(rows[0].get("tags"), ",|")), "created_at": None}
        yield place, {**rows[0], **shared, "post_stream": {"posts": posts}}


def _changed_at(topic: Topic) -> str | None:
    """Return when the latest post of a topic was written or edited; None if no date can be read."""
    dates = [post.get(name) for post in _posts(topic) for name in ("created_at", "updated_at")]
    read = []
    for date in (topic.get("last_posted_at"), *dates):
        with suppress(ValueError):
            read.append(parse_optional_date(date) or "")
    return max(read, default="") or None


def _tags(topic: Topic) -> tuple[str, ...]:
    tags = topic.get("tags")
    listed = tags if isinstance(tags, list) else ()
    return tuple(to_text(tag.get("name") if isinstance(tag, dict) else tag) for tag in listed)


def _posts(topic: Topic) -> list[Mapping[str, Any]]:
    return list_objects(as_object(topic.get("post_stream")).get("posts"))


def _accepted(topic: Topic, posts: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the id of the post that is marked as the solution, or whose number the topic gives as the solution."""
    number = to_text(as_object(topic.get("accepted_answer")).get("post_number"))
    for post in posts:
        if post.get("accepted_answer") is True or (number and to_text(post.get("post_number")) == number):
            return to_text(post.get("id"))
    return None


def _marks(topic: Topic, is_solved: bool) -> tuple[Mark, ...]:
    """Return the states of a topic. One that was closed after it was solved is answered, and not closed."""
    is_closed, is_archived = (topic.get(name) in (True, "true") for name in ("closed", "archived"))
    marks: dict[Mark, bool] = {
        "answered": is_solved and is_closed,
        "closed": is_closed and not is_solved,
        "locked": is_archived,
    }
    return tuple(mark for mark, is_set in marks.items() if is_set)


def _likes(post: Mapping[str, Any]) -> int | None:
    """Return a post's number of likes; None if it was not fetched."""
    likes = [action.get("count", 0) for action in list_objects(post.get("actions_summary")) if action.get("id") == 2]
    value = likes[0] if likes else post.get("like_count", 0 if "actions_summary" in post else None)
    return int(value) if to_text(value).isdecimal() else None
