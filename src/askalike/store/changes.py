"""What changes: a batch of records compared with the archive's rows of the same keys, and the history of texts.

A record is new, changed, unchanged or repeated. The history says who changed a question or an answer, and when.

In an import, a field that was corrected in the archive keeps its text while the source's text stays the same.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from askalike.core.records import Answer, DocumentKind, Question
from askalike.core.values import now
from askalike.store.database import IN_JSON_SQL, Database
from askalike.store.records import TABLES, RecordTable, Row, StoredRecord, decode_strings, encode_json

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


def read_corrections(connection: sqlite3.Connection, table: RecordTable, ids: Iterable[str]) -> dict[str, SourceValues]:
    """Return the corrections of rows of a table, by id, for rows that have any."""
    found: dict[str, dict[str, Values]] = {}
    sql = f"SELECT record_id, field, source_value FROM corrections WHERE record_type = ? AND record_id {IN_JSON_SQL}"
    for id, name, value in connection.execute(sql, (table.name, json.dumps(list(ids)))):
        found.setdefault(id, {})[name] = json.loads(value)
    return {**found}


def changed_fields(table: RecordTable, new: Row, old: Row) -> dict[str, tuple[Values, Values]]:
    """Return field → the values of its columns before and after, for fields in which two rows differ."""
    changes = {}
    for name, columns in CORRECTABLE_FIELDS.get(table.name, {}).items():
        places = [table.columns.index(column) for column in columns]
        before, after = ([row[n] for n in places] for row in (old, new))
        if before != after:
            changes[name] = before, after
    return changes


class BatchRecord(NamedTuple):
    """A record to be written, with the number of its import; None outside an import."""

    record: StoredRecord
    import_number: int | None = None


class StoredRow(NamedTuple):
    """A row of the archive: its docid (None if its table has none), its import, and its columns except the keys."""

    docid: int | None
    import_number: int | None
    values: Row


@dataclass(slots=True)
class Difference:
    """The effect of writing a batch into one table. Each record is in one list; repeated ones are not written.

    kept_corrections, lost_corrections: the number of rows that keep, or lose, manually corrected fields.
    ended_corrections: the records with fields that get the source's text again, their rows, and the fields' names.
    """

    table: RecordTable
    new: list[BatchRecord] = field(default_factory=list)
    changed: list[tuple[BatchRecord, StoredRow]] = field(default_factory=list)
    unchanged: list[tuple[BatchRecord, StoredRow]] = field(default_factory=list)
    repeated: list[BatchRecord] = field(default_factory=list)
    kept_corrections: int = 0
    lost_corrections: int = 0
    ended_corrections: list[tuple[BatchRecord, StoredRow, Sequence[str]]] = field(default_factory=list)

    @property
    def existing(self) -> list[tuple[BatchRecord, StoredRow]]:
        """The records whose rows exist."""
        return self.changed + self.unchanged

    def has_other_text(self, batch_record: BatchRecord, row: StoredRow) -> bool:
        """Return whether a record changes its row's text or question id."""
        table = self.table
        columns = zip(table.columns, table.row_of(batch_record.record), row.values, strict=True)
        return any(new != old for name, new, old in columns if name in table.text_columns)


def compare_batch(connection: sqlite3.Connection, batch: Iterable[BatchRecord]) -> Iterator[Difference]:
    """Yield the effect of writing a batch on each table, in write order."""
    by_type: dict[type, list[BatchRecord]] = {}
    for batch_record in batch:
        by_type.setdefault(type(batch_record.record), []).append(batch_record)
    for kind, table in TABLES.items():
        if records := by_type.get(kind):
            stored = stored_rows(connection, table, [table.key_of(r.record) for r in records])
            is_import = any(r.import_number is not None for r in records)
            corrections = read_corrections(connection, table, [key for key, *_ in stored]) if is_import else {}
            yield _compare(table, records, stored, corrections)


def stored_rows(
    connection: sqlite3.Connection, table: RecordTable, keys: Iterable[tuple[str, ...]]
) -> dict[tuple[str, ...], StoredRow]:
    """Return the existing rows with these keys, by key."""
    width = len(table.keys)
    docid = "t.number" if table.is_document else "NULL"
    columns = ", ".join(
        (*(f"t.{key}" for key in table.keys), docid, "t.import_number", *(f"t.{c}" for c in table.columns))
    )
    same = " AND ".join(f"t.{key} = json_extract(k.value, '$[{n}]')" for n, key in enumerate(table.keys))
    sql = f"SELECT {columns} FROM json_each(?) k CROSS JOIN {table.name} t ON {same}"
    rows = connection.execute(sql, (json.dumps(list(keys)),))
    return {row[:width]: StoredRow(row[width], row[width + 1], row[width + 2 :]) for row in rows}


def _compare(
    table: RecordTable,
    records: Iterable[BatchRecord],
    stored: Mapping[tuple[str, ...], StoredRow],
    corrections: Mapping[str, SourceValues],
) -> Difference:
    """Compare records with the stored rows. Of documents with the same id, the first counts in an import, else the
    last."""
    difference = Difference(table)
    by_key: dict[tuple[str, ...], BatchRecord] = {}
    for batch_record in records:
        key = table.key_of(batch_record.record)
        number = batch_record.import_number
        row = stored.get(key)
        is_repeated = key in by_key or (row is not None and row.import_number == number)
        if table.is_document and number is not None and is_repeated:
            difference.repeated.append(batch_record)
        else:
            by_key[key] = batch_record
    for key, batch_record in by_key.items():
        if (row := stored.get(key)) is None:
            difference.new.append(batch_record)
        else:
            batch_record = _merge(difference, batch_record, row, corrections.get(key[0]))
            is_same = table.row_of(batch_record.record) == row.values
            (difference.unchanged if is_same else difference.changed).append((batch_record, row))
    return difference


def _merge(
    difference: Difference, batch_record: BatchRecord, row: StoredRow, corrections: SourceValues | None
) -> BatchRecord:
    """Return an imported record with the stored text of corrected fields whose source text is unchanged.

    The corrections that remain, and those that end, are recorded.
    """
    record, import_number = batch_record
    if not corrections or import_number is None or not isinstance(record, Question | Answer):
        return batch_record
    table = difference.table
    new, old = (dict(zip(table.columns, row, strict=True)) for row in (table.row_of(record), row.values))
    columns_of = CORRECTABLE_FIELDS[table.name]
    kept = [field for field, value in corrections.items() if [new[c] for c in columns_of[field]] == value]
    values: dict[str, Any] = {
        c: decode_strings(old[c]) if c in LISTS else old[c] for field in kept for c in columns_of[field]
    }
    batch_record = BatchRecord(replace(record, **values), import_number)
    difference.kept_corrections += bool(kept)
    if ended := [field for field in corrections if field not in kept]:
        changed = changed_fields(table, table.row_of(batch_record.record), row.values)
        difference.lost_corrections += not changed.keys().isdisjoint(ended)
        difference.ended_corrections.append((batch_record, row, ended))
    return batch_record


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
