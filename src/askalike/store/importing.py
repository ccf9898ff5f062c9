"""Imports the records of a reader into an archive.

A `kill -9` at any moment leaves a valid archive: committed records stay, `imports.finished_at` stays NULL, and
repeating the import completes it.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Protocol

from askalike.clock import now
from askalike.errors import ArchiveError, InputError
from askalike.store.archive import Archive
from askalike.store.database import DATABASE_FILE, execute, fetch_int
from askalike.store.languages import LanguageAssigner
from askalike.store.statistics import ArchiveSummary, summarise_archive
from askalike.store.writer import BATCH_SIZE, ArchiveWriter
from askalike.types import Answer, EvaluationQuery, LocatedRecord, Place, Question, Record, RejectedRow

REJECTS_FILE = "rejected.jsonl"


class RecordSource(Protocol):
    """What a reader says about the files that it reads, as `askalike.readers.SourceFiles` has it."""

    notes: Counter[str]
    facts: dict[str, Any]
    ids_are_given: bool


@contextmanager
def open_for_import(directory: Path) -> Iterator[Archive]:
    """Yield the archive in a directory, created if missing; after an error a new and empty archive is removed."""
    existing = set(directory.iterdir()) if directory.is_dir() else None
    try:
        with Archive.create(directory) as archive:
            yield archive
    except BaseException:
        if directory.is_dir() and directory / DATABASE_FILE not in (existing or ()) and not _has_questions(directory):
            _remove_created_files(directory, existing)
        raise


def import_records(
    archive: Archive,
    reader: str,
    paths: Sequence[Path],
    records: Iterable[LocatedRecord],
    source: RecordSource,
    *,
    language: str | None = None,
    strict: bool = False,
) -> ArchiveSummary:
    """Write a reader's records into the archive, and rejected rows into `rejected.jsonl` in its directory.

    Raises InputError where the rest of a file cannot be read (the records before it are stored), where there is no
    question at all, and with `strict` at the first rejected row; ArchiveError where the archive cannot be written.
    """
    with _RejectLog(archive.path / REJECTS_FILE) as rejects:
        importer = _Importer(archive, reader, ", ".join(map(str, paths)), source, rejects, strict)
        languages = LanguageAssigner(archive, source.facts, language)
        try:
            importer.write_all(languages.assign_languages(records))
        except InputError:
            languages.store_languages()
            raise
        languages.store_languages()
    return summarise_archive(archive)


class _Importer:
    """One import: writes records, logs rejected rows, and completes its row in the table `imports`."""

    def __init__(
        self, archive: Archive, reader: str, paths: str, source: RecordSource, rejects: "_RejectLog", strict: bool
    ) -> None:
        self._archive, self._reader, self._paths = archive, reader, paths
        self._source, self._rejects, self._strict = source, rejects, strict
        self._question_count = 0
        self._place_by_record: dict[int, Place] = {}
        self._repeat_places: set[Place] = set()
        sql = "INSERT INTO imports (reader, source, started_at) VALUES (?, ?, ?)"
        self._number = execute(archive, sql, reader, paths, now()).lastrowid or 0

    def write_all(self, records: Iterable[LocatedRecord]) -> None:
        """Write all records; after an error in the input those before it are written, too."""
        with self._archive.open_writer(self._number) as writer:
            writer.on_repeat = self._reject_repeat
            try:
                for record, place in records:
                    self._write_record(writer, record, place)
                writer.flush()
                self._stop_if_strict()
            except InputError as error:
                writer.flush()
                self._finish_import(finished=False)
                count = fetch_int(self._archive, "SELECT COUNT(*) FROM questions WHERE import = ?", self._number)
                raise InputError(
                    f"{error}; the {count} questions before it are kept" if count else str(error)
                ) from None
        self._refuse_if_empty()
        self._store_facts()
        self._finish_import(finished=True)

    def _write_record(self, writer: ArchiveWriter, record: Record, place: Place) -> None:
        if isinstance(record, RejectedRow):
            self._rejects.add(record)
        else:
            self._question_count += isinstance(record, Question | EvaluationQuery)
            self._place_by_record[id(record)] = place
            writer.put(record)
            if len(self._place_by_record) == BATCH_SIZE:
                writer.flush()
                self._place_by_record.clear()
                self._repeat_places.clear()
        self._stop_if_strict()

    def _reject_repeat(self, record: Question | Answer) -> None:
        kind = type(record).__name__.lower()
        if not self._source.ids_are_given:
            self._source.notes[f"{kind}s that repeat an earlier one merged with it"] += 1
            return
        if (place := self._place_by_record[id(record)]) in self._repeat_places:
            return
        self._repeat_places.add(place)
        row = json.dumps({k: v for k, v in asdict(record).items() if v not in (None, ())}, ensure_ascii=False)
        reason = f"{kind} id {record.id!r} occurs twice; the first one was kept"
        self._rejects.add(RejectedRow(*place, reason, row))

    def _stop_if_strict(self) -> None:
        if self._strict and (first := self._rejects.first):
            raise InputError(f"{first.path}, line {first.line}: {first.reason}; --strict stops at the first such row")

    def _refuse_if_empty(self) -> None:
        if self._question_count and fetch_int(self._archive, "SELECT EXISTS (SELECT 1 FROM questions)"):
            return
        self._finish_import(finished=False)
        reason = f"is it what the reader {self._reader} expects?"
        if first := self._rejects.first:
            reason = f"all {self._rejects.count} rows were rejected, line {first.line}: {first.reason}"
        raise InputError(f"{self._paths}: no question in it; {reason}")

    def _store_facts(self) -> None:
        """Store the reader's facts; those that the archive has already stay as they are."""
        facts = {name: value for name, value in self._source.facts.items() if value and name != "language"}
        facts |= {"reader": self._reader, "source": self._paths}
        existing = self._archive.meta
        self._archive.set_meta(**{name: value for name, value in facts.items() if name not in existing})

    def _finish_import(self, finished: bool) -> None:
        sql = "UPDATE imports SET finished_at = ?, rejected = ?, notes = ? WHERE number = ?"
        notes = json.dumps(dict(self._source.notes), ensure_ascii=False)
        execute(self._archive, sql, now() if finished else None, self._rejects.count, notes, self._number)


class _RejectLog:
    """The file `rejected.jsonl`: file, line, reason and text of each rejected row; absent where no row was rejected."""

    def __init__(self, path: Path) -> None:
        self.count = 0
        self.first: RejectedRow | None = None
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> "_RejectLog":
        self._run_checked(lambda: self._path.unlink(missing_ok=True))
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._run_checked(self._file.close)

    def add(self, rejected: RejectedRow) -> None:
        """Write one row. Raises ArchiveError where the disk is full."""
        self.count += 1
        self.first = self.first or rejected
        fields = {"file": rejected.path, "line": rejected.line, "reason": rejected.reason, "row": rejected.row}
        line = json.dumps(fields, ensure_ascii=False) + "\n"
        self._run_checked(lambda: self._open_file().write(line))

    def _open_file(self) -> IO[str]:
        if self._file is None:
            self._file = self._path.open("w", encoding="utf-8", errors="backslashreplace")
        return self._file

    def _run_checked(self, write: Any) -> None:
        try:
            write()
        except OSError as error:
            advice = "free some space, or make it writable, and repeat"
            raise ArchiveError(f"{self._path}: {error.strerror}; {advice}") from None


def _has_questions(directory: Path) -> bool:
    try:
        with Archive.open(directory) as archive:
            return bool(fetch_int(archive, "SELECT EXISTS (SELECT 1 FROM questions)"))
    except ArchiveError:
        return False


def _remove_created_files(directory: Path, existing: Collection[Path] | None) -> None:
    """Remove the files of an import; `existing` are those of before, None where the directory did not exist."""
    for name in (DATABASE_FILE, f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm", REJECTS_FILE):
        if directory / name not in (existing or ()):
            (directory / name).unlink(missing_ok=True)
    if existing is None:
        directory.rmdir()
