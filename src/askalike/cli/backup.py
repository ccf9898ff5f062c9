"""askalike backup, restore."""

from pathlib import Path
from typing import Annotated

import typer

from askalike.cli._options import Directory, JsonOption, print_json
from askalike.store import backup as saved


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(backup)
    app.command()(restore)


def backup(
    directory: Directory,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup to make: a name that is not taken.")],
    json: JsonOption = False,
) -> None:
    """Save an archive into one file, while it is in use: all but its index, which is made again from it."""
    _print_backup("saved", saved.backup(directory, file), json)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The archive to make: a new or empty directory.")],
    json: JsonOption = False,
) -> None:
    """Make an archive from a backup, once every byte of it is checked."""
    _print_backup("restored", saved.restore(file, directory), json)


def _print_backup(verb: str, backup: saved.BackupManifest, json: bool) -> None:
    if json:
        print_json({name: getattr(backup, name) for name in backup.__slots__})
    else:
        print(f"{backup.questions:,} questions {verb}, content {backup.content}")
