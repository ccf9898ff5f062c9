"""Runs the documentation: the fenced blocks of README.md and docs/*.md that `<!-- run -->` stands above.

The blocks of one page run one after the other in one new folder that holds a copy of examples/. In a console block
lines with `$ ` are commands (`> ` continues one), the others what they print; a python block is a program of its own,
and a text block that follows it is what it prints. Every command must succeed, or exit as `<!-- run, exit 2 -->` says.
With `same output` all that is shown must be printed, in that order; white space and seconds may differ, and `…`
stands for anything. A block marked `with vectors` is run only where that extra, which decides about the default ranker,
is installed.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import askalike

VECTORS = importlib.util.find_spec("wordllama") is not None
ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"<!-- run(?P<marks>[^>]*) -->\n```(?P<kind>console|python)\n(?P<text>.*?)```\n(?:\n```text\n(?P<output>.*?)```)?",
    re.DOTALL,
)


@dataclass
class Step:
    """A command, what the page shows of its output, its exit code, and whether the output must be the same."""

    command: str
    shown: str
    exit_code: int
    same: bool


def steps(page: Path) -> Iterator[Step]:
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        marks = block["marks"]
        if "with vectors" in marks and not VECTORS:
            continue
        code = int(found[1]) if (found := re.search(r"exit (\d+)", marks)) else 0
        commands = _console(block["text"]) if block["kind"] == "console" else [_program(block)]
        for command, shown in commands:
            yield Step(command, shown, code, "same output" in marks)


def _console(text: str) -> list[tuple[str, str]]:
    commands: list[tuple[str, str]] = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            commands.append((line[2:], ""))
        else:
            command, shown = commands.pop()
            continues = line.startswith("> ") and not shown
            commands.append((command + line[2:], shown) if continues else (command, shown + line))
    return commands


def _program(block: re.Match[str]) -> tuple[str, str]:
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(block['text'])}", block["output"] or ""


def expected(shown: str) -> re.Pattern[str]:
    words = re.escape(" ".join(shown.split())).replace("…", ".*").replace(r"\ ", r"\s+")
    return re.compile(re.sub(r"\d+(\\\.\d+)?\\s\+(s|ms)\b", r"[\\d.]+\\s+\2", words), re.DOTALL)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the examples, in which `askalike` is a command."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    command = tmp_path / "bin" / "askalike"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom askalike.cli import main\n\nmain()\n")
    command.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("page", [p for p in PAGES if next(steps(p), None)], ids=lambda page: page.name)
def test_examples_run_and_print_what_is_shown(page: Path, place: Path) -> None:
    package = Path(askalike.__file__).parents[1]
    env = os.environ | {"PATH": f"{place / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(package), "COLUMNS": "100"}
    for step in steps(page):
        done = subprocess.run(
            ["bash", "-c", step.command], cwd=place, env=env, text=True, timeout=300,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == step.exit_code, f"$ {step.command}\n{done.stdout}"
        if step.same:
            assert expected(step.shown).search(" ".join(done.stdout.split())), f"$ {step.command}\n{done.stdout}"


def test_a_page_is_run() -> None:
    assert any(next(steps(page), None) for page in PAGES)
