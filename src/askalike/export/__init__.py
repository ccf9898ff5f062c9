"""Exports an archive to files for other tools, completely or not at all; formats, one per file, write them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from askalike.core import registry
from askalike.core.config import validate_settings
from askalike.core.errors import ArchiveError
from askalike.core.files import folder_errors, replace_folder
from askalike.core.iteration import LogCallback, ProgressTracker, skip_tracking
from askalike.export._tables import (
    REPHRASINGS_COLUMN as REPHRASINGS_COLUMN,
    TITLE_COLUMN as TITLE_COLUMN,
    join_answers_cell as join_answers_cell,
    join_cell as join_cell,
    parse_cell as parse_cell,
    write_table as write_table,
)
from askalike.store import Archive, storage_errors, takes_archive
from askalike.store.database import read_transaction
from askalike.store.sources import source_prefixes

MANIFEST_FILE = "export.json"


class ExportFormat(Protocol):
    """Writes one format. Its fields are the user's settings."""

    def write(self, archive: Archive, folder: Path, track: ProgressTracker, log: LogCallback) -> Mapping[str, int]:
        """Write files into an existing, empty folder; return the number of rows of each, by its name there.

        archive: does not change meanwhile. track: shows the progress of passes. log: takes a line on what the format
        cannot hold of this archive. Raises SettingsError or ArchiveError; the folder is removed then.
        """


def format_names() -> tuple[str, ...]:
    """Return the names of all formats as users type them, sorted."""
    return tuple(name.replace("_", "-") for name in registry.names("export"))


@takes_archive
def export_archive(
    archive: Archive,
    format: str,
    out: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    force: bool = False,
    track: ProgressTracker = skip_tracking,
    log: LogCallback = lambda line: None,
) -> Mapping[str, int]:
    """Write the current state of the archive into the new folder `out`; return the number of rows of each file.

    archive: or its directory. format: beir, csv, spreadsheet, retrieval, or another package's. options: the format's
    settings, such as `{"html": True}` for `retrieval`, which keeps the markup of texts. force: replace an earlier
    export. log: takes a line on what the format cannot hold of this archive. Raises SettingsError for an unknown format
    or setting, ArchiveError if `out` exists or cannot be written; nothing is left behind then.
    """
    out = Path(out)
    name = format.replace("-", "_")
    writer: ExportFormat = validate_settings(registry.load("export", name), options or {}, f"export {format}")
    _refuse_to_overwrite(out, force)
    errors = folder_errors(out, "nothing was exported")
    with storage_errors(archive.path), errors, replace_folder(out) as folder, read_transaction(archive):
        rows = writer.write(archive, folder, track, log)
        manifest = {
            "format": format, "archive": dict(archive.meta), "sources": source_prefixes(archive), "rows": dict(rows)
        }  # fmt: skip
        (folder / MANIFEST_FILE).write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return rows


def _refuse_to_overwrite(out: Path, force: bool) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / MANIFEST_FILE).is_file():
        raise ArchiveError(f"{out}: exists and is not an earlier export (no {MANIFEST_FILE} in it); choose a new name")
    if not force:
        raise ArchiveError(f"{out}: an earlier export exists; replace it with --force, or choose a new name")
