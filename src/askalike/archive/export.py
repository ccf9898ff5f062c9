"""Gives everything in an archive back as files that other tools read, written whole or not at all."""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from askalike.archive.export_beir import write_beir
from askalike.archive.export_csv import write_csv, write_spreadsheets
from askalike.archive.store import Archive, storage_errors
from askalike.archive.track import Track, untracked
from askalike.errors import ArchiveError, SettingsError

MANIFEST = "export.json"

FORMATS: Mapping[str, Callable[[Archive, Path, Track], Mapping[str, int]]] = {
    "beir": write_beir,
    "csv": write_csv,
    "spreadsheet": write_spreadsheets,
}
"""Each writes its files into a folder that is there and returns how many rows each file has."""


def export(
    archive: Archive, format: str, out: str | Path, *, force: bool = False, track: Track = untracked
) -> Mapping[str, int]:
    """Writes the archive as it is at this moment into the new folder `out`; returns the rows of each file.

    With `force` an earlier export there is replaced. Raises SettingsError for an unknown format, ArchiveError where
    `out` is taken or cannot be written; then nothing is left behind.
    """
    out = Path(out)
    if format not in FORMATS:
        raise SettingsError(f"no export format is called {format!r}; there are: {', '.join(FORMATS)}")
    _refuse_to_overwrite(out, force)
    with storage_errors(archive.path), _whole(out) as folder, _snapshot(archive):
        rows = FORMATS[format](archive, folder, track)
        manifest = {"format": format, "archive": dict(archive.meta), "rows": dict(rows)}
        (folder / MANIFEST).write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return rows


def _refuse_to_overwrite(out: Path, force: bool) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / MANIFEST).is_file():
        raise ArchiveError(f"{out}: is there and is no earlier export (no {MANIFEST} in it); choose a new name")
    if not force:
        raise ArchiveError(f"{out}: an earlier export is there; replace it with --force, or choose a new name")


@contextmanager
def _whole(out: Path) -> Iterator[Path]:
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


@contextmanager
def _snapshot(archive: Archive) -> Iterator[None]:
    """Reads what is there now, whatever is written meanwhile."""
    archive.connection.execute("BEGIN")
    try:
        yield
    finally:
        archive.connection.execute("ROLLBACK")
