"""A copy of an archive as of a point in time, which can be moved forward."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from askalike.core.types import Link
from askalike.store.archive import Archive
from askalike.store.database import change_transaction
from askalike.store.records import TABLES
from askalike.store.writer import insert_sql


class PointInTimeArchive:
    """A copy of an archive with the questions, answers and links created before a date; initially empty.

    Rows have the docids of the source archive. Rankers apply the changes as in any archive. Rows without a date are
    never copied. Texts, tags and votes are the current ones, because an archive has no earlier versions of them.
    """

    def __init__(self, source: Archive, folder: Path) -> None:
        self.archive = Archive.create(folder)
        self.archive._connection.execute("PRAGMA synchronous = OFF")
        self.archive.set_meta(**source.meta)
        self._source = source._connection
        self._date = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.archive.close()

    def advance_to(self, date: str) -> None:
        """Copy everything created strictly before a date, which must not be earlier than the last one."""
        if date == self._date:
            return
        connection = self.archive._connection
        with change_transaction(connection) as change:
            for table in TABLES.values():
                if table.is_document:
                    columns = ("number", *table.keys, *table.columns, "NULL", "?1")
                    rows = self._rows_since_last_date(table.name, columns, date, change)
                    connection.executemany(insert_sql(table), rows)
            tags = "SELECT number, value FROM questions, json_each(tags) WHERE change = ?"
            connection.execute(f"INSERT INTO question_tags (question_number, tag) {tags}", (change,))
            links = self._rows_since_last_date(
                "links", ("source", "target", "kind", "created_at", "NULL"), date, change
            )
            connection.executemany(insert_sql(TABLES[Link]), links)
        self._date = date

    def _rows_since_last_date(self, table: str, columns: Sequence[str], date: str, change: int) -> Iterable[Any]:
        sql = f"SELECT {', '.join(columns)} FROM {table} WHERE created_at >= ?2 AND created_at < ?3 AND ?1 IS NOT NULL"
        return self._source.execute(sql, (change, self._date, date))
