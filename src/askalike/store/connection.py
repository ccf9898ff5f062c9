"""A connection to an archive's SQLite file that threads share."""

import sqlite3
from threading import RLock
from typing import Any


class SharedConnection(sqlite3.Connection):
    """A connection at which one thread at a time executes a statement; a transaction holds `in_use` until it ends."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.in_use = RLock()

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """Execute a statement."""
        with self.in_use:
            return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        """Execute a statement for each row of values."""
        with self.in_use:
            return super().executemany(*arguments)
