"""One pass over the records of an import, in batches: their sources, their ids in the archive, and their effects."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from askalike.core.errors import InputError
from askalike.core.types import EvaluationQuery, Link, LocatedRecord, Place, Question, RejectedRow
from askalike.store.comparison import BatchRecord, Difference
from askalike.store.database import Database
from askalike.store.import_report import ImportCounts, RejectLog
from askalike.store.records import StoredRecord, check_numbers
from askalike.store.sources import Source, SourceIds, id_prefix, import_numbers, plan_source, source_name
from askalike.store.writer import BATCH_SIZE


class RecordSource(Protocol):
    """Information about the files of a reader, as in `askalike.readers.SourceFiles`."""

    notes: Counter[str]
    facts: dict[str, Any]
    is_follow_up: bool
    source_prefixes: Mapping[str, str] | None


class ImportSink(Protocol):
    """The destination of an import's batches."""

    def begin(self, source: Source) -> int:
        """Return the number of the import from a source; repeated calls return the same number."""

    def write(self, batch: Sequence[BatchRecord]) -> Sequence[Difference]:
        """Take a batch; return its effect on each table."""


class OpenedFiles:
    """The files of an import after the first record is read, when the reader's information about the whole is known."""

    def __init__(
        self,
        reader: str,
        paths: Sequence[Path],
        source: RecordSource,
        records: Iterator[LocatedRecord],
        *,
        given_name: str | None,
    ) -> None:
        first = next(records, None)
        self.source = source
        self.records: Iterable[LocatedRecord] = chain([first], records) if first else ()
        self.paths_text = ", ".join(map(str, paths))
        resolved = ", ".join(str(path.resolve()) for path in paths)
        path_name = source_name(reader, resolved)
        self.name = given_name or str(source.facts.get("name") or path_name)
        self.is_named_by_path = not given_name and self.name == path_name and not source.is_follow_up
        """Whether the files may belong to another source whose files have the same name."""
        self._prefixes = source.source_prefixes if given_name is None else None
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
        self, database: Database, files: OpenedFiles, sink: ImportSink, rejects: RejectLog, *, strict: bool
    ) -> None:
        self.files, self.rejects = files, rejects
        self.counts: dict[Source, ImportCounts] = {}
        self.question_count = 0
        self._database, self._sink, self._strict = database, sink, strict
        self._sources: dict[str | None, Source] = {}
        self._ids: dict[Source, SourceIds] = {}

    def run(self, records: Iterable[LocatedRecord]) -> None:
        """Process all records. After an InputError of the reader, the records before it are processed, then it is
        raised."""
        batch: list[tuple[StoredRecord, Place]] = []
        try:
            for record, place in records:
                if isinstance(record, RejectedRow):
                    self.rejects.add(record)
                    self._stop_if_strict()
                    continue
                if self._is_left_out(record):
                    self.files.source.notes["links of a question to itself left out"] += 1
                    continue
                try:
                    check_numbers(record)
                except ValueError as error:
                    self._reject(record, place, str(error))
                    self._stop_if_strict()
                    continue
                self.question_count += isinstance(record, Question | EvaluationQuery)
                batch.append((record, place))
                if len(batch) == BATCH_SIZE:
                    full, batch = batch, []
                    self._take(full)
        except InputError:
            self._take(batch)
            raise
        self._take(batch)

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
        """Add notes to the import's summary on manually corrected texts."""
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
        row = json.dumps({k: v for k, v in asdict(record).items() if v not in (None, ())}, ensure_ascii=False)
        self.rejects.add(RejectedRow(place.path, place.line, reason, row))

    def _stop_if_strict(self) -> None:
        if self._strict and (first := self.rejects.first):
            raise InputError(f"{first.path}, line {first.line}: {first.reason}; --strict stops at the first such row")
