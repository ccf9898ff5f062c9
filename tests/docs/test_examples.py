"""Runs the documentation: the fenced blocks of README.md and docs/*.md that `<!-- run -->` stands above.

The blocks of one page run one after the other in one new folder that holds a copy of examples/. In a console block
lines with `$ ` are commands (`> ` continues one), the others what they print; a python block is a program of its own,
and a text block that follows it is what it prints. Programs and plain `askalike` commands run within this process,
which starts nothing anew; the shell runs the rest. Every command must succeed, or exit as `<!-- run, exit 2 -->` says.
With `same output` all that is shown must be printed, in that order, and by a program nothing else; white space and
seconds may differ, and `…` stands for anything. Port 8470 is replaced by one that is free, and what a page leaves
running with its number in a `.pid` file is ended.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import askalike
import commands

PORT = "8470"
ROOT = Path(__file__).parents[2]
SLOW_PAGES = {
    "calibration.md",
    "drop-in.md",
    "moderate.md",
    "operator.md",
    "researcher.md",
    "service.md",
    "vectors.md",
}
"""Pages whose examples take seconds each."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"<!-- run(?P<marks>[^>]*) -->\n```(?P<kind>console|python)\n(?P<text>.*?)```\n(?:\n```text\n(?P<output>.*?)```)?",
    re.DOTALL,
)


@dataclass
class Step:
    """A command line or a program, what the page shows of its output, its exit code, and whether both must be equal."""

    text: str
    is_program: bool
    shown: str
    exit_code: int
    same: bool


def steps(page: Path) -> Iterator[Step]:
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        marks = block["marks"]
        code = int(found[1]) if (found := re.search(r"exit (\d+)", marks)) else 0
        is_program = block["kind"] == "python"
        texts = [(block["text"], block["output"] or "")] if is_program else _console(block["text"])
        for text, shown in texts:
            yield Step(text, is_program, shown, code, "same output" in marks)


def _console(text: str) -> list[tuple[str, str]]:
    console: list[tuple[str, str]] = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            console.append((line[2:], ""))
        else:
            command, shown = console.pop()
            continues = line.startswith("> ") and not shown
            console.append((command + line[2:], shown) if continues else (command, shown + line))
    return console


def expected(shown: str) -> re.Pattern[str]:
    words = re.escape(" ".join(shown.split())).replace("…", ".*").replace(r"\ ", r"\s+")
    return re.compile(re.sub(r"\d+(\\\.\d+)?\\s\+(s|ms)\b", r"[\\d.]+\\s+\2", words), re.DOTALL)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder with the examples, in which `askalike` is a command."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    command = tmp_path / "bin" / "askalike"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom askalike.cli import main\n\nmain()\n")
    command.chmod(0o755)
    yield tmp_path
    for left in tmp_path.glob("*.pid"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(left.read_text()), signal.SIGTERM)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.long] * (page.name in SLOW_PAGES), id=page.name)
        for page in PAGES
        if next(steps(page), None)
    ],
)
def test_examples_run_and_print_what_is_shown(page: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_page(page, place, monkeypatch)


def check_page(page: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the examples of a page; fail where they do not print what it shows."""
    monkeypatch.setenv("PATH", f"{place / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(askalike.__file__).parents[1]))
    monkeypatch.setenv("COLUMNS", "100")
    port = str(free_port())
    found = list(steps(page))
    assert found
    for step in found:
        text = step.text.replace(PORT, port)
        code, printed = _run_program(text, place) if step.is_program else _run_command(text, place)
        assert code == step.exit_code, f"$ {text}\n{printed}"
        if step.same:
            shown = expected(step.shown.replace(PORT, port))
            match = shown.fullmatch if step.is_program else shown.search
            assert match(" ".join(printed.split())), f"$ {text}\n{printed}"


def _run_program(text: str, place: Path) -> tuple[int, str]:
    output = io.StringIO()
    with contextlib.chdir(place), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        exec(compile(text, "<page>", "exec"), {"__name__": "__main__"})
    return 0, output.getvalue()


def _run_command(command: str, place: Path) -> tuple[int, str]:
    words = shlex.split(command)
    if words[0] == "askalike" and not re.search(r"[|&;<>$*\n]", command.strip()):
        done = commands.askalike(*words[1:], cwd=place, merged=True)
        return done.returncode, done.stdout
    shell = subprocess.run(
        ["bash", "-c", command], cwd=place, text=True, timeout=300,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return shell.returncode, shell.stdout


def test_a_page_is_run() -> None:
    assert any(next(steps(page), None) for page in PAGES)
