"""Writes the page of the command line: `<!-- commands -->` becomes every command with its arguments and options."""

from collections.abc import Iterator
from typing import Any

import typer

from askalike.cli import app, register

MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for each page."""
    return markdown.replace(MARK, "\n".join(_pages())) if MARK in markdown else markdown


def _pages() -> Iterator[str]:
    register(app)
    yield from _described(typer.main.get_command(app), "askalike", None)


def _described(command: Any, name: str, parent: Any) -> Iterator[str]:
    """A command, or each command of a group, as Markdown."""
    context = command.context_class(command, info_name=name, parent=parent)
    if hasattr(command, "list_commands"):
        for each in command.list_commands(context):
            yield from _described(command.get_command(context, each), f"{name} {each}", context)
        return
    yield f"## `{name}`\n\n{(command.help or '').strip()}\n"
    yield "| argument or option | what it says |\n|---|---|"
    for parameter in command.params:
        if parameter.name != "help":
            yield f"| {_names(parameter)} | {_help(parameter)} |"
    yield ""


def _names(parameter: Any) -> str:
    value = parameter.metavar or parameter.name.upper()
    if parameter.param_type_name == "argument":
        return f"`{value}`"
    opts = [*parameter.opts, *parameter.secondary_opts]
    return ", ".join(f"`{opt}`" if parameter.is_flag or opt != opts[-1] else f"`{opt} {value}`" for opt in opts)


def _help(parameter: Any) -> str:
    text = (parameter.help or "").replace("|", "\\|").strip().rstrip(".")
    text = text[:1].upper() + text[1:]
    default = parameter.default
    is_flag = getattr(parameter, "is_flag", False)  # which arguments do not have
    shown = not (callable(default) or default in (None, "", ()) or parameter.required or is_flag)
    return f"{text}. Default: `{default}`." if shown else f"{text}."
