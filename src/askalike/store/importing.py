"""Imports the records of a reader into an archive.

Each import belongs to a source, and changes only records of that source. If the source was imported before, the files
are first read without writing: an import that would change too many of its records is stopped.

A `kill -9` at any moment leaves a valid archive: committed records remain, `imports.finished_at` remains NULL, and
repeating the import completes it.
"""

import fcntl
import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from askalike.core.errors import ArchiveError, InputError
from askalike.core.files import lock_folder, try_lock
from askalike.core.values import format_count
from askalike.store.archive import Archive, make_directory
from askalike.store.contents import ArchiveSummary, summarise_archive
from askalike.store.database import DATABASE_FILE, IN_JSON_SQL, change_transaction, fetch_int, storage_errors
from askalike.store.editing import delete_answers
from askalike.store.import_pass import (
    REJECTS_FILE,
    ArchiveSink,
    ImportCounts,
    ImportPass,
    ImportRequest,
    OpenedFiles,
    PlanSink,
    RejectLog,
    sum_changes,
)
from askalike.store.languages import LanguageAssigner
from askalike.store.records import TABLES
from askalike.store.sources import IMPORTS_OF_SOURCE_SQL, Source, count_records, has_records
from askalike.store.writer import BATCH_SIZE, ArchiveWriter

MAX_CHANGED_SHARE = 0.1
"""An import that changes a larger share of its source's earlier records must be confirmed."""
MAX_RENAMED_SHARE = 0.5
"""So must one that adds a larger share again, with other ids. Parts of a collection may have some in common."""


@contextmanager
def open_for_import(directory: Path) -> Iterator[Archive]:
    """Yield the archive in a directory, created if missing.

    After an error a new and empty archive is removed, unless another process uses it.
    """
    existing = set(directory.iterdir()) if directory.is_dir() else None
    make_directory(directory)
    with lock_folder(directory, fcntl.LOCK_SH) as lock:
        try:
            with Archive.create(directory) as archive:
                yield archive
        except BaseException:
            is_new = directory / DATABASE_FILE not in (existing or ())
            if is_new and try_lock(lock) and _is_unused(directory):  # no other import can begin until it is released
                _remove_created_files(directory, existing)
            raise


@contextmanager
def open_for_plan(directory: Path) -> Iterator[Archive]:
    """Yield the archive in a directory, or a temporary empty one if there is none; it must not be written to."""
    if (directory / DATABASE_FILE).is_file():
        with Archive.open(directory) as archive:
            yield archive
        return
    with TemporaryDirectory() as folder, Archive.create(folder) as archive:
        yield archive


def import_records(archive: Archive, request: ImportRequest) -> ArchiveSummary:
    """Write a reader's records into the archive, and rejected rows into `rejected.jsonl` in its directory.

    Raises InputError if the rest of a file cannot be read (the records before it are stored), if there is no question
    at all, and with `strict` at the first rejected row; ArchiveError if the archive cannot be written, or if an
    unconfirmed import would change too much.
    """
    files = OpenedFiles(request)
    if not request.confirmed and any(has_records(archive, source) for source in files.plan_sources(archive)):
        _refuse_large_changes(archive, _plan(archive, files))
        files = OpenedFiles(request)
    with RejectLog(archive.path / REJECTS_FILE, keep=request.continues) as rejects:
        return _write_all(archive, files, rejects)


def plan_import(archive: Archive, request: ImportRequest) -> ArchiveSummary:
    """Return a summary of the archive with the changes that an import would make; nothing is written.

    Raises InputError for unreadable input, and with `strict` at the first rejected row.
    """
    plan = _plan(archive, OpenedFiles(request))
    summary = summarise_archive(archive)
    for source, counts in plan.counts.items():
        missing = _count_unmatched(archive, source, counts)
        if counts.renamed:
            plan.files.source.notes["questions that are here already, with other ids (see --id)"] += counts.renamed
        if request.prune:
            for name, records in counts.by_table.items():
                records["removed"] = missing[name]
        else:
            _note_missing(plan.files, source, missing)
    return replace(
        summary,
        rejected=plan.rejects.count,
        notes=dict(plan.files.source.notes),
        source=plan.files.name,
        changes=sum_changes(counts.by_table for counts in plan.counts.values()),
    )


def _plan(archive: Archive, files: OpenedFiles) -> ImportPass:
    languages = LanguageAssigner(archive, files.source.facts, files.request.language, is_plan=True)
    with RejectLog(None) as rejects, PlanSink(archive) as sink, storage_errors(archive.path):
        plan = ImportPass(archive, files, sink, rejects)
        plan.run(languages.assign_languages(files.records))
        for source, counts in plan.counts.items():
            counts.renamed = _count_renamed(archive, sink, source, counts)
    return plan


def _count_renamed(archive: Archive, sink: PlanSink, source: Source, counts: ImportCounts) -> int:
    """Return how many questions of a source a plan has again with other ids only; 0 unless they may be over half."""
    total = count_records(archive, source, "questions")
    missing = _count_unmatched(archive, source, counts)["questions"]
    if min(missing, counts.by_table["questions"]["added"]) <= MAX_RENAMED_SHARE * total:
        return 0
    sql = f"SELECT title, body FROM questions WHERE import_number IN {IMPORTS_OF_SOURCE_SQL}"
    texts = archive._connection.execute(sql, (source.number,))
    return min(missing, sum(sink.adds_text(*text) for text in texts))


def _count_unmatched(archive: Archive, source: Source, counts: ImportCounts) -> dict[str, int]:
    """Return, by table, how many records of a source a plan does not have again."""
    return {name: count_records(archive, source, name) - matched for name, matched in counts.matched.items()}


def _refuse_large_changes(archive: Archive, plan: ImportPass) -> None:
    """Raise ArchiveError for a plan that changes more than a tenth of a source's earlier records, or adds half again.

    Files identified only by their name may have other content: for these it is a tenth of the records that recur.
    Nor may a plan with rejected rows remove anything, as these may hold it.
    """
    prune = plan.files.request.prune
    advice = "nothing was written; see it with --dry-run, confirm with --yes, or name another source with --source"
    for source, counts in plan.counts.items():
        missing = _count_unmatched(archive, source, counts) if prune else {}
        if plan.rejects.count and any(missing.values()):
            rows = format_count(plan.rejects.count, "row")
            raise ArchiveError(
                f"{archive.path}: {rows} cannot be taken, and --prune would remove what they held; {advice}"
            )
        questions = count_records(archive, source, "questions")
        if counts.renamed > MAX_RENAMED_SHARE * questions and not prune:
            raise ArchiveError(
                f"{archive.path}: the import would add {counts.renamed:,} of the {questions:,} questions of "
                f"{source.name!r} again, with other ids; nothing was written; take the ids from where they came before "
                "(see --id), replace the old ones with --prune --yes, or keep both with --yes"
            )
        total = sum(count_records(archive, source, name) for name in ("questions", "answers"))
        matched = counts.matched["questions"] + counts.matched["answers"]
        removed = total - matched if prune else 0
        compared, which = (matched, " that it has again") if plan.files.is_named_by_path else (total, "")
        if counts.text_changes + removed > MAX_CHANGED_SHARE * compared:
            documents = f"{counts.text_changes:,} of the {compared:,} questions and answers of {source.name!r}{which}"
            removal = f" and remove {removed:,}" if removed else ""
            problem = f"would change the text of {documents}{removal}"
            raise ArchiveError(f"{archive.path}: the import {problem}, which is more than a tenth; {advice}")


def _write_all(archive: Archive, files: OpenedFiles, rejects: RejectLog) -> ArchiveSummary:
    """Write records, removals, metadata and rows in `imports`; after an input error, all records before the error."""
    request = files.request
    sink = ArchiveSink(archive, request.reader, files.paths_text)
    importing = ImportPass(archive, files, sink, rejects)
    languages = LanguageAssigner(archive, files.source.facts, request.language)

    def finish(finished: bool) -> None:
        languages.store_languages()
        sink.finish(rejects.count, files.source.notes, finished=finished)

    sink.begin(files.main_source(archive))
    try:
        with storage_errors(archive.path):
            importing.run(languages.assign_languages(files.records))
    except InputError as error:
        finish(False)
        written = sink.count_questions()
        kept = f"; kept the {format_count(written, 'question')} before it" if written else ""
        raise InputError(f"{error}{kept}") from None
    has_read = importing.question_count or files.source.is_follow_up  # a follow-up may have no changes
    if not (has_read and fetch_int(archive, "SELECT EXISTS (SELECT 1 FROM questions)")):
        finish(False)
        reason = f"is it what the reader {request.reader} expects?"
        if first := rejects.first:
            reason = f"no row was taken ({rejects.count:,} rejected), line {first.line}: {first.reason}"
        raise InputError(f"{files.paths_text}: no question in it; {reason}")
    for source, counts in importing.counts.items():
        if request.prune:
            prune_source(archive, counts)
        else:
            _note_missing(files, source, {name: count_missing(archive, counts, name) for name in counts.by_table})
    _store_facts(archive, files)
    finish(True)
    changes = sum_changes(counts.by_table for counts in importing.counts.values())
    return replace(summarise_archive(archive), source=files.name, changes=changes)


def _note_missing(files: OpenedFiles, source: Source, missing: Mapping[str, int]) -> None:
    """Note the questions and answers of a source that its files do not have again. missing: records by table."""
    if files.source.is_follow_up:
        return
    for table in ("questions", "answers"):
        if missing[table]:
            absent = f"{table} that {source.name or files.name} brought earlier and that are not in these files"
            files.source.notes[f"{absent} (if they are all of it, --prune removes them)"] = missing[table]


def _store_facts(archive: Archive, files: OpenedFiles) -> None:
    """Store the reader's metadata, without replacing the archive's."""
    facts = {name: value for name, value in files.source.facts.items() if value and name != "language"}
    facts |= {"reader": files.request.reader, "source": files.paths_text}
    existing = archive.meta
    archive.set_meta(**{name: value for name, value in facts.items() if name not in existing})


def _is_unused(directory: Path) -> bool:
    """Return whether an archive is empty and no other process has it open. Needs no disk space."""
    try:
        with closing(sqlite3.connect(directory / DATABASE_FILE, timeout=0, isolation_level=None)) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            tables = connection.execute("SELECT name FROM sqlite_master WHERE name IN ('questions', 'drafts')")
            return not any(connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for (name,) in tables)
    except sqlite3.DatabaseError:
        return False


def _remove_created_files(directory: Path, existing: Collection[Path] | None) -> None:
    """Remove the files of an import. existing: files from before it, None for a new directory."""
    for name in (DATABASE_FILE, f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm", REJECTS_FILE):
        if directory / name not in (existing or ()):
            (directory / name).unlink(missing_ok=True)
    if existing is None:
        directory.rmdir()


EARLIER_SQL = f"import_number {IN_JSON_SQL}"
"""SQL condition: the row was last imported by an earlier import, and so is not in the current one."""


def count_missing(archive: Archive, counts: ImportCounts, table: str) -> int:
    """Return the number of rows of a table from earlier imports of a source that are not in this one."""
    return fetch_int(archive, f"SELECT COUNT(*) FROM {table} WHERE {EARLIER_SQL}", _earlier(counts))


def prune_source(archive: Archive, counts: ImportCounts) -> None:
    """Remove records from earlier imports of a source that are not in this one, and no others.

    What else refers to a removed question stays, as after an import of the same files into a new archive.
    """
    before = {name: count_missing(archive, counts, name) for name in counts.by_table}
    for ids in _missing_ids(archive, counts, "questions"):
        with storage_errors(archive.path):
            ArchiveWriter(archive._connection).delete(ids, alone=True)
    for ids in _missing_ids(archive, counts, "answers"):
        delete_answers(archive, ids)
    with storage_errors(archive.path), change_transaction(archive._connection):
        for table in TABLES.values():
            if not table.is_document:
                archive._connection.execute(f"DELETE FROM {table.name} WHERE {EARLIER_SQL}", (_earlier(counts),))
    for name, records in counts.by_table.items():
        records["removed"] = before[name]


def _missing_ids(archive: Archive, counts: ImportCounts, table: str) -> Iterator[list[str]]:
    """Yield ids of rows to remove, until there are none."""
    sql = f"SELECT id FROM {table} WHERE {EARLIER_SQL} LIMIT {BATCH_SIZE}"
    while ids := [id for (id,) in archive._connection.execute(sql, (_earlier(counts),))]:
        yield ids


def _earlier(counts: ImportCounts) -> str:
    return json.dumps(sorted(counts.earlier_imports))
