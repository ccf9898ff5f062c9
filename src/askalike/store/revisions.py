"""The history of questions and answers: who changed them, when, and the earlier texts."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from askalike.core.records import DocumentKind
from askalike.core.values import now
from askalike.store.comparison import LISTS, BatchRecord, Difference, StoredRow, changed_fields
from askalike.store.database import Database
from askalike.store.records import RecordTable, decode_strings, encode_json


class FieldChange(NamedTuple):
    """A field's text before and after a revision; tags and rephrasings one per line."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Revision:
    """One change of the question or answer given by `record_type` and `record_id`.

    edited_by: the note of the key, or its id without a note, `operator` if no key was needed, or the import with the
    source's new text.
    """

    number: int
    record_type: DocumentKind
    record_id: str
    created_at: str
    edited_by: str
    changes: Mapping[str, FieldChange]


def get_revisions(database: Database, question_id: str) -> list[Revision]:
    """Return the revisions of a question and of its answers, latest first."""
    sql = """SELECT r.number, r.record_type, r.record_id, r.created_at, CASE WHEN r.import_number IS NULL
            THEN COALESCE(NULLIF(k.note, ''), NULLIF(r.edited_by, ''), 'operator')
            ELSE 'import from ' || COALESCE(s.name, i.paths) END, r.changes
        FROM revisions r LEFT JOIN api_keys k ON k.id = r.edited_by
        LEFT JOIN imports i ON i.number = r.import_number
        LEFT JOIN sources s ON s.number = i.source_number WHERE
        (r.record_type = 'questions' AND r.record_id = ?1)
        OR (r.record_type = 'answers' AND r.record_id IN (SELECT id FROM answers WHERE question_id = ?1))
        ORDER BY r.number DESC"""
    rows = database._connection.execute(sql, (question_id,))
    return [Revision(number, kind, id, at, by, _decode_changes(changes)) for number, kind, id, at, by, changes in rows]


def log_edits(connection: sqlite3.Connection, difference: Difference, edited_by: str) -> None:
    """Store a revision of each changed row, and its source's values of the fields, within the caller's transaction.

    edited_by: the id of a key, "" if none was needed.
    """
    for batch_record, row in difference.changed:
        id, changes = _insert_revision(connection, difference.table, batch_record, row, edited_by)
        for name, (before, after) in changes.items() if row.import_number is not None else ():
            key = (difference.table.name, id, name)
            connection.execute("INSERT OR IGNORE INTO corrections VALUES (?, ?, ?, ?)", (*key, encode_json(before)))
            sql = "DELETE FROM corrections WHERE record_type = ? AND record_id = ? AND field = ? AND source_value = ?"
            connection.execute(sql, (*key, encode_json(after)))


def log_ended_corrections(connection: sqlite3.Connection, difference: Difference) -> None:
    """Store a revision of each row that loses a correction in an import, within the caller's transaction."""
    for batch_record, row, fields in difference.ended_corrections:
        id, _ = _insert_revision(connection, difference.table, batch_record, row, None)
        sql = "DELETE FROM corrections WHERE record_type = ? AND record_id = ? AND field = ?"
        connection.executemany(sql, [(difference.table.name, id, field) for field in fields])


def _insert_revision(
    connection: sqlite3.Connection, table: RecordTable, batch_record: BatchRecord, row: StoredRow, by: str | None
) -> tuple[str, dict[str, tuple[list[Any], list[Any]]]]:
    """Store the changes of a record to its row; return the row's id, and its changed fields before and after."""
    record, import_number = batch_record
    changes = changed_fields(table, table.row_of(record), row.values)
    [id] = table.key_of(record)
    if changes:
        texts = encode_json({field: (before[0], after[0]) for field, (before, after) in changes.items()})
        columns = "record_type, record_id, created_at, edited_by, import_number, changes"
        sql = f"INSERT INTO revisions ({columns}) VALUES (?, ?, ?, ?, ?, ?)"
        connection.execute(sql, (table.name, id, now("milliseconds"), by, import_number, texts))
    return id, changes


def _decode_changes(text: str) -> dict[str, FieldChange]:
    changes: dict[str, list[str]] = json.loads(text)
    return {
        field: FieldChange(*("\n".join(decode_strings(each)) if field in LISTS else each for each in texts))
        for field, texts in changes.items()
    }
