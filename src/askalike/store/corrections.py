"""Manually corrected fields of imported questions and answers.

A correction remains as long as the source's text of that field is the same as when it was corrected. Once the source
has another text, an import replaces the correction.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from askalike.core.types import Answer, Question
from askalike.store.database import IN_JSON_SQL
from askalike.store.records import RecordTable, Row, decode_strings

CORRECTABLE_FIELDS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "questions": {
        "title": ("title",), "body": ("body", "markup"), "tags": ("tags",), "rephrasings": ("rephrasings",)
    },
    "answers": {"body": ("body", "markup")},
}  # fmt: skip
"""Table → field → its columns, which are corrected together. The first is the displayed text."""
LISTS = ("tags", "rephrasings")
"""Columns with lists of texts."""
Values = list[Any]
SourceValues = Mapping[str, Values]
"""Corrected field → the source's values of its columns at the time of the correction."""


class MergedRecord(NamedTuple):
    """A source's record with the remaining corrections, and the fields whose corrections remain or end."""

    record: Question | Answer
    kept: Sequence[str]
    ended: Sequence[str]


def read_corrections(connection: sqlite3.Connection, table: RecordTable, ids: Iterable[str]) -> dict[str, SourceValues]:
    """Return the corrections of rows of a table, by id, for rows that have any."""
    found: dict[str, dict[str, Values]] = {}
    sql = f"SELECT record_id, field, source_value FROM corrections WHERE record_type = ? AND record_id {IN_JSON_SQL}"
    for id, field, value in connection.execute(sql, (table.name, json.dumps(list(ids)))):
        found.setdefault(id, {})[field] = json.loads(value)
    return {**found}


def merge_corrections(
    table: RecordTable, record: Question | Answer, stored: Row, corrections: SourceValues
) -> MergedRecord:
    """Return a source's record, with the stored text of corrected fields whose source text is unchanged."""
    new, old = (dict(zip(table.columns, row, strict=True)) for row in (table.row_of(record), stored))
    columns_of = CORRECTABLE_FIELDS[table.name]
    kept = [field for field, value in corrections.items() if [new[c] for c in columns_of[field]] == value]
    values: dict[str, Any] = {
        c: decode_strings(old[c]) if c in LISTS else old[c] for field in kept for c in columns_of[field]
    }
    return MergedRecord(replace(record, **values), kept, [field for field in corrections if field not in kept])


def changed_fields(table: RecordTable, new: Row, old: Row) -> dict[str, tuple[Values, Values]]:
    """Return field → the values of its columns before and after, for fields in which two rows differ."""
    changes = {}
    for field, columns in CORRECTABLE_FIELDS.get(table.name, {}).items():
        places = [table.columns.index(column) for column in columns]
        before, after = ([row[n] for n in places] for row in (old, new))
        if before != after:
            changes[field] = before, after
    return changes
