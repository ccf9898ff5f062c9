"""Writes records in batches, each in one transaction with its own change number."""

import json
from collections.abc import Callable, Sequence

from askalike.core.records import Question
from askalike.store.changes import BatchRecord, Difference, StoredRow, compare_batch, log_edits, log_ended_corrections
from askalike.store.database import IN_JSON_SQL, SharedConnection, change_transaction
from askalike.store.records import ANSWER_COLUMNS, QUESTION_COLUMNS, TABLES, RecordTable, StoredRecord, decode_strings

BATCH_SIZE = 5_000
TAGS_COLUMN = QUESTION_COLUMNS.index("tags")


class ArchiveWriter:
    """Buffers records and commits them batch by batch.

    An import writes the first question or answer with each id: later ones in the same import are left out. Outside an
    import the last record is written, and an existing row keeps its import.
    on_difference: called with the effect of each batch on each table, once it is committed. edited_by: the editor, as
    the id of a key, "" if none was needed; None to store no revisions.
    """

    def __init__(
        self,
        connection: SharedConnection,
        on_difference: Callable[[Difference], None] = lambda difference: None,
        edited_by: str | None = None,
    ) -> None:
        self._connection, self._edited_by = connection, edited_by
        self._buffer: list[BatchRecord] = []
        self._on_difference = on_difference

    def put(self, record: StoredRecord, import_number: int | None = None) -> None:
        """Buffer a record. It is on disk after the next flush, at the latest after BATCH_SIZE records.

        Raises KeyError for an object that is not a record.
        """
        TABLES[type(record)]
        self._buffer.append(BatchRecord(record, import_number))
        if len(self._buffer) >= BATCH_SIZE:
            self.flush()

    def flush(self) -> None:
        """Commit all buffered records, or none of them after an error."""
        if not self._buffer:
            return
        with change_transaction(self._connection) as change:
            differences = self.write_buffered(change)
        self._buffer.clear()
        for difference in differences:
            self._on_difference(difference)

    def write_buffered(self, change: int) -> Sequence[Difference]:
        """Write the buffered records within the caller's transaction, with its change number."""
        differences = []
        for difference in compare_batch(self._connection, self._buffer):
            self._write(difference, change)
            differences.append(difference)
        return differences

    def delete(self, ids: Sequence[str], *, alone: bool = False) -> int:
        """Delete questions with their tags, answers and links, or `alone` with their tags; return how many existed."""
        wanted = json.dumps(ids)
        execute = self._connection.execute
        attached = () if alone else (("answers", "question_id"), ("links", "source"), ("links", "target"))
        with change_transaction(self._connection) as change:
            for table, column in (("questions", "id"), *attached[:1]):
                sql = f"INSERT INTO deletions SELECT ?, ?, number FROM {table} WHERE {column} {IN_JSON_SQL}"
                execute(sql, (change, table, wanted))
            for table, column in attached:
                execute(f"DELETE FROM {table} WHERE {column} {IN_JSON_SQL}", (wanted,))
            return execute(f"DELETE FROM questions WHERE id {IN_JSON_SQL}", (wanted,)).rowcount

    def _write(self, difference: Difference, change: int) -> None:
        table = difference.table
        log_ended_corrections(self._connection, difference)
        if self._edited_by is not None:
            log_edits(self._connection, difference, self._edited_by)
        docids = self._insert(table, difference.new, change)
        self._update(difference, change)
        if table.name == "questions":
            self._retag(difference, docids)

    def _insert(self, table: RecordTable, new: Sequence[BatchRecord], change: int) -> Sequence[int]:
        """Insert rows; return the docids of documents."""
        rows = [(*table.key_of(r), *table.row_of(r), number) for r, number in new]
        docids: Sequence[int] = ()
        if table.is_document:
            top = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table.name,)).fetchone()
            first = (top[0] if top else 0) + 1
            docids = range(first, first + len(new))
            rows = [(docid, *row, change) for docid, row in zip(docids, rows, strict=True)]
        self._connection.executemany(insert_sql(table), rows)
        return docids

    def _update(self, difference: Difference, change: int) -> None:
        """Write changed rows with the number of this change, and update the import of unchanged ones."""
        table = difference.table
        where = " AND ".join(f"{key} = ?" for key in table.keys)
        columns = ", ".join(f"{name} = ?" for name in table.columns)
        moved = [(r.import_number, *table.key_of(r.record)) for r, row in difference.existing if _is_moved(r, row)]
        self._connection.executemany(f"UPDATE {table.name} SET import_number = ? WHERE {where}", moved)
        rows = ((*table.row_of(r.record), *table.key_of(r.record)) for r, _ in difference.changed)
        stamp = f", change = {change}" if table.is_document else ""
        self._connection.executemany(f"UPDATE {table.name} SET {columns}{stamp} WHERE {where}", rows)
        if table.name == "answers":
            self._mark_left_questions(difference, change)

    def _mark_left_questions(self, difference: Difference, change: int) -> None:
        """Mark the questions as changed whose answers now belong to others."""
        place = ANSWER_COLUMNS.index("question_id")
        moves = ((row.values[place], difference.table.row_of(r.record)[place]) for r, row in difference.changed)
        left = [(change, before) for before, after in moves if before != after]
        self._connection.executemany("UPDATE questions SET change = ? WHERE id = ?", left)

    def _retag(self, difference: Difference, new_docids: Sequence[int]) -> None:
        changes: list[tuple[int | None, tuple[str, ...], tuple[str, ...]]]
        changes = [(docid, _tags_of(r), ()) for docid, r in zip(new_docids, difference.new, strict=True)]
        changes += [(row.docid, _tags_of(r), decode_strings(row.values[TAGS_COLUMN])) for r, row in difference.changed]
        retagged = [(tag, docid) for docid, tags, before in changes for tag in tags if tag not in before]
        untagged = [(tag, docid) for docid, tags, before in changes for tag in before if tag not in tags]
        self._connection.executemany("INSERT OR IGNORE INTO question_tags VALUES (?, ?)", retagged)
        self._connection.executemany("DELETE FROM question_tags WHERE tag = ? AND question_number = ?", untagged)


def insert_sql(table: RecordTable) -> str:
    """Return the INSERT for a row: keys, columns, import; for a document, its docid first and its change last."""
    names = (*table.keys, *table.columns, "import_number")
    names = ("number", *names, "change") if table.is_document else names
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def _tags_of(batch_record: BatchRecord) -> tuple[str, ...]:
    return batch_record.record.tags if isinstance(batch_record.record, Question) else ()


def _is_moved(batch_record: BatchRecord, row: StoredRow) -> bool:
    return batch_record.import_number not in (None, row.import_number)
