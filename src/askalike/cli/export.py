"""`askalike export`: everything back, as files that other tools read."""

from pathlib import Path
from typing import Annotated

import typer

from askalike.cli._options import Directory
from askalike.cli._progress import progress_tracker
from askalike.export.exporting import export_archive
from askalike.store import Archive


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export_command)


def export_command(
    directory: Directory,
    format: Annotated[str, typer.Option(metavar="beir|csv|spreadsheet", help="What to write; see below.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT", help="A new folder.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export there.")] = False,
) -> None:
    """Write everything in an archive into a new folder.

    `beir` and `csv` are exact and can be imported again. Cells of `csv` may begin with `=`, `+`, `-` or `@`, which a
    spreadsheet runs as formulas: to open the tables in one, take `spreadsheet`, which puts an apostrophe before them.
    """
    with Archive.open(directory) as archive, progress_tracker() as track:
        rows = export_archive(archive, format, out, force=force, track=track)
    for name, n in rows.items():
        print(f"{out / name}: {n:,} rows")
