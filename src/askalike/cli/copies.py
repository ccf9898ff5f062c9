"""askalike export, backup, restore: an archive as files for other tools, or as one file."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from askalike.cli._options import Directory, Json
from askalike.cli._output import to_json
from askalike.cli._progress import progress_tracker
from askalike.core.counts import format_count
from askalike.export.exporting import export_archive
from askalike.store import Archive
from askalike.store.backup import BackupManifest, backup, restore


def export_command(
    directory: Directory,
    format: Annotated[
        Literal["beir", "csv", "spreadsheet", "retrieval"], Option(help="The format of the export; see above.")
    ],
    out: Annotated[Path, Option("-o", "--output", metavar="FOLDER", help="The folder to write.")],
    force: Annotated[bool, Option("--force", help="Replace an earlier export.")] = False,
    html: Annotated[bool, Option("--html", help="Keep the markup of texts with --format retrieval.")] = False,
) -> None:
    """Export an archive to a new folder.

    `beir` and `csv` are exact and can be imported again. Cells of `csv` may begin with `=`, `+`, `-` or `@`, which a
    spreadsheet runs as formulas. To open the tables in one, use `spreadsheet`, which puts an apostrophe before them.
    `retrieval` writes every split as queries and qrels, without markup, for the evaluators of other libraries.

    Examples:

    ```
    askalike export DIR --format csv -o tables
    askalike export DIR --format retrieval -o beir
    ```
    """
    with Archive.open(directory) as archive, progress_tracker() as track:
        rows = export_archive(archive, format, out, force=force, html=html, track=track)
    for name, n in rows.items():
        print(f"{out / name}: {format_count(n, 'row')}")


def backup_command(
    directory: Directory,
    file: Annotated[Path, Argument(metavar="FILE", help="The backup to write; must not exist.")],
    json: Json = False,
) -> None:
    """Save an archive to one file; the archive may be in use.

    The backup holds everything but the indexes, which are rebuilt from it.

    Examples:

    ```
    askalike backup DIR monday.tar
    askalike backup DIR monday.tar --json
    ```
    """
    _print_manifest("saved", backup(directory, file), json)


def restore_command(
    file: Annotated[Path, Argument(metavar="FILE", help="A backup.")],
    directory: Annotated[Path, Argument(metavar="DIR", help="A new or empty directory.")],
    json: Json = False,
) -> None:
    """Restore an archive from a backup, after checking every byte.

    Examples:

    ```
    askalike restore monday.tar NEW_DIR
    askalike restore monday.tar NEW_DIR --json
    ```
    """
    _print_manifest("restored", restore(file, directory), json)


def _print_manifest(verb: str, manifest: BackupManifest, json: bool) -> None:
    text = f"{format_count(manifest.questions, 'question')} {verb}, content {manifest.content_hash}"
    print(to_json(asdict(manifest)) if json else text)
