"""Readers, one file per format: settings with a method `read` that streams an archive's records from files."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from askalike.core.config import validate_settings
from askalike.core.errors import InputError, SettingsError
from askalike.core.records import LocatedRecord, Place, Question, RejectedRow
from askalike.core.registry import load
from askalike.core.values import parse_encoding, parse_language
from askalike.readers._json import Row, read_json_lines
from askalike.readers._source import (
    ReadProgressCallback,
    SourceFiles as SourceFiles,
    find_files as find_files,
    parse_rows as parse_rows,
    reject as reject,
)
from askalike.readers._threads import (
    Message as Message,
    ThreadReader,
    begin_conversation as begin_conversation,
    read_question as read_question,
)
from askalike.readers._values import parse_optional_utc as parse_optional_utc, to_text as to_text, unescape as unescape
from askalike.readers._xml import Element as Element, read_elements as read_elements
from askalike.store import ArchiveSummary
from askalike.store.drafts import import_drafts
from askalike.store.import_pass import ImportRequest, sum_changes
from askalike.store.importing import import_records, open_for_import, open_for_plan, plan_import


class Reader(Protocol):
    """Reads one format. Its fields are the user's settings."""

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield the records in these files or folders, each with its place; open files with `source`.

        A reader of sites may also have `group_paths`, which returns lists of paths that are imports of their own.
        A row that is not a record is yielded as a RejectedRow. Raises InputError if the rest of a file cannot be read.
        """


def import_archive(
    reader: str,
    paths: str | Path | Sequence[str | Path],
    directory: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    language: str | None = None,
    strict: bool = False,
    encoding: str | None = None,
    source: str | None = None,
    prune: bool = False,
    dry_run: bool = False,
    yes: bool = False,
    progress: ReadProgressCallback = lambda done, total: None,
) -> ArchiveSummary:
    """Import files into the archive in `directory`, which is created if missing; return a summary of the archive.

    reader: its name, as on the command line. paths: one or more files or folders. options: the reader's settings.
    encoding: that of text files, e.g. cp1252; None for UTF-8. progress: called with the bytes read and expected.
    source: the name of the files' origin; by default that of the site or of the file. Records of one source are
    updated by their ids; ids that another source also has are prefixed with the source's name. prune: remove records
    that the source no longer has. dry_run: write nothing, and return the changes that would be made. yes: continue if
    more than a tenth of the records from earlier imports of the source would get another text, or be removed.
    Chat messages become drafts instead of questions.
    Rows that cannot be imported are listed in the archive's `rejected.jsonl`.
    Raises InputError, SettingsError or ArchiveError.
    """
    try:
        language = parse_language(language) if language is not None else None
        decoding = parse_encoding(encoding) if encoding else None
    except ValueError as error:
        raise SettingsError(str(error)) from None
    files = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not files:
        raise InputError("no paths; expected files or folders to import")
    chosen = validate_settings(load("reader", reader), options or {}, f"reader {reader}")
    is_follow_up = getattr(chosen, "since", None) is not None
    if is_follow_up and prune:
        raise SettingsError("--since and --prune: unchanged records would be removed; use one of them")
    open_files = partial(SourceFiles, progress, strict=strict, encoding=decoding, is_follow_up=is_follow_up)

    def open_records(group: Sequence[Path]) -> tuple[SourceFiles, Iterator[LocatedRecord]]:
        opened = open_files()
        return opened, iter(chosen.read(group, opened))

    opened_for = open_for_plan if dry_run else open_for_import
    if isinstance(chosen, ThreadReader):
        if prune:
            raise SettingsError("--prune: drafts are not removed; reject them one by one")
        opened = open_files()
        threads = chosen.read(files, opened)
        with opened_for(Path(directory)) as archive:
            return import_drafts(
                archive, reader, files, opened, threads, source_name=source, strict=strict, dry_run=dry_run
            )
    groups = chosen.group_paths(files) if hasattr(chosen, "group_paths") else [files]
    if source is not None and len(groups) > 1:
        raise SettingsError(f"--source {source}: these are {len(groups)} sites; import each by a command of its own")
    with opened_for(Path(directory)) as archive:
        summaries = []
        for n, group in enumerate(groups):
            opening = partial(open_records, group)
            request = ImportRequest(reader, group, opening, language, strict, source, prune, yes, n > 0)
            summaries.append(plan_import(archive, request) if dry_run else import_records(archive, request))
    return _sum_summaries(summaries)


def _sum_summaries(summaries: Sequence[ArchiveSummary]) -> ArchiveSummary:
    return replace(
        summaries[-1],
        rejected=sum(summary.rejected for summary in summaries),
        notes=dict(sum((Counter(summary.notes) for summary in summaries), Counter())),
        source=", ".join(str(summary.source) for summary in summaries),
        changes=sum_changes(summary.changes for summary in summaries),
    )


def read_queries(path: Path) -> dict[str, Question]:
    """Return query id → query, in the file's order. Raises InputError with the invalid line."""
    queries: dict[str, Question] = {}
    for place, row in _read_objects(path):
        id = row.get("id", row.get("_id"))
        title = row.get("title") or row.get("text") or row.get("question")
        if not isinstance(id, str | int) or not isinstance(title, str):
            raise InputError(f'{place}: expected an object with "id" and "title" (or "_id" and "text")')
        if str(id) in queries:
            raise InputError(f"{place}: query id {id!r} appeared before; ids must differ")
        body = row.get("body") or (row.get("text") if row.get("title") else "") or ""
        queries[str(id)] = Question(str(id), title, str(body), language=row.get("language"))
    if not queries:
        raise InputError(f"{path}: holds no queries; expected one JSON object per line")
    return queries


def read_candidates(path: Path) -> dict[str, Sequence[str]]:
    """Return query id → ids of the documents to rank for it, in the file's order. Raises InputError."""
    candidates: dict[str, Sequence[str]] = {}
    for place, row in _read_objects(path):
        id, documents = row.get("_id", row.get("id")), row.get("candidates")
        if not isinstance(id, str | int) or not isinstance(documents, list):
            raise InputError(f'{place}: expected an object with "_id" and a list "candidates"')
        candidates[str(id)] = [str(d) for d in documents]
    return candidates


def _read_objects(path: Path) -> Iterator[tuple[Place, Row]]:
    for place, row in read_json_lines(SourceFiles(), path):
        if isinstance(row, RejectedRow):
            raise InputError(f"{place}: {row.reason}; expected one JSON object per line")
        yield place, row
