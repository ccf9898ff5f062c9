"""Results of benchmarks, as rows of a JSON file: a new measurement replaces the older row."""

import json
import os
import platform
import subprocess
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "bench-data"


def describe_hardware() -> str:
    """Return the processor's model, its cores and the machine's memory: `AMD EPYC, 2 cores, 8 GB`."""
    model = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = (line.partition(":") for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines())
        model = next((value.strip() for name, _, value in lines if name.strip() == "model name"), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GB"


def git_commit(folder: Path) -> str | None:
    """Return the commit of a folder under git, with `-dirty` if anything in it has changed since; else None."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    with suppress(OSError, subprocess.CalledProcessError):
        git("ls-files", "--error-unmatch", ".")
        return git("rev-parse", "HEAD") + ("-dirty" if git("status", "--porcelain", ".") else "")
    return None


COMMIT = git_commit(Path(__file__).parent)
"""The commit of the code that is measured: another may be checked out before the last row is written."""


def make_parser(description: str | None, output: str | None = None) -> ArgumentParser:
    """Return the parser of a benchmark's options. output: the file in bench-data/ to which rows are added."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    if output:
        parser.add_argument("--output", type=Path, default=DATA / output, help="the JSON file to add rows to")
    return parser


def add_row(path: Path, row: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Write a row into a file, with the machine, the commit and the versions of what was measured.

    keys: the fields that identify the row. The row's own `versions` are those of what is measured beside askalike.
    """
    versions = {"Python": platform.python_version(), "numpy": version("numpy"), "numba": version("numba")}
    versions |= row.get("versions", {})
    row = {**row, "versions": versions, "hardware": describe_hardware(), "commit": COMMIT}
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    others = [old for old in rows if [old.get(key) for key in keys] != [row[key] for key in keys]]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([*others, row], indent=1), encoding="utf-8")
