"""Destinations of an import's batches: the archive, or a dry run; and the removal of what a source no longer has."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from askalike.core.clock import now
from askalike.store.archive import Archive
from askalike.store.comparison import BatchRecord, Difference, compare_batch
from askalike.store.database import IN_JSON_SQL, FirstTextStore, change_transaction, execute, fetch_int, storage_errors
from askalike.store.editing import delete_answers
from askalike.store.import_report import ImportCounts
from askalike.store.records import TABLES
from askalike.store.sources import Source, add_source
from askalike.store.writer import BATCH_SIZE, ArchiveWriter


class ArchiveSink:
    """Writes batches, each in one transaction. The import of each source has its own row in `imports`."""

    def __init__(self, archive: Archive, reader: str, paths: str) -> None:
        self._archive, self._reader, self._paths = archive, reader, paths
        self._numbers: dict[str | None, int] = {}
        self._differences: list[Difference] = []
        self._writer = ArchiveWriter(archive._connection, self._differences.append)

    def begin(self, source: Source) -> int:
        """Return the number of the import from a source, and record its beginning."""
        if source.name not in self._numbers:
            number = None if source.name is None else add_source(self._archive, source.name, source.prefix)
            sql = "INSERT INTO imports (reader, paths, started_at, source_number) VALUES (?, ?, ?, ?)"
            values = (self._reader, self._paths, now(), number)
            self._numbers[source.name] = execute(self._archive, sql, *values).lastrowid or 0
        return self._numbers[source.name]

    def write(self, batch: Sequence[BatchRecord]) -> Sequence[Difference]:
        """Commit a batch; return its effect on each table."""
        self._differences.clear()
        for record in batch:
            self._writer.put(*record)
        self._writer.flush()
        return tuple(self._differences)

    def finish(self, rejected: int, notes: Mapping[str, int], *, finished: bool) -> None:
        """Record the end of all imports begun: finished, or interrupted by an error."""
        sql = "UPDATE imports SET finished_at = ?, rejected_count = ?, notes = ? WHERE number = ?"
        text = json.dumps(dict(notes), ensure_ascii=False)
        for number in self._numbers.values():
            execute(self._archive, sql, now() if finished else None, rejected, text, number)

    def count_questions(self) -> int:
        """Return the number of questions of the archive from these imports."""
        sql = "SELECT COUNT(*) FROM questions WHERE import_number = ?"
        return sum(fetch_int(self._archive, sql, number) for number in self._numbers.values())


class PlanSink:
    """Compares batches with the archive without writing. The keys of earlier batches are kept on disk."""

    def __init__(self, archive: Archive) -> None:
        self._connection = archive._connection
        self._first_records = FirstTextStore()
        self._count = 0
        self._numbers: dict[Source, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._first_records.__exit__()

    def begin(self, source: Source) -> int:
        """Return a number that no import has."""
        return self._numbers.setdefault(source, -1 - len(self._numbers))

    def write(self, batch: Sequence[BatchRecord]) -> Sequence[Difference]:
        """Return the effect that a batch would have on each table."""
        repeated: dict[str, list[BatchRecord]] = {}
        new_keys = []
        for batch_record in batch:
            table = TABLES[type(batch_record.record)]
            key = "\n".join((table.name, *table.key_of(batch_record.record)))
            self._count += 1
            if self._first_records.get_or_add(key, str(self._count)) == str(self._count):
                new_keys.append(batch_record)
            elif table.is_document:
                repeated.setdefault(table.name, []).append(batch_record)
        differences = list(compare_batch(self._connection, new_keys))
        named = {difference.table.name: difference for difference in differences}
        for table in TABLES.values():
            if table.name in repeated:
                difference = named.get(table.name) or Difference(table)
                difference.repeated += repeated[table.name]
                differences += [difference] if table.name not in named else []
        return differences


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
        delete_answers(archive, ids)
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


def _earlier(counts: ImportCounts) -> str:
    return json.dumps(sorted(counts.earlier_imports))
