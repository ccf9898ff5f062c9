"""What an archive's database holds, read and changed beside the archive, as another program would."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from askalike.store import Archive
from askalike.store.database import DATABASE_FILE


def run_sql(archive: Archive | Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a statement by a connection of its own and return its rows."""
    path = archive.path if isinstance(archive, Archive) else archive
    with closing(sqlite3.connect(path / DATABASE_FILE)) as connection, connection:
        return connection.execute(sql, values).fetchall()
