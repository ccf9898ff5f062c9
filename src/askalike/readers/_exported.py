"""Reads back the folders that `askalike export` writes: the archive that comes of it equals the one exported."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from askalike.errors import InputError
from askalike.export.csv_tables import REPHRASINGS_COLUMN, TITLE_COLUMN, parse_cell
from askalike.export.exporting import MANIFEST_FILE
from askalike.readers._json import Row, read_json_lines
from askalike.readers._rows import read_rows
from askalike.readers._source import SourceFiles
from askalike.readers._values import describe_error, parse_utc
from askalike.types import Answer, EvaluationQuery, Judgement, Link, Question, Record, RejectedRow

T = TypeVar("T", Question, Answer, Link, Judgement)
RowParser = Callable[[Row], Record]
IMPORT_FACTS = ("reader", "source")
"""What an archive knows of itself that is about its import, not about its content."""


def read_export_facts(folder: Path, format: str) -> dict[str, Any] | None:
    """What the exported archive knew of itself, where `folder` is an export in this format; None where it is none.

    Raises InputError for an export in a format that holds something else than the archive did.
    """
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        written, facts = manifest["format"], dict(manifest["archive"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if written == "spreadsheet" and format == "csv":
        raise InputError(
            f"{folder}: exported for a spreadsheet, with apostrophes before some cells; export it again with "
            "--format csv, or name the one table to import"
        )
    known = {"languages": [], **{name: value for name, value in facts.items() if name not in IMPORT_FACTS}}
    return known if written == format else None


def read_csv_export(folder: Path, source: SourceFiles) -> Iterator[Record]:
    """Everything in a `csv` export. Raises InputError; rows that are edited into something else are rejected."""
    tables: Mapping[str, RowParser] = {
        "questions": _parse_question,
        "answers": lambda row: _build_record(Answer, row),
        "links": lambda row: _build_record(Link, row),
        "queries": lambda row: EvaluationQuery(row["split"], _build_record(Question, row)),
        "judgements": _parse_judgement,
    }
    files = {name: path for name in tables if (path := folder / f"{name}.csv").is_file()}
    source.expect(files.values())
    for name, path in files.items():
        yield from _parse_rows(_drop_empty_cells(read_rows(source, path)), tables[name], source)


def read_beir_export_extras(folder: Path, source: SourceFiles) -> Iterator[Record]:
    """Everything in a `beir` export but for what BEIR itself has a place for, the qrels. Raises InputError."""
    lines: list[tuple[Path, RowParser]] = [
        (folder / "corpus.jsonl", lambda row: _parse_json_row(Question, row, {"id": "_id", "body": "text"})),
        (folder / "answers.jsonl", lambda row: _parse_json_row(Answer, row, {"id": "_id", "body": "text"})),
    ]
    lines += [(path, _make_query_parser(path)) for path in sorted(folder.glob("queries-*.jsonl"))]
    tables: list[tuple[Path, RowParser]] = [
        (folder / "links.tsv", lambda row: _build_record(Link, row)),
        (folder / "judgements.tsv", _parse_judgement),
    ]
    source.expect([path for path, _ in lines + tables if path.is_file()])
    for path, convert in lines:
        if path.is_file():
            yield from _parse_rows(read_json_lines(source, path), convert, source)
    for path, convert in tables:
        if path.is_file():
            yield from _parse_rows(_drop_empty_cells(read_rows(source, path)), convert, source)


def _parse_rows(parsed: Iterator[Row | RejectedRow], parse: RowParser, source: SourceFiles) -> Iterator[Record]:
    for row in parsed:
        try:
            yield row if isinstance(row, RejectedRow) else parse(row)
        except (KeyError, ValueError) as error:
            yield source.reject(describe_error(error), row)


def _parse_question(row: Row) -> Question:
    return _build_record(
        Question, {**row, "title": row.get(TITLE_COLUMN, ""), "rephrasings": row.get(REPHRASINGS_COLUMN)}
    )


def _make_query_parser(path: Path) -> RowParser:
    split = path.name.removeprefix("queries-").removesuffix(".jsonl")
    return lambda row: EvaluationQuery(split, _parse_json_row(Question, {"title": row["text"], **row}, {"id": "_id"}))


def _parse_json_row(kind: type[T], row: Row, key_by_field: Mapping[str, str]) -> T:
    """A record from a line of a `beir` export: its own keys, and in `metadata` the fields that BEIR has none for."""
    own = {field: row[key] for field, key in key_by_field.items()}
    more = row.get("metadata") or {}
    return _build_record(kind, {**row, **own, **more})


def _drop_empty_cells(parsed: Iterator[Row | RejectedRow]) -> Iterator[Row | RejectedRow]:
    """The rows of a table without their empty cells, which stand for nothing, but for titles and bodies."""
    for row in parsed:
        yield row if isinstance(row, RejectedRow) else {k: v for k, v in row.items() if v or k in ("title", "body")}


def _build_record(kind: type[T], row: Row) -> T:
    """The record of a row; what is not there gets the field's default. Raises KeyError or ValueError."""
    given = {f.name: row[f.name] for f in fields(kind) if row.get(f.name) is not None}
    if absent := [f.name for f in fields(kind) if f.default is MISSING and f.name not in given]:
        raise KeyError(absent[0])
    values: dict[str, Any] = {
        name: (FIELD_PARSERS.get(name) or _parse_text)(name, value) for name, value in given.items()
    }
    return kind(**values)


def _parse_judgement(row: Row) -> Judgement:
    """A judgement; one without relevance is a candidate that nobody judged."""
    judged = _build_record(Judgement, {"relevance": 0, **row})
    return judged if "relevance" in row else replace(judged, relevance=None)


def _parse_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} {value!r}: expected text")
    return value


def _parse_texts(name: str, value: Any) -> tuple[str, ...]:
    values = parse_cell(value) if isinstance(value, str) else value
    if not isinstance(values, list | tuple):
        raise ValueError(f"{name} {value!r}: expected a list of texts")
    return tuple(_parse_text(name, one) for one in values)


def _parse_integer(name: str, value: Any) -> int:
    try:
        return int(value)
    except (ValueError, TypeError):
        raise ValueError(f"{name} {value!r}: expected a whole number") from None


def _parse_date(_: str, value: Any) -> str:
    parse_utc(value)
    return str(value)


def _make_choice_parser(*known: str) -> Callable[[str, Any], str]:
    def one(name: str, value: Any) -> str:
        if value not in known:
            raise ValueError(f"{name} {value!r}: expected {' or '.join(known)}")
        return str(value)

    return one


FIELD_PARSERS: Mapping[str, Callable[[str, Any], Any]] = {
    "tags": _parse_texts,
    "rephrasings": _parse_texts,
    "votes": _parse_integer,
    "relevance": _parse_integer,
    "position": _parse_integer,
    "accepted": lambda _, value: bool(value),
    "created_at": _parse_date,
    "closed_at": _parse_date,
    "markup": _make_choice_parser("text", "html"),
    "kind": _make_choice_parser("duplicate", "related"),
    "of": _make_choice_parser("questions", "answers"),
}
"""How a field's value is checked and read, where it is not simply text."""
