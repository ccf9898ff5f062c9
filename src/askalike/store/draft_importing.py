"""Imports chat conversations as drafts, which are hidden until a moderator accepts them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from askalike.core.counts import format_count
from askalike.core.errors import InputError
from askalike.core.types import RejectedRow
from askalike.store.archive import Archive
from askalike.store.database import read_transaction, write_transaction
from askalike.store.drafts import LocatedThread, ThreadDraft, put_thread
from askalike.store.import_counts import VERBS
from askalike.store.import_pass import RecordSource
from askalike.store.import_sinks import ArchiveSink
from askalike.store.rejects import REJECTS_FILE, RejectLog
from askalike.store.sources import check_source_name, plan_source
from askalike.store.statistics import ArchiveSummary, summarise_archive

BATCH_SIZE = 500


@dataclass(frozen=True, slots=True)
class DraftImport:
    """The conversations to import. source: the reader's file information. source_name: None for the reader's."""

    reader: str
    paths: Sequence[Path]
    source: RecordSource
    threads: Iterator[LocatedThread]
    source_name: str | None = None
    strict: bool = False


def import_drafts(archive: Archive, request: DraftImport, *, dry_run: bool = False) -> ArchiveSummary:
    """Store a draft for each conversation; return a summary of the archive, with the drafts among `changes`.

    A conversation that was imported before is updated, unless its draft has been decided on.
    dry_run: write nothing. Raises InputError if the rest of a file cannot be read (the drafts before it are stored).
    """
    first = list(islice(request.threads, 1))  # the reader knows the source's name after the first record
    name = request.source_name or str(request.source.facts.get("name") or request.reader)
    request = replace(request, threads=chain(first, request.threads))
    with RejectLog(None if dry_run else archive.path / REJECTS_FILE) as rejects:
        return _DraftPass(archive, request, check_source_name(name), rejects, is_dry_run=dry_run).run()


class _DraftPass:
    """Writes conversations in batches, each in one transaction, which a dry run rolls back."""

    def __init__(
        self, archive: Archive, request: DraftImport, name: str, rejects: RejectLog, *, is_dry_run: bool
    ) -> None:
        self._archive, self._request, self._rejects, self._is_dry_run = archive, request, rejects, is_dry_run
        self._source = plan_source(archive, name)
        self._sink = ArchiveSink(archive, request.reader, ", ".join(map(str, request.paths)))
        self._counts = dict.fromkeys(VERBS, 0)

    def run(self) -> ArchiveSummary:
        """Write everything; after an input error, everything before the error is written."""
        if not self._is_dry_run:
            self._sink.begin(self._source)
        try:
            self._write_all()
        except InputError as error:
            self._finish(finished=False)
            written = self._counts["added"] + self._counts["updated"]
            kept = f"; kept the {format_count(written, 'draft')} before it" if written else ""
            raise InputError(f"{error}{kept}") from None
        self._finish(finished=True)
        notes = dict(self._request.source.notes)
        summary = replace(summarise_archive(self._archive), rejected=self._rejects.count, notes=notes)
        return replace(summary, source=self._source.name, changes={"drafts": self._counts})

    def _write_all(self) -> None:
        batch: list[ThreadDraft] = []
        try:
            for record, _ in self._request.threads:
                if isinstance(record, ThreadDraft):
                    batch.append(record)
                else:
                    self._reject(record)
                if len(batch) == BATCH_SIZE:
                    full, batch = batch, []
                    self._write(full)
        finally:
            self._write(batch)

    def _write(self, batch: Sequence[ThreadDraft]) -> None:
        transaction = read_transaction if self._is_dry_run else write_transaction
        with transaction(self._archive):
            for thread in batch:
                self._counts[put_thread(self._archive, f"{self._source.name}/{thread.id}", thread)] += 1

    def _reject(self, row: RejectedRow) -> None:
        self._rejects.add(row)
        if self._request.strict:
            raise InputError(f"{row.path}, line {row.line}: {row.reason}; --strict stops at the first such row")

    def _finish(self, finished: bool) -> None:
        if not self._is_dry_run:
            self._sink.finish(self._rejects.count, self._request.source.notes, finished=finished)
