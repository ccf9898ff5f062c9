"""Reads folders written by `askalike export`, so that the imported archive equals the exported one."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from askalike.core.errors import InputError
from askalike.core.records import (
    MARKS,
    Answer,
    EvaluationQuery,
    Judgement,
    Link,
    LocatedRecord,
    Question,
    Record,
    RejectedRow,
)
from askalike.core.values import parse_utc
from askalike.export import MANIFEST_FILE, REPHRASINGS_COLUMN, TITLE_COLUMN, parse_cell
from askalike.readers._json import PlacedRow, Row, read_json_lines
from askalike.readers._rows import read_rows
from askalike.readers._source import SourceFiles, parse_rows
from askalike.readers._values import parse_integer

T = TypeVar("T", Question, Answer, Link, Judgement)
RowParser = Callable[[Row], Record]
OWN_FACTS = ("reader", "source", "encoder", "keep_days")
"""Facts in the manifest about the exported archive itself and not about its content."""


def read_export_facts(folder: Path, format: str, source: SourceFiles) -> bool:
    """Add the facts of an exported archive to `source`; return False for another folder.

    Raises InputError for a spreadsheet's export.
    """
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        exported_format = manifest["format"]
        facts = dict(manifest["archive"])
        prefixes = manifest.get("sources")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
    if exported_format == "spreadsheet" and format == "csv":
        raise InputError(
            f"{folder}: exported for a spreadsheet, with apostrophes before some cells; export it again with "
            "--format csv, or name the one table to import"
        )
    if exported_format != format:
        return False
    source.facts |= {"languages": [], **{name: value for name, value in facts.items() if name not in OWN_FACTS}}
    source.source_prefixes = prefixes if isinstance(prefixes, dict) else None
    return True


def read_csv_export(folder: Path, source: SourceFiles) -> Iterator[LocatedRecord]:
    """Yield everything in a `csv` export; rows edited into another format are rejected. Raises InputError."""
    tables: Mapping[str, RowParser] = {
        "questions": _parse_question,
        "answers": lambda row: _build(Answer, row),
        "links": lambda row: _build(Link, row),
        "queries": lambda row: EvaluationQuery(row["split"], _build(Question, row)),
        "judgements": _parse_judgement,
    }
    files = {name: path for name in tables if (path := folder / f"{name}.csv").is_file()}
    source.expect(files.values())
    for name, path in files.items():
        yield from _parse_each(_drop_empty_cells(read_rows(source, path)), tables[name])


def read_beir_export_extras(folder: Path, source: SourceFiles) -> Iterator[LocatedRecord]:
    """Yield everything in a `beir` export except the qrels. Raises InputError."""
    files: list[tuple[Path, RowParser]] = [
        (folder / "corpus.jsonl", lambda row: _parse_json_row(Question, row, {"id": "_id", "body": "text"})),
        (folder / "answers.jsonl", lambda row: _parse_json_row(Answer, row, {"id": "_id", "body": "text"})),
        *((path, _make_query_parser(path)) for path in sorted(folder.glob("queries-*.jsonl"))),
        (folder / "links.tsv", lambda row: _build(Link, row)),
        (folder / "judgements.tsv", _parse_judgement),
    ]
    files = [(path, parse) for path, parse in files if path.is_file()]
    source.expect(path for path, _ in files)
    for path, parse in files:
        is_table = path.suffix == ".tsv"
        rows = _drop_empty_cells(read_rows(source, path)) if is_table else read_json_lines(source, path)
        yield from _parse_each(rows, parse)


def _parse_each(rows: Iterator[PlacedRow], parse: RowParser) -> Iterator[LocatedRecord]:
    return parse_rows(map(_place_source, rows), lambda row: [parse(row)])


def _place_source(placed: PlacedRow) -> PlacedRow:
    place, row = placed
    if isinstance(row, RejectedRow):
        return placed
    metadata = row.get("metadata")
    name = row.get("imported_from") or (metadata.get("imported_from") if isinstance(metadata, dict) else None)
    return place._replace(source=name or None), row


def _parse_question(row: Row) -> Question:
    return _build(Question, {**row, "title": row.get(TITLE_COLUMN, ""), "rephrasings": row.get(REPHRASINGS_COLUMN)})


def _make_query_parser(path: Path) -> RowParser:
    split = path.name.removeprefix("queries-").removesuffix(".jsonl")
    return lambda row: EvaluationQuery(split, _parse_json_row(Question, {"title": row["text"], **row}, {"id": "_id"}))


def _parse_json_row(kind: type[T], row: Row, key_by_field: Mapping[str, str]) -> T:
    """Return the record in a line of a `beir` export; `metadata` has the fields without a key in BEIR."""
    renamed = {field: row[key] for field, key in key_by_field.items()}
    metadata = row.get("metadata") or {}
    return _build(kind, {**row, **renamed, **metadata})


def _drop_empty_cells(rows: Iterator[PlacedRow]) -> Iterator[PlacedRow]:
    """Yield the rows of a table without their empty cells, except those of titles and bodies."""
    for place, row in rows:
        filled = row if isinstance(row, RejectedRow) else {k: v for k, v in row.items() if v or k in ("title", "body")}
        yield place, filled


def _build(kind: type[T], row: Row) -> T:
    """Return the record of a row; a missing value gets the field's default. Raises KeyError or ValueError."""
    values = {f.name: row[f.name] for f in fields(kind) if row.get(f.name) is not None}
    if missing := [f.name for f in fields(kind) if f.default is MISSING and f.name not in values]:
        raise KeyError(missing[0])
    parsed: dict[str, Any] = {n: (FIELD_PARSERS.get(n) or _parse_text)(n, value) for n, value in values.items()}
    return kind(**parsed)


def _parse_judgement(row: Row) -> Judgement:
    """Return a judgement; without relevance, it is an unjudged candidate."""
    judgement = _build(Judgement, {"relevance": 0, **row})
    return judgement if "relevance" in row else replace(judgement, relevance=None)


def _parse_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} {value!r}: expected text")
    return value


def _parse_texts(name: str, value: Any) -> tuple[str, ...]:
    values = parse_cell(value) if isinstance(value, str) else value
    if not isinstance(values, list | tuple):
        raise ValueError(f"{name} {value!r}: expected a list of texts")
    return tuple(_parse_text(name, text) for text in values)


def _parse_date(_: str, value: Any) -> str:
    parse_utc(value)
    return str(value)


def _parse_choice(choices: Collection[str], name: str, value: Any) -> str:
    if value not in choices:
        raise ValueError(f"{name} {value!r}: expected {' or '.join(choices)}")
    return str(value)


FIELD_PARSERS: Mapping[str, Callable[[str, Any], Any]] = {
    "tags": _parse_texts,
    "rephrasings": _parse_texts,
    "marks": lambda name, value: tuple(_parse_choice(MARKS, name, mark) for mark in _parse_texts(name, value)),
    "votes": parse_integer,
    "relevance": parse_integer,
    "position": parse_integer,
    "accepted": lambda _, value: bool(value),
    "created_at": _parse_date,
    "closed_at": _parse_date,
    "markup": partial(_parse_choice, ("text", "html")),
    "kind": partial(_parse_choice, ("duplicate", "related")),
    "record_type": partial(_parse_choice, ("questions", "answers")),
}
"""Field → the function that checks and parses its value; other fields are text."""
