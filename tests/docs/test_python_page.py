"""Examples import documented names alone, and the pages on Python have a way to do what each command does."""

import ast
import pkgutil
import re
from pathlib import Path

import pytest
import typer

import askalike
from askalike.cli import register
from askalike.core import registry
from needs import need

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "python-reference.md"
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").glob("*.md")} - {REFERENCE})]
PROGRAMS = [*sorted((ROOT / "examples").rglob("*.py"))]
PAGE = ROOT / "docs" / "python.md"


def rows() -> dict[str, str]:
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## What each command calls\n")
    return dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", section, re.MULTILINE))


def programs() -> list[tuple[str, str]]:
    blocks = [
        (page.name, block)
        for page in PAGES
        for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    ]
    return blocks + [(path.name, path.read_text(encoding="utf-8")) for path in PROGRAMS]


def test_every_command_has_its_python() -> None:
    whole = typer.Typer()
    register(whole)
    assert rows().keys() == typer.main.get_command(whole).commands.keys()  # type: ignore[attr-defined]


def documented() -> set[str]:
    """The full names in both pages, such as `askalike.load` and `askalike.store.keys.create_key`."""
    text = "".join(page.read_text(encoding="utf-8") for page in (PAGE, REFERENCE))
    return set(re.findall(r"(?<!from )askalike(?:\.[a-z_]\w*)*\.\w+", text))


@pytest.mark.parametrize("name", sorted(documented()))
def test_python_page_names_what_can_be_imported(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    if module == "askalike_research.mteb":
        need("mteb")
    assert attribute in askalike.__all__ if module == "askalike" else pkgutil.resolve_name(f"{module}:{attribute}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_in_the_text_are_public(page: Path) -> None:
    groups = {kind.group.partition(".")[2] for kind in registry.KINDS.values()}
    names = set(re.findall(r"`askalike\.(?!py`)(\w+)", page.read_text(encoding="utf-8")))
    rooms = {path.stem for path in (ROOT / "src" / "askalike").iterdir()}
    assert names <= {*dir(askalike)} | groups | rooms | {"recipes"}


@pytest.mark.parametrize(("where", "program"), programs())
def test_examples_import_documented_names_alone(where: str, program: str) -> None:
    assert used_names(program) - documented() - {f"askalike.{name}" for name in askalike.__all__} == set(), where


def used_names(program: str) -> set[str]:
    """The full names of askalike that a program imports or uses."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("askalike.")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "askalike":
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "askalike":
            found.add(f"askalike.{node.attr}")
    return found
