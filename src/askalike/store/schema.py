"""The schema of an archive's SQLite file, which `schema.sql` defines; `PRAGMA user_version` is its number."""

import sqlite3
from importlib.resources import files

from askalike.core.errors import ArchiveError

SCHEMA_VERSION = 1


def create_schema(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables of a new archive; two processes may do so at the same time.

    Raises ArchiveError if the archive has the schema of another version.
    """
    if _schema_version(connection) == 0:
        schema = files("askalike.store").joinpath("schema.sql").read_text(encoding="utf-8")
        try:
            connection.executescript(f"BEGIN IMMEDIATE; {schema}; PRAGMA user_version = {SCHEMA_VERSION}; COMMIT")
        except sqlite3.OperationalError:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if _schema_version(connection) == 0:  # no other process has created the tables
                raise
    version = _schema_version(connection)
    if version != SCHEMA_VERSION:
        problem = f"has schema {version}; this askalike reads schema {SCHEMA_VERSION}"
        remedy = "use the version that wrote it, import its sources again, or run tools/carry_over.py (for schema 14)"
        raise ArchiveError(f"{path}: {problem}; {remedy}")


def _schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
