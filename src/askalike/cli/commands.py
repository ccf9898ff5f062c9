"""Gathers the commands: a file of this folder whose name has no underscore adds its own in `register(app)`."""

import importlib
import pkgutil

import typer

import askalike.cli


def register(app: typer.Typer, only_group: str = "") -> None:
    """Add the commands of every file to the application.

    only_group: the first word of the command line; where a file has that name, the others are not imported.
    """
    names = [m.name for m in pkgutil.iter_modules(askalike.cli.__path__) if m.name != "commands" and m.name[0] != "_"]
    for name in [only_group] if only_group in names else names:
        importlib.import_module(f"askalike.cli.{name}").register(app)
