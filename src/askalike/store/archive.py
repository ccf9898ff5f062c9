"""An archive is a directory: `archive.sqlite` holds all data; `index/` and `models/` are derived from it.

It can be copied as of a point in time, which moves forward."""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from askalike.core.errors import ArchiveError, InputError
from askalike.core.files import fsync_path
from askalike.core.iteration import check_list
from askalike.core.records import Answer, DocumentKind, EvaluationQuery, Judgement, Link, Question, Split
from askalike.store.database import (
    DATABASE_FILE,
    SharedConnection,
    change_transaction,
    connect,
    require_intact,
    storage_errors,
)
from askalike.store.labels import labelled_ids, split_exists
from askalike.store.records import TABLES, check_record
from askalike.store.view import CommittedView, TrainingView, View
from askalike.store.writer import ArchiveWriter, insert_sql

P = ParamSpec("P")
T = TypeVar("T")


class Archive:
    """A Q&A archive on disk, for many readers and one writer at a time, in any number of processes (SQLite, WAL).

    Threads may share it: one waits while another executes a statement or a transaction.
    """

    def __init__(self, path: Path, connection: SharedConnection, engine: str | None = None) -> None:
        self.path, self.engine = path, engine
        self._connection = connection

    @classmethod
    def open(cls, path: str | Path, engine: str | None = None) -> Self:
        """Open an existing archive. Raises ArchiveError if the directory is not an archive.

        engine: the address of the engine that holds its indexes, `NAME+URL`; None if they are in the directory.
        """
        path = Path(path)
        if path.is_file():
            raise ArchiveError(f"{path}: a file, not an archive; import it: askalike import READER {path} -o DIR")
        if not (path / DATABASE_FILE).is_file():
            command = f"askalike import READER PATH -o {path}"
            raise ArchiveError(f"{path}: not an archive (no {DATABASE_FILE} in it); create one with: {command}")
        return cls(path, connect(path), engine)

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Create an archive, or open the existing one. Raises ArchiveError if `path` contains something else."""
        if str(path) == ":memory:":
            raise ArchiveError("an archive is a directory; to search texts in memory use askalike.Retriever(texts)")
        path = Path(path)
        make_directory(path)
        return cls(path, connect(path, create=True))

    def require_intact(self, *, thorough: bool = False) -> None:
        """Read the whole database. Raises ArchiveError if it is damaged.

        thorough: also whether the indexes of its tables fit these, which takes several times as long.
        """
        require_intact(self._connection, self.path, "integrity_check" if thorough else "quick_check")

    def require_in_place(self) -> None:
        """Raise ArchiveError if the file that is open is no longer the one at its path: what is written is lost."""
        self._connection.require_in_place()

    def __repr__(self) -> str:
        return f"Archive({str(self.path)!r})"

    def close(self) -> None:
        """Close the database. The archive must not be used afterwards."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def view(
        self,
        kind: DocumentKind = "questions",
        *,
        before: str | None = None,
        group: str | None = None,
        held_out_splits: Sequence[str] = (),
    ) -> View:
        """Return a view to search: the questions (or answers), optionally only those before a date or of one group.

        Raises ArchiveError for a held-out split that does not exist.
        """
        self._require_splits(held_out_splits)
        return View(self._connection, self.path, kind, before, group, tuple(held_out_splits), engine=self.engine)

    def training_view(
        self,
        held_out: Iterable[str | Split],
        *,
        kind: DocumentKind = "questions",
        before: str | None = None,
        group: str | None = None,
        dev: Split | None = None,
        excluded_ids: Iterable[str] = (),
    ) -> TrainingView:
        """Return a view for training, from which evaluation data is held out; rankers can be fitted only on such views.

        held_out: everything to be evaluated on, as names of splits or as splits; `()` for none. dev: the queries that
        choose a network's best epoch, which are held out, too. excluded_ids: questions that are not used for training
        at all. Raises ArchiveError for a held-out split that does not exist.
        """
        held_out = list(held_out)
        names = tuple(dict.fromkeys(each for each in held_out if isinstance(each, str)))
        self._require_splits(names)
        splits = [each for each in held_out if isinstance(each, Split)] + ([dev] if dev else [])
        ids = frozenset(id for split in splits for id in labelled_ids(split, kind))
        excluded = frozenset(excluded_ids)
        columns = self._connection, self.path, kind, before, group, names, ids, excluded, dev
        return TrainingView(*columns, engine=self.engine)

    def _require_splits(self, names: Sequence[str]) -> None:
        if absent := [name for name in names if not split_exists(self, name)]:
            raise ArchiveError(f"{self.path}: no split {', '.join(map(repr, absent))} to hold out; see: askalike info")

    def committed_view(self) -> CommittedView:
        """Return all questions as last indexed, for searches while another process is indexing."""
        return CommittedView(self._connection, self.path, engine=self.engine)

    @contextmanager
    def open_writer(self) -> Iterator[ArchiveWriter]:
        """Yield a writer that commits in batches; all its records are on disk once the block ends without an error."""
        writer = ArchiveWriter(self._connection)
        with storage_errors(self.path):
            yield writer
            writer.flush()

    def upsert(self, records: Iterable[Question | Answer | Link | EvaluationQuery | Judgement]) -> int:
        """Add records, replacing those with the same id; return the number of the last change.

        A new record has no source; an imported one keeps its source.
        Raises InputError for a record with a field of the wrong type; records before it may be stored.
        """
        with self.open_writer() as writer:
            for record in check_list("records", records):
                check_record(record)
                writer.put(record)
        return self.view().change

    def delete(self, ids: Iterable[str]) -> int:
        """Delete questions with their answers and links; return how many existed."""
        with storage_errors(self.path):
            return ArchiveWriter(self._connection).delete(list(check_list("ids", ids)))

    @property
    def meta(self) -> Mapping[str, Any]:
        """Metadata of the archive: name, language, license, source and others."""
        return self.view().meta

    def set_meta(self, **values: Any) -> None:
        """Store metadata of the archive; values are any JSON values."""
        rows = [(key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()]
        with storage_errors(self.path):
            self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


def takes_archive(function: Callable[Concatenate[Archive, P], T]) -> Callable[Concatenate[Archive | str | Path, P], T]:
    """Let a function that takes an archive first also take its directory, which is open during the call.

    It then raises ArchiveError if the directory is not an archive, InputError for what is neither.
    """

    @wraps(function)
    def call(archive: Archive | str | Path, *arguments: P.args, **options: P.kwargs) -> T:
        if isinstance(archive, Archive):
            return function(archive, *arguments, **options)
        if not isinstance(archive, str | Path):
            got = type(archive).__name__
            raise InputError(f"{function.__name__}: expected an askalike.Archive or its directory, got {got}")
        with Archive.open(archive) as opened:
            return function(opened, *arguments, **options)

    signature = inspect.signature(function)
    first, *others = signature.parameters.values()
    taken = first.replace(annotation=Archive | str | Path)
    vars(call)["__signature__"] = signature.replace(parameters=[taken, *others])
    return call  # type: ignore[return-value]  # which may also be called with the archive by name


def make_directory(path: Path) -> None:
    """Create the directory of an archive if it is missing. Raises ArchiveError if `path` contains something else."""
    if path.exists() and not path.is_dir():
        raise ArchiveError(f"{path}: is a file; expected a directory, or a new name, for the archive")
    if path.is_dir() and not (path / DATABASE_FILE).exists() and any(path.iterdir()):
        raise ArchiveError(f"{path}: has other files, but no {DATABASE_FILE}; choose a new or empty directory")
    created = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        for folder in reversed(created):
            fsync_path(folder.parent)
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be created ({error.strerror}); choose another place") from None


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
