"""Fields of imported questions and answers that people have corrected.

A correction stays as long as the source says of that field what it said when it was corrected. Once the source has
another text, an import takes that.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from askalike.store.database import IN_JSON_SQL
from askalike.store.records import RecordTable, Row, decode_strings
from askalike.types import Answer, Question

CORRECTABLE_FIELDS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "questions": {
        "title": ("title",), "body": ("body", "markup"), "tags": ("tags",), "rephrasings": ("rephrasings",)
    },
    "answers": {"body": ("body", "markup")},
}  # fmt: skip
"""Table → field → its columns, which are corrected together. The first of them is what people read."""
LISTS = ("tags", "rephrasings")
"""Columns that hold several texts."""
Values = list[Any]
SourceValues = Mapping[str, Values]
"""Corrected field → what the source said of it when it was corrected, as the values of the field's columns."""


class MergedRecord(NamedTuple):
    """A source's record with the corrections that stay, and the fields in which one stays or ends."""

    record: Question | Answer
    kept: Sequence[str]
    ended: Sequence[str]


def read_corrections(connection: sqlite3.Connection, table: RecordTable, ids: Iterable[str]) -> dict[str, SourceValues]:
    """Return the corrections of those rows of a table that have some, by id."""
    found: dict[str, dict[str, Values]] = {}
    sql = f"SELECT id, field, source_value FROM corrections WHERE kind = ? AND id {IN_JSON_SQL}"
    for id, field, value in connection.execute(sql, (table.name, json.dumps(list(ids)))):
        found.setdefault(id, {})[field] = json.loads(value)
    return {**found}


def merge_corrections(
    table: RecordTable, record: Question | Answer, stored: Row, corrections: SourceValues
) -> MergedRecord:
    """Return a source's record with each corrected field as it is stored, where the source's own text is unchanged."""
    new, old = (dict(zip(table.columns, row, strict=True)) for row in (table.row_of(record), stored))
    columns_of = CORRECTABLE_FIELDS[table.name]
    kept = [field for field, value in corrections.items() if [new[c] for c in columns_of[field]] == value]
    values: dict[str, Any] = {
        c: decode_strings(old[c]) if c in LISTS else old[c] for field in kept for c in columns_of[field]
    }
    return MergedRecord(replace(record, **values), kept, [field for field in corrections if field not in kept])


def changed_fields(table: RecordTable, new: Row, old: Row) -> dict[str, tuple[Values, Values]]:
    """Return field → the values of its columns before and after, for the fields that two rows differ in."""
    changes = {}
    for field, columns in CORRECTABLE_FIELDS.get(table.name, {}).items():
        places = [table.columns.index(column) for column in columns]
        before, after = ([row[n] for n in places] for row in (old, new))
        if before != after:
            changes[field] = before, after
    return changes
