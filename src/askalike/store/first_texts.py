"""The first text of each id, in a temporary database."""

import sqlite3
from typing import Self


class FirstTextStore:
    """The first text under each id, as a short hash, in a temporary database that SQLite writes to disk as it grows."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("CREATE TABLE first (id TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID")
        self._connection.execute("BEGIN")

    def get_or_add(self, id: str, text: str) -> str:
        """Return the text that came first under the id, which is this one if none did before."""
        if self._connection.execute("INSERT OR IGNORE INTO first VALUES (?, ?)", (id, text)).rowcount:
            return text
        return str(self._connection.execute("SELECT text FROM first WHERE id = ?", (id,)).fetchone()[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
