"""Gives everything in an archive back as files that other tools read, written whole or not at all."""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from askalike.errors import ArchiveError, SettingsError
from askalike.export.beir import write_beir
from askalike.export.csv_tables import write_csv, write_spreadsheets
from askalike.store.archive import Archive
from askalike.store.database import read_transaction, storage_errors
from askalike.store.tracking import ProgressTracker, skip_tracking

MANIFEST_FILE = "export.json"

EXPORT_FORMATS: Mapping[str, Callable[[Archive, Path, ProgressTracker], Mapping[str, int]]] = {
    "beir": write_beir,
    "csv": write_csv,
    "spreadsheet": write_spreadsheets,
}
"""Each writes its files into a folder that is there and returns how many rows each file has."""


def export_archive(
    archive: Archive, format: str, out: str | Path, *, force: bool = False, track: ProgressTracker = skip_tracking
) -> Mapping[str, int]:
    """Writes the archive as it is at this moment into the new folder `out`; returns the rows of each file.

    With `force` an earlier export there is replaced. Raises SettingsError for an unknown format, ArchiveError where
    `out` is taken or cannot be written; then nothing is left behind.
    """
    out = Path(out)
    if format not in EXPORT_FORMATS:
        raise SettingsError(f"no export format is called {format!r}; there are: {', '.join(EXPORT_FORMATS)}")
    _refuse_to_overwrite(out, force)
    with storage_errors(archive.path), _replace_folder_atomically(out) as folder, read_transaction(archive):
        rows = EXPORT_FORMATS[format](archive, folder, track)
        manifest = {"format": format, "archive": dict(archive.meta), "rows": dict(rows)}
        (folder / MANIFEST_FILE).write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return rows


def _refuse_to_overwrite(out: Path, force: bool) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / MANIFEST_FILE).is_file():
        raise ArchiveError(f"{out}: is there and is no earlier export (no {MANIFEST_FILE} in it); choose a new name")
    if not force:
        raise ArchiveError(f"{out}: an earlier export is there; replace it with --force, or choose a new name")


@contextmanager
def _replace_folder_atomically(out: Path) -> Iterator[Path]:
    """A folder beside `out` that takes its place when the block ends well, and is removed when it does not."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as scratch:
            new = Path(scratch) / "new"
            new.mkdir()
            yield new
            if out.exists():
                out.rename(Path(scratch) / "old")
            new.rename(out)
    except OSError as error:
        where = error.filename or out
        raise ArchiveError(f"{where}: cannot be written ({error.strerror}); nothing was exported") from None
