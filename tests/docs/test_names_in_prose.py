"""Options of commands and names of settings that pages mention exist."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer
import write_settings

from askalike.cli import app, register

ROOT = Path(__file__).parents[2]
GENERATED = {"cli.md", "python-reference.md", "settings.md"}
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name not in GENERATED),
    *sorted(page for page in ROOT.glob("packages/*/docs/*.md") if page.name not in GENERATED),
]
PACKAGES = (ROOT / "packages").exists()
CALL = re.compile(r"askalike ((?:[a-z-]+ ?)+)([^\n`|&;#]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
SETTING = re.compile(r"--set '?([\w.]+)=")
CODE = re.compile(r"`(--[a-z][^`]*)`")
ROWS = re.compile(r"^\| (?:setting|option)[^\n|]*\|[^\n]*\n\|[-:| ]+\n((?:\|[^\n]*\n)+)", re.MULTILINE)


def find_commands() -> dict[str, set[str]]:
    """Return every command, such as `import table`, with its options."""
    register(app)
    found: dict[str, set[str]] = {}

    def visit(command: Any, name: str, parent: Any) -> None:
        context = command.context_class(command, info_name=name, parent=parent)
        for each in command.list_commands(context) if hasattr(command, "list_commands") else ():
            visit(command.get_command(context, each), f"{name} {each}".strip(), context)
        options = {opt for parameter in command.params for opt in (*parameter.opts, *parameter.secondary_opts)}
        found[name] = options | {"--help"}

    visit(typer.main.get_command(app), "", None)
    return found


def find_settings() -> set[str]:
    """Return the names of all settings, those of the packages in this repository, too."""
    pages = [write_settings.PAGE, *ROOT.glob("packages/learning/docs/settings.md")]
    names = {key for page in pages for _, keys in write_settings.names_of(page.read_text("utf-8")) for key in keys}
    return {name.rpartition(".")[2] for name in names} | FIELDS | OTHERS


SOURCES = "".join(
    path.read_text("utf-8") for path in (*ROOT.glob("packages/*/src/**/*.py"), *ROOT.glob("examples/**/*.py"))
)
FIELDS = set(re.findall(r"^    (\w+): ", SOURCES, re.MULTILINE))
"""Names of arguments and fields in other packages: of commands, readers, experiments and rankers."""
OTHERS = {"KEY", "NAME", "loss", "kk", "of"}
"""Placeholders, the table of a recipe, a wrong name in an example, and a name in the command of an old report."""
COMMANDS = find_commands()
SETTINGS = find_settings()
OPTIONS = set().union(*COMMANDS.values()) | set(re.findall(r"--[a-z][a-z-]*", SOURCES))
OPTIONS |= {f"--{field.replace('_', '-')}" for field in FIELDS}


def unknown_options(text: str) -> list[str]:
    """Return the options of calls in a page that their command does not have; of other packages' commands, none."""
    unknown = []
    for words, arguments in CALL.findall(text):
        parts = words.split()
        name = next((name for n in (2, 1) if (name := " ".join(parts[:n])) in COMMANDS), None)
        if name:
            options = COMMANDS[name] if name != "import" else OPTIONS
            unknown += [f"askalike {name} {option}" for option in OPTION.findall(arguments) if option not in options]
    return unknown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_options_in_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    alone = [option for code in CODE.findall(text) for option in OPTION.findall(code) if option not in OPTIONS]
    assert unknown_options(text) + (alone if PACKAGES else []) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_settings_in_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = {key.rpartition(".")[2] for key in SETTING.findall(text)}
    for table in ROWS.findall(text):
        firsts = [line.split("|")[1] for line in table.splitlines()]
        named |= {key.rpartition(".")[2] for first in firsts for key in re.findall(r"`([a-z_.]+)`", first)}
    assert PACKAGES is False or named - SETTINGS == set()


def test_a_wrong_option_is_noticed() -> None:
    assert unknown_options("askalike search DIR 'x' --lesat 3") == ["askalike search --lesat"]
    assert "least" not in SETTINGS
