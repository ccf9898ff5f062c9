"""Writes the output of every `--help` to tests/cli/help.txt, to make changes visible: python tools/write_help.py"""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer

from askalike.cli import app, register

GOLDEN_FILE = Path(__file__).parents[1] / "tests" / "cli" / "help.txt"
WIDTH = "100"


def help_texts() -> str:
    """Return the help of the program and of every command, on a terminal of 100 columns without colours."""
    register(app)
    with patch.dict(os.environ, {"COLUMNS": WIDTH, "TERMINAL_WIDTH": WIDTH, "NO_COLOR": "1"}):
        return "\n".join(_describe(typer.main.get_command(app), "askalike", None))


def _describe(command: Any, name: str, parent: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=name.split()[-1], parent=parent, **command.context_settings)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        printed.write(command.get_help(context))
    yield "\n".join(line.rstrip() for line in printed.getvalue().splitlines())
    if hasattr(command, "list_commands"):
        for each in command.list_commands(context):
            yield from _describe(command.get_command(context, each), f"{name} {each}", context)


if __name__ == "__main__":
    GOLDEN_FILE.write_text(help_texts(), encoding="utf-8")
