"""An archive is a directory: `archive.sqlite` is the only truth, `index/` and `models/` follow it."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

from askalike.errors import ArchiveError
from askalike.store.database import DATABASE_FILE, connect, storage_errors
from askalike.store.labels import split_exists
from askalike.store.view import CommittedView, View
from askalike.store.writer import ArchiveWriter
from askalike.types import Answer, EvaluationQuery, Judgement, Link, Question


class Archive:
    """A Q&A archive on disk. Many readers and one writer at a time, in any number of processes (SQLite, WAL)."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """An archive that is there. Raises ArchiveError where the directory is none."""
        path = Path(path)
        if not (path / DATABASE_FILE).is_file():
            raise ArchiveError(
                f"{path}: not an archive (no {DATABASE_FILE} in it); make one with: askalike import READER PATH -o {path}"
            )
        return cls(path, connect(path))

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
        return cls(path, connect(path))

    def close(self) -> None:
        """Closes the database. The archive must not be used afterwards."""
        self._connection.close()

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
        if absent := [name for name in held_out_splits if not split_exists(self, name)]:
            raise ArchiveError(f"{self.path}: no split {', '.join(map(repr, absent))} to hide; see: askalike info")
        return View(
            self._connection, str(self.path), kind, before, group, tuple(held_out_splits), frozenset(excluded_ids)
        )

    def committed_view(self) -> CommittedView:
        """Return all questions as they were last indexed, for those who search while another process indexes."""
        return CommittedView(self._connection, str(self.path))

    @contextmanager
    def open_writer(self, import_number: int | None = None) -> Iterator[ArchiveWriter]:
        """A writer that commits in batches; what it was given is on disk once the block ends without an error."""
        writer = ArchiveWriter(self._connection, import_number)
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
            return ArchiveWriter(self._connection).delete(list(ids))

    @property
    def meta(self) -> Mapping[str, Any]:
        """What is known of the archive as a whole: name, language, licence, source."""
        return self.view().meta

    def set_meta(self, **values: Any) -> None:
        """Keeps facts about the archive as a whole; any JSON value."""
        rows = [(key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()]
        with storage_errors(self.path):
            self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)
