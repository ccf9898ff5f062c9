"""Exports everything in an archive to files for other tools, completely or not at all."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.files import folder_errors, replace_folder
from askalike.core.iteration import ProgressTracker, skip_tracking
from askalike.export.beir import write_beir, write_retrieval
from askalike.export.csv_tables import write_csv, write_spreadsheets
from askalike.store import Archive, storage_errors
from askalike.store.database import read_transaction
from askalike.store.sources import source_prefixes

MANIFEST_FILE = "export.json"

Writer = Callable[[Archive, Path, ProgressTracker], Mapping[str, int]]
"""Writes files into an existing folder and returns the number of rows of each."""
EXPORT_FORMATS: Mapping[str, Writer] = {
    "beir": write_beir,
    "csv": write_csv,
    "spreadsheet": write_spreadsheets,
    "retrieval": write_retrieval,
}
"""Format → its writer. Components above this one have more, see `export_archive`."""


def export_archive(
    archive: Archive,
    format: str,
    out: str | Path,
    *,
    force: bool = False,
    html: bool = False,
    track: ProgressTracker = skip_tracking,
    formats: Mapping[str, Writer] | None = None,
) -> Mapping[str, int]:
    """Write the current state of the archive into the new folder `out`; return the number of rows of each file.

    force: replace an earlier export. html: keep the markup of texts in the format `retrieval`; the others always keep
    it. formats: instead of EXPORT_FORMATS. Raises SettingsError for an unknown format, ArchiveError if `out` exists or
    cannot be written; nothing is left behind then.
    """
    out, formats = Path(out), formats or EXPORT_FORMATS
    if format not in formats:
        raise SettingsError(f"no export format is called {format!r}; there are: {', '.join(formats)}")
    if html and format != "retrieval":
        raise SettingsError(f"--html is for --format retrieval; {format} keeps all texts as they were imported")
    write = partial(write_retrieval, html=True) if html else formats[format]
    _refuse_to_overwrite(out, force)
    errors = folder_errors(out, "nothing was exported")
    with storage_errors(archive.path), errors, replace_folder(out) as folder, read_transaction(archive):
        rows = write(archive, folder, track)
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
