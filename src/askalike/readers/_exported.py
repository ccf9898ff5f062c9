"""Reads back the folders that `askalike export` writes: the archive that comes of it equals the one exported."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from askalike.archive.export import MANIFEST
from askalike.archive.export_csv import ALTERNATES, QUESTION, from_one_cell
from askalike.errors import InputError
from askalike.readers._json import Row, json_lines
from askalike.readers._rows import rows
from askalike.readers._source import Source
from askalike.readers._values import problem, utc
from askalike.types import Answer, Judgement, Link, Query, Question, Record, Rejected

T = TypeVar("T", Question, Answer, Link, Judgement)
Convert = Callable[[Row], Record]
OWN_FACTS = ("reader", "source")
"""What an archive knows of itself that is about its import, not about its content."""


def exported_facts(folder: Path, format: str) -> dict[str, Any] | None:
    """What the exported archive knew of itself, where `folder` is an export in this format; None where it is none.

    Raises InputError for an export in a format that holds something else than the archive did.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        written, facts = manifest["format"], dict(manifest["archive"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if written == "spreadsheet" and format == "csv":
        raise InputError(
            f"{folder}: exported for a spreadsheet, with apostrophes before some cells; export it again with "
            "--format csv, or name the one table to import"
        )
    known = {"languages": [], **{name: value for name, value in facts.items() if name not in OWN_FACTS}}
    return known if written == format else None


def exported_csv(folder: Path, source: Source) -> Iterator[Record]:
    """Everything in a `csv` export. Raises InputError; rows that are edited into something else are rejected."""
    tables: Mapping[str, Convert] = {
        "questions": _question_row,
        "answers": lambda row: _made(Answer, row),
        "links": lambda row: _made(Link, row),
        "queries": lambda row: Query(row["split"], _made(Question, row)),
        "judgements": _judgement,
    }
    files = {name: path for name in tables if (path := folder / f"{name}.csv").is_file()}
    source.expect(files.values())
    for name, path in files.items():
        yield from _converted(_cells(rows(source, path)), tables[name], source)


def exported_beside_beir(folder: Path, source: Source) -> Iterator[Record]:
    """Everything in a `beir` export but for what BEIR itself has a place for, the qrels. Raises InputError."""
    lines: list[tuple[Path, Convert]] = [
        (folder / "corpus.jsonl", lambda row: _from_json(Question, row, {"id": "_id", "body": "text"})),
        (folder / "answers.jsonl", lambda row: _from_json(Answer, row, {"id": "_id", "body": "text"})),
    ]
    lines += [(path, _query_of(path)) for path in sorted(folder.glob("queries-*.jsonl"))]
    tables: list[tuple[Path, Convert]] = [
        (folder / "links.tsv", lambda row: _made(Link, row)),
        (folder / "judgements.tsv", _judgement),
    ]
    source.expect([path for path, _ in lines + tables if path.is_file()])
    for path, convert in lines:
        if path.is_file():
            yield from _converted(json_lines(source, path), convert, source)
    for path, convert in tables:
        if path.is_file():
            yield from _converted(_cells(rows(source, path)), convert, source)


def _converted(found: Iterator[Row | Rejected], convert: Convert, source: Source) -> Iterator[Record]:
    for row in found:
        try:
            yield row if isinstance(row, Rejected) else convert(row)
        except (KeyError, ValueError) as error:
            yield source.reject(problem(error), row)


def _question_row(row: Row) -> Question:
    return _made(Question, {**row, "title": row.get(QUESTION, ""), "rephrasings": row.get(ALTERNATES)})


def _query_of(path: Path) -> Convert:
    split = path.name.removeprefix("queries-").removesuffix(".jsonl")
    return lambda row: Query(split, _from_json(Question, {"title": row["text"], **row}, {"id": "_id"}))


def _from_json(kind: type[T], row: Row, named: Mapping[str, str]) -> T:
    """A record from a line of a `beir` export: its own keys, and in `metadata` the fields that BEIR has none for."""
    own = {field: row[key] for field, key in named.items()}
    more = row.get("metadata") or {}
    return _made(kind, {**row, **own, **more})


def _cells(found: Iterator[Row | Rejected]) -> Iterator[Row | Rejected]:
    """The rows of a table without their empty cells, which stand for nothing, but for titles and bodies."""
    for row in found:
        yield row if isinstance(row, Rejected) else {k: v for k, v in row.items() if v or k in ("title", "body")}


def _made(kind: type[T], row: Row) -> T:
    """The record of a row; what is not there gets the field's default. Raises KeyError or ValueError."""
    given = {f.name: row[f.name] for f in fields(kind) if row.get(f.name) is not None}
    if absent := [f.name for f in fields(kind) if f.default is MISSING and f.name not in given]:
        raise KeyError(absent[0])
    values: dict[str, Any] = {name: (CONVERT.get(name) or _text)(name, value) for name, value in given.items()}
    return kind(**values)


def _judgement(row: Row) -> Judgement:
    """A judgement; one without relevance is a candidate that nobody judged."""
    judged = _made(Judgement, {"relevance": 0, **row})
    return judged if "relevance" in row else replace(judged, relevance=None)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} {value!r}: expected text")
    return value


def _texts(name: str, value: Any) -> tuple[str, ...]:
    values = from_one_cell(value) if isinstance(value, str) else value
    if not isinstance(values, list | tuple):
        raise ValueError(f"{name} {value!r}: expected a list of texts")
    return tuple(_text(name, one) for one in values)


def _number(name: str, value: Any) -> int:
    try:
        return int(value)
    except (ValueError, TypeError):
        raise ValueError(f"{name} {value!r}: expected a whole number") from None


def _date(_: str, value: Any) -> str:
    utc(value)
    return str(value)


def _among(*known: str) -> Callable[[str, Any], str]:
    def one(name: str, value: Any) -> str:
        if value not in known:
            raise ValueError(f"{name} {value!r}: expected {' or '.join(known)}")
        return str(value)

    return one


CONVERT: Mapping[str, Callable[[str, Any], Any]] = {
    "tags": _texts,
    "rephrasings": _texts,
    "votes": _number,
    "relevance": _number,
    "position": _number,
    "accepted": lambda _, value: bool(value),
    "created_at": _date,
    "closed_at": _date,
    "markup": _among("text", "html"),
    "kind": _among("duplicate", "related"),
    "of": _among("questions", "answers"),
}
"""How a field's value is checked and read, where it is not simply text."""
