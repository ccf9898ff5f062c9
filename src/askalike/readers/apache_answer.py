"""Reads the public questions of a running Apache Answer site with its API."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import Field

from askalike.core.config import Settings
from askalike.core.errors import InputError
from askalike.core.files import user_cache
from askalike.core.records import Answer, Link, LocatedRecord, Place, Question, Record, RejectedRow
from askalike.readers._site import SiteClient, read_address
from askalike.readers._source import SourceFiles, parse_rows
from askalike.readers._values import as_object, list_objects, parse_optional_utc, require_text, to_text
from askalike.text.clean import replace_forbidden

API = "/answer/api/v1"
PAGE_SIZE, MAX_PAGES = 100, 20_000
VISIBLE, CLOSED = 1, 2
"""Values of `show`, of a question's `status`, and of an answer's `accepted`."""
ORIGINAL = re.compile(r"/questions/(\d+)")
NOT_VERSIONED = ("view_count", "unique_view_count", "collection_count", "follow_count", "operator", "description")
"""Fields in a list of questions that may change although the question itself does not."""

Item = Mapping[str, Any]


class ApacheAnswerReader(Settings):
    """A running Apache Answer site: PATH is its address. Requests are paced; an interrupted import resumes.

    Imports public questions only, and requests only those that changed since the last import.

    Examples:

    ```
    askalike import apache-answer https://ask.example.org -o ask
    askalike import apache-answer https://ask.example.org -o ask --pause 1 --dry-run
    ```
    """

    pause: float = Field(0.2, ge=0, description="seconds between two requests")
    timeout: float = Field(30.0, gt=0, description="seconds to wait for a response")
    responses: Path | None = Field(None, description="the folder in which the site's responses are cached")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield each question with its answers and links, the newest first. Raises InputError."""
        for path in paths:
            address = read_address(path)
            if address is None:
                raise InputError(f"{path}: expected the address of a site, e.g. https://answers.example.org")
            client = SiteClient(address, self.responses or user_cache() / "apache-answer", self.pause, self.timeout)
            source.facts["name"] = client.host
            yield from parse_rows(_read_questions(client, source), partial(_build_records, address=client.address))


def _build_records(item: Item, address: str) -> list[Record]:
    """Return a question with its answers, and a link to its original, from a response. Raises KeyError or ValueError.

    address: the site's.
    """
    id, title = require_text(item, "id"), require_text(item, "title")
    operation = as_object(item.get("operation")) if item.get("status") == CLOSED else {}
    accepted = to_text(item.get("accepted_answer_id"))
    question = Question(
        id,
        title,
        to_text(item.get("content")),
        tags=tuple(to_text(tag.get("slug_name")) for tag in list_objects(item.get("tags"))),
        created_at=parse_optional_utc(item.get("create_time") or None),
        closed_at=parse_optional_utc(operation.get("time") or None),
        author=_author(item),
        url="/".join(filter(None, (address, "questions", id, to_text(item.get("url_title"))))),
        votes=_votes(item),
        accepted_answer_id=accepted if accepted not in ("", "0") else None,
        marks=("closed",) if item.get("status") == CLOSED else (),
    )
    visible = (answer for answer in item["answers"] if answer.get("status", VISIBLE) == VISIBLE)
    answers = [_build_answer(answer, id, f"{address}/questions/{id}") for answer in visible]
    original = ORIGINAL.search(to_text(operation.get("msg")))
    links = [Link(id, original[1], "duplicate", question.closed_at)] if original and original[1] != id else []
    return [question, *answers, *links]


def _build_answer(item: Item, question_id: str, question_url: str) -> Answer:
    id = to_text(item.get("id"))
    if not id:
        raise KeyError("id of an answer")
    return Answer(
        id,
        question_id,
        to_text(item.get("content")),
        created_at=parse_optional_utc(item.get("create_time") or None),
        author=_author(item),
        url=f"{question_url}/{id}",
        votes=_votes(item),
    )


def _read_questions(client: SiteClient, source: SourceFiles) -> Iterator[tuple[Place, Item | RejectedRow]]:
    """Yield the site's response for each visible question, with its answers as `answers`."""
    seen: set[str] = set()
    number = 0
    for listed in _read_pages(client, "/question/page?order=newest"):
        id = to_text(listed.get("id"))
        number = number + 1
        if id in seen:  # pages shift when somebody asks a question between two requests
            continue
        seen.add(id)
        place = Place(client.address, number)
        if listed.get("show") != VISIBLE:
            source.note("questions that are not listed left out")
            continue
        version = json.dumps({key: value for key, value in listed.items() if key not in NOT_VERSIONED}, sort_keys=True)
        in_address = quote(id, "", errors="replace")
        item = _data(client, f"/question/info?id={in_address}", version)
        if not isinstance(item, dict):
            source.note("questions that were removed meanwhile left out")
            continue
        answers = _read_pages(client, f"/answer/page?question_id={in_address}&order=default", version)
        yield place, replace_forbidden({**item, "answers": list(answers) if listed.get("answer_count") else []})


def _read_pages(client: SiteClient, path: str, version: str | None = None) -> Iterator[Item]:
    """Yield the items of a list, page by page. Raises InputError if a response has another format."""
    page = count = 0
    while page == 0 or page * PAGE_SIZE < count:
        page += 1
        if page > MAX_PAGES:
            raise InputError(f"{client.address}{API}{path}: has over {MAX_PAGES} pages; such a list is not read")
        data = _data(client, f"{path}&page={page}&page_size={PAGE_SIZE}", version)
        if not isinstance(data, dict) or not isinstance(data.get("list"), list):
            raise InputError(
                f"{client.address}: answers {str(data)[:60]!r}; expected an Apache Answer site that all may read"
            )
        count = data["count"] if isinstance(data.get("count"), int) else 0
        yield from list_objects(data["list"])
        if not data["list"]:
            return


def _data(client: SiteClient, path: str, version: str | None) -> Any:
    """Return the data in the envelope of a response; None if there is nothing."""
    envelope = client.get(f"{API}{path}", version)
    return envelope.get("data") if isinstance(envelope, dict) else None


def _author(item: Item) -> str | None:
    return to_text(as_object(item.get("user_info")).get("username")) or None


def _votes(item: Item) -> int | None:
    votes = item.get("vote_count")
    return votes if isinstance(votes, int) else None
