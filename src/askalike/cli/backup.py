"""askalike backup, restore: an archive as one file."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from askalike.cli._options import Directory, JsonOption
from askalike.cli._output import print_json
from askalike.store.backup import BackupManifest, backup, restore


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("backup")(backup_command)
    app.command("restore")(restore_command)


def backup_command(
    directory: Directory,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup to make: a name that is not taken.")],
    json: JsonOption = False,
) -> None:
    """Save an archive into one file, while it is in use: all but its index, which is made again from it."""
    _print_backup("saved", backup(directory, file), json)


def restore_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The archive to make: a new or empty directory.")],
    json: JsonOption = False,
) -> None:
    """Make an archive from a backup, once every byte of it is checked."""
    _print_backup("restored", restore(file, directory), json)


def _print_backup(verb: str, manifest: BackupManifest, json: bool) -> None:
    if json:
        print_json(asdict(manifest))
    else:
        print(f"{manifest.questions:,} questions {verb}, content {manifest.content}")
