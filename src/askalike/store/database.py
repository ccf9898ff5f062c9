"""An archive's SQLite file: connections, transactions, and error messages for users."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from threading import RLock
from typing import Any, Literal, ParamSpec, Protocol, Self, TypeVar

from askalike.core.errors import ArchiveError
from askalike.core.files import identify
from askalike.core.values import format_count, now

ROWS_AT_A_TIME = 256
CHUNK_ROWS = 10_000


P = ParamSpec("P")
ResultT = TypeVar("ResultT")


def _run_alone(method: Callable[P, ResultT]) -> Callable[P, ResultT]:
    """Return a method of a cursor that one thread at a time runs. Raises ArchiveError if it finds the file damaged."""

    def run(*arguments: P.args, **options: P.kwargs) -> ResultT:
        connection: SharedConnection = arguments[0].connection  # type: ignore[attr-defined]
        with connection.in_use:
            try:
                return method(*arguments, **options)
            except sqlite3.DatabaseError as error:
                raise _explain(error, connection.path) from None

    return run


def _explain(error: sqlite3.DatabaseError, path: Path) -> Exception:
    """Return what to raise: errors of statements, locks and disks, which are subclasses, say what they are."""
    if isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error):
        return ArchiveError(f"{path}: the archive is closed; open it again")
    return damaged_database(path, error) if type(error) is sqlite3.DatabaseError else error


class SharedCursor(sqlite3.Cursor):
    """A cursor of a SharedConnection.

    A statement that was read to its end goes back to the connection's cache before it is reset (since Python 3.12), so
    another thread that executes the same SQL must not get it in between.
    """

    __slots__ = ()
    connection: "SharedConnection"
    fetchone = _run_alone(sqlite3.Cursor.fetchone)
    fetchmany = _run_alone(sqlite3.Cursor.fetchmany)
    fetchall = _run_alone(sqlite3.Cursor.fetchall)

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        rows = [None] * ROWS_AT_A_TIME
        while len(rows) == ROWS_AT_A_TIME:
            rows = self.fetchmany(ROWS_AT_A_TIME)
            yield from rows


class SharedConnection(sqlite3.Connection):
    """A connection at which one thread at a time executes a statement; a transaction holds `in_use` until it ends.

    A damaged file raises ArchiveError, in whatever statement it is noticed.
    """

    def __init__(self, *arguments: Any, path: Path = Path(), **options: Any) -> None:
        """path: the archive's directory, for messages."""
        super().__init__(*arguments, **options)
        self.in_use = RLock()
        self.path = path
        self._file = identify(path / DATABASE_FILE)

    def require_in_place(self) -> None:
        """Raise ArchiveError if the file that is open is no longer the one at its path: what is written is lost."""
        if identify(self.path / DATABASE_FILE) != self._file:
            problem = f"{DATABASE_FILE} was removed, moved or replaced while it is open"
            raise ArchiveError(f"{self.path}: {problem}; move it back, or restart the service")

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """Execute a statement."""
        with self.in_use:
            try:
                return self.cursor(SharedCursor).execute(*arguments)
            except sqlite3.DatabaseError as error:
                raise _explain(error, self.path) from None

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return all rows that a statement finds: at once, so that they need no guard of their own."""
        with self.in_use:
            try:
                return sqlite3.Connection.execute(self, sql, values).fetchall()
            except sqlite3.DatabaseError as error:
                raise _explain(error, self.path) from None

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        """Execute a statement for each row of values."""
        with self.in_use:
            try:
                return super().executemany(*arguments)
            except sqlite3.DatabaseError as error:
                raise _explain(error, self.path) from None


DATABASE_FILE = "archive.sqlite"
BUSY_MS = 30_000
"""The wait for other processes that write."""
FILE_MODE = 0o600
"""Mode of new databases and backups, which have people's queries in them."""
MAX_PATH_BYTES = 500
"""SQLite takes 512 bytes, among them the suffix of its own files."""
IN_JSON_SQL = "IN (SELECT value FROM json_each(?))"
ADVICE = {
    "database or disk is full": "free some space and repeat; all committed changes are safe",
    "disk I/O error": "the disk may be full or failing: free some space and repeat",
    "database is locked": "another process is writing; wait for it and repeat",
    "attempt to write a readonly database": "the directory is read-only; change its permissions",
    "unable to open database file": "change the permissions of the folder and its files, which are its owner's alone",
}
"""SQLite's message → advice for the user. For any other message: repeat, or restore a backup."""


class Database(Protocol):
    """An archive or a view of one, for functions that read either."""

    @property
    def _connection(self) -> SharedConnection: ...


class WritableDatabase(Database, Protocol):
    """An archive, for functions that write."""

    path: Path


def connect(path: Path, *, create: bool = False) -> SharedConnection:
    """Open the database of the archive in a directory. create: create it, or its tables, if they are missing.

    Raises ArchiveError for a file that is not an archive's, or of another version.
    """
    length = len(os.fsencode((path / DATABASE_FILE).absolute()))
    if length > MAX_PATH_BYTES:
        raise ArchiveError(
            f"{path}: the path of its database has {format_count(length, 'byte')}; SQLite takes up to {MAX_PATH_BYTES}"
        )
    with storage_errors(path):
        if create and not (path / DATABASE_FILE).exists():
            _create_private_file(path / DATABASE_FILE)
        connection = SharedConnection(
            _database_uri(path),
            uri=True,
            timeout=BUSY_MS / 1000,
            isolation_level=None,
            check_same_thread=False,
            path=path,
        )
        try:
            if not create:
                _require_schema(connection, path)  # before anything is written
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")  # what is deleted does not stay in the file
            connection.execute("PRAGMA cache_size = -65536")
            if create:
                _create_schema(connection)
                _require_schema(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def require_intact(
    connection: sqlite3.Connection, path: Path, pragma: Literal["quick_check", "integrity_check"]
) -> None:
    """Read the whole database of the archive in a directory. Raises ArchiveError if it is damaged.

    quick_check leaves out whether the indexes of tables fit these, which takes most of the time.
    """
    try:
        problem = connection.execute(f"PRAGMA {pragma}(1)").fetchone()[0]
    except sqlite3.DatabaseError as error:
        problem = str(error)
    if problem != "ok":
        raise damaged_database(path, " ".join(problem.split()))


def damaged_database(path: Path, problem: object) -> ArchiveError:
    """Return the error for a damaged database of the archive in a directory."""
    return ArchiveError(f"{path / DATABASE_FILE}: {problem}; it is damaged, or not an SQLite file; restore a backup")


def _create_private_file(file: Path) -> None:
    """Create an empty file that others cannot read; if that fails, SQLite creates it, or says why it cannot."""
    with suppress(OSError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


def _database_uri(path: Path) -> str:
    """Return the URI of an archive's database for SQLite.

    In a read-only folder SQLite cannot create its files for coordinating readers and writers. If there are none, no
    process has the database open for writing, so that it can be opened as immutable.
    """
    file = (path / DATABASE_FILE).resolve()
    is_closed = not file.with_name(f"{file.name}-wal").exists()
    return f"{file.as_uri()}?immutable=1" if is_closed and not os.access(path, os.W_OK) else file.as_uri()


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about disks, locks, damage and closed archives into an ArchiveError with advice."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise ArchiveError(f"{path}: {error}; {ADVICE.get(str(error), 'repeat, or restore a backup')}") from None
    except UnicodeEncodeError as error:
        problem = "holds a lone surrogate, which cannot be stored; replace it, nothing of its batch was written"
        raise ArchiveError(f"{path}: {error.object[:60]!r} {problem}") from None
    except sqlite3.ProgrammingError as error:
        raise _explain(error, path) from None
    except sqlite3.DatabaseError as error:
        raise damaged_database(path, error) from None


@contextmanager
def write_transaction(archive: WritableDatabase) -> Iterator[SharedConnection]:
    """Yield the archive's connection in a transaction. SQLite's errors become an ArchiveError."""
    with storage_errors(archive.path), atomic(archive._connection):
        yield archive._connection


@contextmanager
def read_transaction(archive: Database) -> Iterator[None]:
    """Run the block's reads on one snapshot, regardless of concurrent writes."""
    connection = archive._connection
    with connection.in_use:
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")


@contextmanager
def change_transaction(connection: SharedConnection) -> Iterator[int]:
    """Run the block in a transaction with a new change number, which is yielded."""
    with atomic(connection):
        change = connection.execute("INSERT INTO changes (committed_at) VALUES (?)", (now("milliseconds"),)).lastrowid
        yield change or 0


@contextmanager
def atomic(connection: SharedConnection) -> Iterator[None]:
    """Commit the block's writes if it succeeds, and roll them back if it raises.

    Within another such block it is a part of it: its writes are rolled back alone, and committed with the others.
    """
    with connection.in_use:
        is_part = connection.in_transaction
        connection.execute("SAVEPOINT part" if is_part else "BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("RELEASE part" if is_part else "COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLite may have rolled back all of it, as on a full disk
                connection.execute("ROLLBACK TO part" if is_part else "ROLLBACK")
            raise


def execute(archive: WritableDatabase, sql: str, *values: object) -> sqlite3.Cursor:
    """Execute a write statement. SQLite's errors become an ArchiveError."""
    with storage_errors(archive.path):
        return archive._connection.execute(sql, values)


def fetch_int(database: Database, sql: str, *values: object) -> int:
    """Return the single number of a query's result; NULL counts as 0."""
    return int(database._connection.read(sql, values)[0][0] or 0)


def select_in_chunks(
    database: Database, sql: str, keys: Iterable[str | int], values: Sequence[Any] = ()
) -> Iterator[Any]:
    """Yield the rows of a query whose first value is a JSON list of keys, for CHUNK_ROWS keys at a time."""
    wanted = list(keys)
    for start in range(0, len(wanted), CHUNK_ROWS):
        chunk = json.dumps(wanted[start : start + CHUNK_ROWS], default=int)  # of NumPy's integers
        yield from database._connection.read(sql, (chunk, *values))


class FirstTextStore:
    """Stores the first text of each id, in a temporary database that SQLite writes to disk if it grows large."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("CREATE TABLE first (id TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID")
        self._connection.execute("BEGIN")

    def get_or_add(self, id: str, text: str) -> str:
        """Return the first text with this id, which is the given one if there was none."""
        if self._connection.execute("INSERT OR IGNORE INTO first VALUES (?, ?)", (id, text)).rowcount:
            return text
        return str(self._connection.execute("SELECT text FROM first WHERE id = ?", (id,)).fetchone()[0])

    def __contains__(self, id: str) -> bool:
        return self._connection.execute("SELECT 1 FROM first WHERE id = ?", (id,)).fetchone() is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


SCHEMA_VERSION = 2
UPGRADE_SQL = f"""BEGIN IMMEDIATE; DROP TABLE proposal_scans;
CREATE TABLE proposal_scans (fingerprint TEXT PRIMARY KEY, change INTEGER NOT NULL, docid INTEGER NOT NULL)
WITHOUT ROWID;
UPDATE proposals SET probability = MIN(MAX(score, 0), 1) WHERE probability IS NULL;
DROP INDEX proposals_by_certainty;
CREATE INDEX proposals_by_certainty ON proposals (state, probability DESC, score DESC, number);
PRAGMA user_version = {SCHEMA_VERSION}; COMMIT"""
"""From schema 1, of which moderators' queues are looked for again."""


def _create_schema(connection: sqlite3.Connection) -> None:
    """Create the tables of a new archive; two processes may do so at the same time."""
    if _schema_version(connection):
        return
    schema = files("askalike.store").joinpath("schema.sql").read_text(encoding="utf-8")
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {schema}; PRAGMA user_version = {SCHEMA_VERSION}; COMMIT")
    except sqlite3.OperationalError:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if _schema_version(connection) == 0:  # no other process has created the tables
            raise


def _require_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Upgrade tables of the version before. Raises ArchiveError if a database has none, or those of another version."""
    if _schema_version(connection) == 1:
        connection.executescript(UPGRADE_SQL)
    version = _schema_version(connection)
    if version == 0:
        problem = "has none of an archive's tables: it is empty, or another program's"
        remedy = f"restore a backup, or import again: askalike import READER PATH -o {path}"
        raise ArchiveError(f"{path / DATABASE_FILE}: {problem}; {remedy}")
    if version != SCHEMA_VERSION:
        problem = f"has schema {version}; this askalike reads schema {SCHEMA_VERSION}"
        remedy = "use the version that wrote it, or import its sources again"
        raise ArchiveError(f"{path}: {problem}; {remedy}")


def _schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
