"""An archive is a directory: `archive.sqlite` is the only truth, `index/` and `models/` follow it."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

from askalike.errors import ArchiveError
from askalike.store import labels
from askalike.store.migrations import migrate
from askalike.store.view import View
from askalike.store.writer import ArchiveWriter
from askalike.types import Answer, EvaluationQuery, Judgement, Link, Question

DATABASE_FILE = "archive.sqlite"


class Archive:
    """A Q&A archive on disk. Many readers and one writer at a time, in any number of processes (SQLite, WAL)."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """An archive that is there. Raises ArchiveError where the directory is none."""
        path = Path(path)
        if not (path / DATABASE_FILE).is_file():
            raise ArchiveError(
                f"{path}: not an archive (no {DATABASE_FILE} in it); make one with: askalike import READER PATH -o {path}"
            )
        return cls(path, _connect(path))

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """The archive at `path`, made if it is not there. An existing one is opened as it is."""
        path = Path(path)
        if path.exists() and not path.is_dir():
            raise ArchiveError(f"{path}: is a file; expected a directory, or a new name, for the archive")
        if path.is_dir() and not (path / DATABASE_FILE).exists() and any(path.iterdir()):
            raise ArchiveError(f"{path}: holds other files and no {DATABASE_FILE}; choose a new or empty directory")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArchiveError(f"{path}: cannot be made ({error.strerror}); choose another place") from None
        return cls(path, _connect(path))

    def close(self) -> None:
        """Closes the database. The archive must not be used afterwards."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def view(
        self,
        kind: Literal["questions", "answers"] = "questions",
        *,
        before: str | None = None,
        group: str | None = None,
        held_out_splits: Sequence[str] = (),
        excluded_ids: Iterable[str] = (),
    ) -> View:
        """What a ranker may see: the questions (or answers), of before a date or of one group if one is given.

        A ranker that learns is given a view with the splits `hidden` which it will be measured on, and without the
        questions `withheld` (ids) that it will be asked.
        Raises ArchiveError where one of them is not there.
        """
        if absent := [name for name in held_out_splits if not labels.split_exists(self.connection, name)]:
            raise ArchiveError(f"{self.path}: no split {', '.join(map(repr, absent))} to hide; see: askalike info")
        return View(
            self.connection, str(self.path), kind, before, group, tuple(held_out_splits), frozenset(excluded_ids)
        )

    @contextmanager
    def open_writer(self, import_number: int | None = None) -> Iterator[ArchiveWriter]:
        """A writer that commits in batches; what it was given is on disk once the block ends without an error."""
        writer = ArchiveWriter(self.connection, import_number)
        with storage_errors(self.path):
            yield writer
            writer.flush()

    def upsert(self, records: Iterable[Question | Answer | Link | EvaluationQuery | Judgement]) -> int:
        """Adds records, or replaces those with the same id. Returns the number of the last change."""
        with self.open_writer() as writer:
            for record in records:
                writer.put(record)
        return self.view().change

    def delete(self, ids: Iterable[str]) -> int:
        """Deletes questions with their answers and links; returns how many there were."""
        with storage_errors(self.path):
            return ArchiveWriter(self.connection).delete(list(ids))

    @property
    def meta(self) -> Mapping[str, Any]:
        """What is known of the archive as a whole: name, language, licence, source."""
        return {k: json.loads(v) for k, v in self.connection.execute("SELECT key, value FROM meta")}

    def set_meta(self, **values: Any) -> None:
        """Keeps facts about the archive as a whole; any JSON value."""
        rows = [(key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()]
        with storage_errors(self.path):
            self.connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turns what SQLite says of disks, locks and damage into an ArchiveError that says what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        advice = {
            "database or disk is full": "free some space and repeat; what was committed before is safe",
            "disk I/O error": "the disk may be full or failing: free some space and repeat",
            "database is locked": "another process is writing; wait for it and repeat",
            "attempt to write a readonly database": "the directory is read-only; change its permissions",
        }
        raise ArchiveError(f"{path}: {error}; {advice.get(str(error), 'repeat, or restore a backup')}") from None
    except UnicodeEncodeError as error:
        raise ArchiveError(
            f"{path}: {error.object[:60]!r} holds a lone surrogate, which cannot be stored; replace it, nothing of its "
            "batch was written"
        ) from None
    except sqlite3.DatabaseError as error:
        raise ArchiveError(
            f"{path / DATABASE_FILE}: {error}; it is damaged or no SQLite file; restore a backup"
        ) from None


def _connect(path: Path) -> sqlite3.Connection:
    with storage_errors(path):
        connection = sqlite3.connect(path / DATABASE_FILE, timeout=30, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA cache_size = -65536")
            migrate(connection, str(path))
        except BaseException:
            connection.close()
            raise
    return connection
