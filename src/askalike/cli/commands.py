"""Gathers the command groups. A file beside this one that has `register(app)` is a group."""

import importlib
import pkgutil

import typer

import askalike.cli


def register(app: typer.Typer) -> None:
    """Adds the commands of every group to the application."""
    for module in pkgutil.iter_modules(askalike.cli.__path__):
        if module.name not in ("commands",) and not module.name.startswith("_"):
            importlib.import_module(f"askalike.cli.{module.name}").register(app)
