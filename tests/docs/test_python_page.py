"""The page on Python names a way to do what each command does, and the names are there."""

import importlib
import re
from pathlib import Path

import typer

from askalike.cli import commands

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def rows() -> dict[str, str]:
    return dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def test_every_command_has_its_python() -> None:
    whole = typer.Typer()
    commands.register(whole)
    assert rows().keys() == typer.main.get_command(whole).commands.keys()  # type: ignore[attr-defined]


def test_what_it_names_is_there() -> None:
    names = {name for text in rows().values() for name in re.findall(r"askalike(?:\.\w+)+", text)}
    assert len(names) > 15
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name
