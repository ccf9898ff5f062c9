"""Gathers the command groups. A file beside this one that has `register(app)` is a group."""

import importlib
import pkgutil

import typer

import askalike.cli


def register(app: typer.Typer, only_group: str = "") -> None:
    """Adds the commands of every group to the application; those of the group `only` alone, where there is one of that
    name: others then need not be imported."""
    names = [m.name for m in pkgutil.iter_modules(askalike.cli.__path__) if m.name != "commands" and m.name[0] != "_"]
    for name in [only_group] if only_group in names else names:
        importlib.import_module(f"askalike.cli.{name}").register(app)
