"""Reads the table `qa_posts` of a Question2Answer site, as exported by mysql or phpMyAdmin."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from askalike.core.config import Settings
from askalike.core.records import Answer, Link, LocatedRecord, Markup, Place, Question, Record, RejectedRow
from askalike.readers._json import PlacedRow, read_json_values
from askalike.readers._rows import check_columns, open_table
from askalike.readers._source import SourceFiles, find_files, parse_rows, reject
from askalike.readers._values import parse_integer, parse_optional_utc, require_text, to_text

NEEDED = ("postid", "type", "title", "content")
NULL = "NULL"
ESCAPES = {"t": "\t", "n": "\n", "0": "", "\\": "\\"}
"""Escape sequences of `mysql --batch`: the letter after a backslash → its meaning."""


class Question2answerReader(Settings):
    """A Question2Answer site: PATHs are its table qa_posts as TSV (`mysql --batch`) or JSON (phpMyAdmin).

    Examples:

    ```
    askalike import question2answer qa_posts.tsv -o site --site https://qa.example.org
    askalike import question2answer qa_posts.json -o site --categories qa_categories.json
    ```
    """

    site: str | None = Field(None, description="the site's address, for links to its questions")
    categories: Path | None = Field(None, description="the table qa_categories in the same format, for their names")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield questions and answers in the table's order, then links to originals. Raises InputError."""
        files = find_files(paths, "*.tsv", "*.json", "*.tsv.gz", "*.json.gz")
        source.expect(files)
        posts = _PostParser(self.site, self._read_categories(source), source)
        for file in files:
            yield from parse_rows(_read_table(source, file, NEEDED), posts.parse)
        yield from posts.duplicate_links()

    def _read_categories(self, source: SourceFiles) -> Mapping[str, str]:
        if self.categories is None:
            return {}
        rows = _read_table(SourceFiles(encoding=source.encoding), self.categories, ("categoryid", "title"))
        return {
            to_text(row["categoryid"]): to_text(row["title"]) for _, row in rows if not isinstance(row, RejectedRow)
        }


class _PostParser:
    """Turns rows of `qa_posts` into records. A closed question refers to its original, or to a note in a later row."""

    def __init__(self, site: str | None, categories: Mapping[str, str], source: SourceFiles) -> None:
        self._site = site.rstrip("/") if site else None
        self._categories, self._source = categories, source
        self._closed_by: dict[str, tuple[str, str | None]] = {}
        self._note_ids: set[str] = set()

    def parse(self, row: Mapping[str, Any]) -> Sequence[Record]:
        """Return the question or answer of a row; nothing for posts of other types. Raises KeyError or ValueError."""
        id, kind = require_text(row, "postid"), require_text(row, "type")
        if kind == "NOTE":
            self._note_ids.add(id)
        if kind == "Q":
            return [self._parse_question(row, id)]
        if kind == "A":
            return [self._parse_answer(row, id)]
        hidden = kind.endswith(("_HIDDEN", "_QUEUED"))
        self._source.note("hidden or queued posts left out" if hidden else "comments and notes left out")
        return []

    def duplicate_links(self) -> Iterator[LocatedRecord]:
        """Yield a link for each question that was closed because of another question, and not by a note."""
        for question, (original, date) in self._closed_by.items():
            if original not in self._note_ids:
                yield Link(question, original, "duplicate", date), Place("qa_posts")

    def _parse_question(self, row: Mapping[str, Any], id: str) -> Question:
        closed_by = _value(row, "closedbyid")
        updated = parse_optional_utc(_value(row, "updated"))
        closed_at = updated if _value(row, "updatetype") == "C" else None
        created_at = parse_optional_utc(_value(row, "created"))
        if closed_by and closed_by != id:
            self._closed_by[id] = closed_by, closed_at
        category = _value(row, "categoryid")
        return Question(
            id,
            require_text(row, "title"),
            _value(row, "content"),
            _markup(row),
            tuple(filter(None, _value(row, "tags").split(","))),
            self._categories.get(category, category) or None,
            created_at=created_at,
            closed_at=(closed_at or updated or created_at) if closed_by else None,
            author=_value(row, "userid") or _value(row, "name") or None,
            url=f"{self._site}/{id}" if self._site else None,
            votes=_parse_votes(row),
            accepted_answer_id=_value(row, "selchildid") or None,
            marks=("closed",) if closed_by else (),
        )

    def _parse_answer(self, row: Mapping[str, Any], id: str) -> Answer:
        question = require_text(row, "parentid")
        return Answer(
            id,
            question,
            _value(row, "content"),
            _markup(row),
            created_at=parse_optional_utc(_value(row, "created")),
            author=_value(row, "userid") or _value(row, "name") or None,
            url=f"{self._site}/{question}?show={id}#a{id}" if self._site else None,
            votes=_parse_votes(row),
        )


def _read_table(source: SourceFiles, file: Path, needed: Sequence[str]) -> Iterator[PlacedRow]:
    """Yield a table's rows. Raises InputError if a needed column is missing."""
    is_json = ".json" in file.suffixes
    rows = _read_json_rows(source, file) if is_json else _read_batch_rows(source, file)
    return check_columns(rows, file, needed, "Expected a whole table of Question2Answer, with its header")


def _read_json_rows(source: SourceFiles, file: Path) -> Iterator[PlacedRow]:
    """Yield the rows in a JSON export: a plain list, or phpMyAdmin's format, with the rows of each table in `data`."""
    for place, value in read_json_values(source, file):
        if not isinstance(value, dict):
            yield place, reject(place, "expected a JSON object", value)
        elif value.get("type") == "table":
            yield from ((place, row) for row in value.get("data") or [] if isinstance(row, dict))
        elif value.get("type") not in ("header", "database") or "postid" in value:
            yield place, value


def _read_batch_rows(source: SourceFiles, file: Path) -> Iterator[PlacedRow]:
    """Yield the rows of `mysql --batch`, where a tab or a line break inside a value is written as `\\t` or `\\n`."""
    for place, row in open_table(source, file, quotes=False).rows:
        if isinstance(row, RejectedRow):
            yield place, row
        else:
            yield place, {name: _unescape(value) for name, value in row.items()}


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[0]), text) if text != NULL else ""


def _value(row: Mapping[str, Any], name: str) -> str:
    return to_text(row.get(name))


def _markup(row: Mapping[str, Any]) -> Markup:
    return "html" if _value(row, "format") == "html" else "text"


def _parse_votes(row: Mapping[str, Any]) -> int | None:
    votes = _value(row, "netvotes")
    return parse_integer("netvotes", votes) if votes else None
