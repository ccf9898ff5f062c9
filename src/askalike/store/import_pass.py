"""One pass over the records of an import, in batches: their sources, their ids, their effects, and where they go.

The report has the records added, updated, unchanged and removed; rejected rows are in a file."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, Protocol, Self

from askalike.core.errors import ArchiveError, InputError
from askalike.core.iteration import chunks_before_error
from askalike.core.records import EvaluationQuery, Link, LocatedRecord, Place, Question, RejectedRow
from askalike.core.values import format_count, hash_texts, now
from askalike.store.archive import Archive
from askalike.store.changes import BatchRecord, Difference, compare_batch
from askalike.store.database import Database, FirstTextStore, execute, fetch_int
from askalike.store.records import TABLES, RecordTable, StoredRecord, number_problem
from askalike.store.sources import (
    Source,
    SourceIds,
    add_source,
    check_source_name,
    id_prefix,
    import_numbers,
    plan_source,
    source_name,
)
from askalike.store.writer import BATCH_SIZE, ArchiveWriter

VERBS = ("added", "updated", "unchanged", "removed")


def _no_changes() -> dict[str, dict[str, int]]:
    """Return 0 for each table and verb."""
    return {table.name: dict.fromkeys(VERBS, 0) for table in TABLES.values()}


@dataclass(slots=True)
class ImportCounts:
    """The counts of one import from one source.

    earlier_imports: the numbers of that source's imports before this one. by_table: table → verb → count.
    matched: table → the number of rows of earlier imports that are in this one again. text_changes: the number of these
    questions and answers whose text changes. renamed: the number of questions that are in it again with other ids only,
    if a plan finds many.
    """

    earlier_imports: frozenset[int]
    by_table: dict[str, dict[str, int]] = field(default_factory=_no_changes)
    matched: dict[str, int] = field(default_factory=lambda: {t.name: 0 for t in TABLES.values()})
    text_changes: int = 0
    renamed: int = 0

    def add(self, difference: Difference, import_number: int) -> None:
        """Count the effects of writing a batch into one table, for the records of one import."""
        name = difference.table.name
        counts = self.by_table[difference.table.name]
        counts["added"] += sum(r.import_number == import_number for r in difference.new)
        for is_changed, rows in ((True, difference.changed), (False, difference.unchanged)):
            for record, row in rows:
                if record.import_number != import_number or row.import_number == import_number:
                    continue
                counts["updated" if is_changed else "unchanged"] += 1
                if row.import_number in self.earlier_imports:
                    self.matched[name] += 1
                    self.text_changes += is_changed and difference.has_other_text(record, row)


def describe_counts(by_table: Mapping[str, Mapping[str, int]]) -> str:
    """Return `added 2 questions, 2 answers; updated 0; unchanged 0; removed 0`."""
    parts = []
    for verb in VERBS:
        numbers = [format_count(counts[verb], _singular(table)) for table, counts in by_table.items() if counts[verb]]
        parts.append(f"{verb} {', '.join(numbers) or '0'}")
    return "; ".join(parts)


def sum_changes(changes: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """Return summed counts by table and verb, without empty tables."""
    totals = _no_changes()
    for by_table in changes:
        for name, numbers in by_table.items():
            for verb, number in numbers.items():
                totals[name][verb] += number
    return {name: numbers for name, numbers in totals.items() if any(numbers.values())}


def _singular(table: str) -> str:
    return f"{table[:-3]}y" if table.endswith("ies") else table.removesuffix("s")


REJECTS_FILE = "rejected.jsonl"


class RejectLog:
    """The file `rejected.jsonl`: file, line, reason and content of each rejected row; absent if there is none."""

    def __init__(self, path: Path | None, *, keep: bool = False) -> None:
        """path: None to count the rows without writing them. keep: add to the rows of the import before."""
        self.count = 0
        self.first: RejectedRow | None = None
        self._path = path
        self._keep = keep
        self._file: IO[str] | None = None

    def __enter__(self) -> "RejectLog":
        if (path := self._path) and not self._keep:
            self._run_checked(lambda: path.unlink(missing_ok=True))
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._run_checked(self._file.close)

    def add(self, rejected: RejectedRow) -> None:
        """Write one row. Raises ArchiveError if the disk is full."""
        self.count += 1
        self.first = self.first or rejected
        fields = {"file": rejected.path, "line": rejected.line, "reason": rejected.reason, "row": rejected.row}
        line = json.dumps(fields, ensure_ascii=False, default=str) + "\n"
        if path := self._path:
            self._run_checked(lambda: self._open_file(path).write(line))

    def require_none(self) -> None:
        """Raise InputError with the first rejected row, if there is one."""
        if first := self.first:
            raise InputError(f"{first.path}, line {first.line}: {first.reason}; --strict stops at the first such row")

    def _open_file(self, path: Path) -> IO[str]:
        if self._file is None:
            self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        return self._file

    def _run_checked(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            advice = "free some space, or make it writable, and repeat"
            raise ArchiveError(f"{self._path}: {error.strerror}; {advice}") from None


class RecordSource(Protocol):
    """Information about the files of a reader, as in `askalike.readers.SourceFiles`."""

    notes: Counter[str]
    facts: dict[str, Any]
    is_follow_up: bool
    source_prefixes: Mapping[str, str] | None


class ArchiveSink:
    """Writes batches, each in one transaction. The import of each source has its own row in `imports`."""

    def __init__(self, archive: Archive, reader: str, paths: str) -> None:
        self._archive, self._reader, self._paths = archive, reader, paths
        self._numbers: dict[str | None, int] = {}
        self._differences: list[Difference] = []
        self._writer = ArchiveWriter(archive._connection, self._differences.append)

    def begin(self, source: Source) -> int:
        """Return the number of the import from a source, and record its beginning."""
        if source.name not in self._numbers:
            number = None if source.name is None else add_source(self._archive, source.name, source.prefix)
            sql = "INSERT INTO imports (reader, paths, started_at, source_number) VALUES (?, ?, ?, ?)"
            values = (self._reader, self._paths, now(), number)
            self._numbers[source.name] = execute(self._archive, sql, *values).lastrowid or 0
        return self._numbers[source.name]

    def write(self, batch: Sequence[BatchRecord]) -> Sequence[Difference]:
        """Commit a batch; return its effect on each table."""
        self._differences.clear()
        for record in batch:
            self._writer.put(*record)
        self._writer.flush()
        return tuple(self._differences)

    def finish(self, rejected: int, notes: Mapping[str, int], *, finished: bool) -> None:
        """Record the end of all imports begun: finished, or interrupted by an error."""
        sql = "UPDATE imports SET finished_at = ?, rejected_count = ?, notes = ? WHERE number = ?"
        text = json.dumps(dict(notes), ensure_ascii=False)
        for number in self._numbers.values():
            execute(self._archive, sql, now() if finished else None, rejected, text, number)

    def count_questions(self) -> int:
        """Return the number of questions of the archive from these imports."""
        sql = "SELECT COUNT(*) FROM questions WHERE import_number = ?"
        return sum(fetch_int(self._archive, sql, number) for number in self._numbers.values())


class PlanSink:
    """Compares batches with the archive without writing. The keys of earlier batches are kept on disk."""

    def __init__(self, archive: Archive) -> None:
        self._connection = archive._connection
        self._first_records = FirstTextStore()
        self._count = 0
        self._numbers: dict[Source, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._first_records.__exit__()

    def begin(self, source: Source) -> int:
        """Return a number that no import has."""
        return self._numbers.setdefault(source, -1 - len(self._numbers))

    def write(self, batch: Sequence[BatchRecord]) -> Sequence[Difference]:
        """Return the effect that a batch would have on each table."""
        repeated: list[tuple[RecordTable, BatchRecord]] = []
        new_keys = []
        for batch_record in batch:
            table = TABLES[type(batch_record.record)]
            key = "\n".join((table.name, *table.key_of(batch_record.record)))
            self._count += 1
            if self._first_records.get_or_add(key, str(self._count)) == str(self._count):
                new_keys.append(batch_record)
            elif table.is_document:
                repeated.append((table, batch_record))
        differences = {difference.table.name: difference for difference in compare_batch(self._connection, new_keys)}
        for table, batch_record in repeated:
            differences.setdefault(table.name, Difference(table)).repeated.append(batch_record)
        new = (r.record for difference in differences.values() for r in difference.new)
        for question in (record for record in new if isinstance(record, Question)):
            self._first_records.get_or_add(hash_texts(question.title, question.body), "")  # texts take much room
        return list(differences.values())

    def adds_text(self, title: str, body: str) -> bool:
        """Return whether the batches add a question with this text."""
        return hash_texts(title, body) in self._first_records


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """The files of an import, and its options.

    open_records: opens the files on each call; returns the reader's information about them, and their records.
    source_name: None for the reader's name. prune: whether to remove records that the source no longer has.
    confirmed: whether the import may change any number of records. continues: whether it continues an import of
    several sources, whose rejected rows are kept.
    """

    reader: str
    paths: Sequence[Path]
    open_records: Callable[[], tuple[RecordSource, Iterator[LocatedRecord]]]
    language: str | None = None
    strict: bool = False
    source_name: str | None = None
    prune: bool = False
    confirmed: bool = False
    continues: bool = False


class OpenedFiles:
    """The files of an import after the first record is read, when the reader's information about the whole is known."""

    def __init__(self, request: ImportRequest) -> None:
        self.request = request
        given_name = check_source_name(request.source_name) if request.source_name is not None else None
        self.source, records = request.open_records()
        first = next(records, None)
        self.records: Iterable[LocatedRecord] = chain([first], records) if first else ()
        self.paths_text = ", ".join(map(str, request.paths))
        resolved = ", ".join(str(path.resolve()) for path in request.paths)
        path_name = source_name(request.reader, resolved)
        self.name = given_name or str(self.source.facts.get("name") or path_name)
        self.is_named_by_path = not given_name and self.name == path_name and not self.source.is_follow_up
        """Whether the files may belong to another source whose files have the same name."""
        self._prefixes = self.source.source_prefixes if given_name is None else None
        """Source → prefix if records have individual sources, as in an exported archive; else None."""

    def main_source(self, database: Database) -> Source:
        """Return the source of records without their own: in an exported archive, the archive itself."""
        if self._prefixes is None:
            return plan_source(database, self.name)
        return Source(None, None, id_prefix(self.name))

    def plan_sources(self, database: Database) -> Sequence[Source]:
        """Return all sources that may have records in the files."""
        named = [plan_source(database, name, prefix) for name, prefix in (self._prefixes or {}).items()]
        return [self.main_source(database), *named]

    def source_at(self, database: Database, place: Place) -> Source:
        """Return the source of a record read at a place."""
        if self._prefixes is None or place.source is None:
            return self.main_source(database)
        return plan_source(database, place.source, self._prefixes.get(place.source))


class ImportPass:
    """Processes the records of an import in batches: assigns their ids in the archive, and counts their effects."""

    def __init__(
        self, database: Database, files: OpenedFiles, sink: ArchiveSink | PlanSink, rejects: RejectLog
    ) -> None:
        self.files, self.rejects = files, rejects
        self.counts: dict[Source, ImportCounts] = {}
        self.question_count = 0
        self._database, self._sink = database, sink
        self._sources: dict[str | None, Source] = {}
        self._ids: dict[Source, SourceIds] = {}

    def run(self, records: Iterable[LocatedRecord]) -> None:
        """Process all records. After an InputError of the reader, the records before it are processed, then it is
        raised."""
        for batch in chunks_before_error(self._select(records), BATCH_SIZE):
            self._take(batch)

    def _select(self, records: Iterable[LocatedRecord]) -> Iterator[tuple[StoredRecord, Place]]:
        """Yield the records to store. Raises InputError at the first rejected one of a strict import."""
        for record, place in records:
            if isinstance(record, RejectedRow):
                self.rejects.add(record)
            elif self._is_left_out(record):
                self.files.source.notes["links of a question to itself left out"] += 1
            elif problem := number_problem(record):
                self._reject(record, place, problem)
            else:
                self.question_count += isinstance(record, Question | EvaluationQuery)
                yield record, place
            self._stop_if_strict()

    def _is_left_out(self, record: StoredRecord) -> bool:
        """Return whether to skip a link of a question to itself; an exported archive is read back unchanged."""
        is_export = self.files.source.source_prefixes is not None
        return isinstance(record, Link) and record.source == record.target and not is_export

    def _take(self, batch: Sequence[tuple[StoredRecord, Place]]) -> None:
        resolved = self._resolve(batch)
        places = {id(r.record): located for r, located in zip(resolved, batch, strict=True)}
        rejected_places: set[Place] = set()
        for difference in self._sink.write(resolved):
            for source, counts in self.counts.items():
                counts.add(difference, self._sink.begin(source))
            self._note_corrections(difference)
            for repeated in difference.repeated:
                record, place = places[id(repeated.record)]
                self._reject_repeat(record, place, rejected_places)
        self._stop_if_strict()

    def _resolve(self, batch: Sequence[tuple[StoredRecord, Place]]) -> list[BatchRecord]:
        """Return the batch with the ids and imports of its records, in order."""
        positions: dict[Source, list[int]] = {}
        for n, (_, place) in enumerate(batch):
            positions.setdefault(self._begin_source(place), []).append(n)
        resolved: dict[int, BatchRecord] = {}
        for source, places in positions.items():
            number = self._sink.begin(source)
            records = self._ids[source].resolve([batch[n][0] for n in places])
            resolved |= {n: BatchRecord(record, number) for n, record in zip(places, records, strict=True)}
        return [resolved[n] for n in range(len(batch))]

    def _begin_source(self, place: Place) -> Source:
        """Return the source of a record read at a place; its import begins with its first record."""
        if place.source not in self._sources:
            number = self._sink.begin(self.files.source_at(self._database, place))
            source = self.files.source_at(self._database, place)  # as added, which may differ from the plan
            self._sources[place.source] = source
            self.counts[source] = ImportCounts(import_numbers(self._database, source) - {number})
            self._ids[source] = SourceIds(self._database, source)
        return self._sources[place.source]

    def _note_corrections(self, difference: Difference) -> None:
        kind, notes = difference.table.name, self.files.source.notes
        if kept := difference.kept_corrections:
            notes[f"{kind} that keep what was corrected here, as the source says what it said then"] += kept
        if lost := difference.lost_corrections:
            notes[f"{kind} that lose what was corrected here to the source's new text (their history has it)"] += lost

    def _reject_repeat(self, record: StoredRecord, place: Place, rejected_places: set[Place]) -> None:
        kind = type(record).__name__.lower()
        if not place.ids_are_given:
            self.files.source.notes[f"{kind}s that repeat an earlier one merged with it"] += 1
        elif place not in rejected_places:
            rejected_places.add(place)
            self._reject(record, place, f"{kind} id {getattr(record, 'id', '')!r} occurs twice; the first one was kept")

    def _reject(self, record: StoredRecord, place: Place, reason: str) -> None:
        row = {name: value for name, value in asdict(record).items() if value not in (None, ())}
        self.rejects.add(RejectedRow(place.path, place.line, reason, row))

    def _stop_if_strict(self) -> None:
        if self.files.request.strict:
            self.rejects.require_none()
