"""Writes every command with its arguments and options into docs/cli.md.

python tools/write_commands.py           writes the page
python tools/write_commands.py --check   writes nothing; exits with 1 if page and code differ
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from write_settings import main

from askalike.cli import app, register

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
BEGIN = "<!-- commands: written by tools/write_commands.py -->\n"


def page() -> str:
    """Return the page, whose head is written by hand."""
    register(app)
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{head}{BEGIN}\n" + "\n".join(_describe(typer.main.get_command(app), "askalike", None))


def _describe(command: Any, name: str, parent: Any) -> Iterator[str]:
    """Yield the lines of a command, or of each command of a group."""
    context = command.context_class(command, info_name=name, parent=parent)
    if hasattr(command, "list_commands"):
        for each in command.list_commands(context):
            yield from _describe(command.get_command(context, each), f"{name} {each}", context)
        return
    yield f"## `{name}`\n\n{_escape((command.help or '').strip())}\n"
    yield "| argument or option | meaning |\n|---|---|"
    for parameter in command.params:
        if parameter.name != "help":
            yield f"| {_names(parameter)} | {_meaning(parameter)} |"
    yield ""


def _names(parameter: Any) -> str:
    value = parameter.metavar or parameter.name.upper()
    if parameter.param_type_name == "argument":
        return f"`{value}`"
    opts = [*parameter.opts, *parameter.secondary_opts]
    names = (f"`{opt}`" if parameter.is_flag or opt != opts[-1] else f"`{opt} {value}`" for opt in opts)
    return ", ".join(names).replace("|", "\\|")


def _meaning(parameter: Any) -> str:
    text = _escape(parameter.help or "").replace("|", "\\|").strip().rstrip(".")
    text = text[:1].upper() + text[1:]
    default = parameter.default
    is_flag = getattr(parameter, "is_flag", False)  # which arguments do not have
    shown = not (callable(default) or default in (None, "", ()) or parameter.required or is_flag)
    return f"{text}. Default: `{default}`." if shown else f"{text}."


def _escape(text: str) -> str:
    """Return a text in which <name> is no element of HTML."""
    return text.replace("<", "&lt;")


if __name__ == "__main__":
    main(page(), PAGE)
