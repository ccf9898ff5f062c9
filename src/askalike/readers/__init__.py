"""One reader per file and format: each yields questions, answers, links and evaluation sets, a few at a time."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from askalike.config import validate_settings
from askalike.errors import InputError, SettingsError
from askalike.readers._source import ReadProgressCallback, SourceFiles
from askalike.registry import load
from askalike.store.importing import ArchiveSummary, import_records, open_for_import


def import_archive(
    reader: str,
    paths: Sequence[str | Path],
    directory: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    language: str | None = None,
    strict: bool = False,
    progress: ReadProgressCallback = lambda done, total: None,
) -> ArchiveSummary:
    """Imports files into the archive at `directory`, made if need be, and says what it holds now.

    reader: a registered name. options: that reader's settings. progress: called with the bytes read and expected.
    Raises InputError, SettingsError or ArchiveError; rows that cannot be taken are in `rejected.jsonl`.
    """
    if language and not re.fullmatch("[a-z]{2}", language):
        raise SettingsError(f"language {language!r}: expected a two-letter code such as en")
    if not paths:
        raise InputError("no path is given; expected the files or folders to import")
    chosen = validate_settings(load("reader", reader), options or {}, f"reader {reader}")
    files = [Path(path) for path in paths]
    source = SourceFiles(progress, strict=strict)
    with open_for_import(Path(directory)) as archive:
        records = chosen.read(files, source)
        return import_records(archive, reader, files, records, source, language=language, strict=strict)
