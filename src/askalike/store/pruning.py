"""Removal of records that a source no longer has."""

import json
from collections.abc import Iterator

from askalike.store.archive import Archive
from askalike.store.database import IN_JSON_SQL, change_transaction, fetch_int, storage_errors
from askalike.store.import_counts import ImportCounts
from askalike.store.records import TABLES
from askalike.store.writer import BATCH_SIZE

EARLIER_SQL = f"import_number {IN_JSON_SQL}"
"""SQL condition: the row was last imported by an earlier import, and so is not in the current one."""


def count_missing(archive: Archive, counts: ImportCounts, table: str) -> int:
    """Return the number of rows of a table from earlier imports of a source that are not in this one."""
    return fetch_int(archive, f"SELECT COUNT(*) FROM {table} WHERE {EARLIER_SQL}", _earlier(counts))


def prune_source(archive: Archive, counts: ImportCounts) -> None:
    """Remove records from earlier imports of a source that are not in this one; questions with answers and links."""
    before = {name: count_missing(archive, counts, name) for name in counts.by_table}
    for ids in _missing_ids(archive, counts, "questions"):
        archive.delete(ids)
    for ids in _missing_ids(archive, counts, "answers"):
        _delete_answers(archive, ids)
    with storage_errors(archive.path), change_transaction(archive._connection):
        for table in TABLES.values():
            if not table.is_document:
                archive._connection.execute(f"DELETE FROM {table.name} WHERE {EARLIER_SQL}", (_earlier(counts),))
    for name, records in counts.by_table.items():
        records.removed = before[name]


def _missing_ids(archive: Archive, counts: ImportCounts, table: str) -> Iterator[list[str]]:
    """Yield ids of rows to remove, until there are none."""
    sql = f"SELECT id FROM {table} WHERE {EARLIER_SQL} LIMIT {BATCH_SIZE}"
    while ids := [id for (id,) in archive._connection.execute(sql, (_earlier(counts),))]:
        yield ids


def _delete_answers(archive: Archive, ids: list[str]) -> None:
    wanted = json.dumps(ids)
    with storage_errors(archive.path), change_transaction(archive._connection) as change:
        sql = f"INSERT INTO deletions SELECT ?, 'answers', number FROM answers WHERE id {IN_JSON_SQL}"
        archive._connection.execute(sql, (change, wanted))
        archive._connection.execute(f"DELETE FROM answers WHERE id {IN_JSON_SQL}", (wanted,))


def _earlier(counts: ImportCounts) -> str:
    return json.dumps(sorted(counts.earlier_imports))
