"""Results of benchmarks, as rows of a JSON file: a new measurement replaces the older row. Needs packages/research."""

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

DATA = Path(__file__).parents[1] / "bench-data"


def make_parser(description: str | None, output: str | None = None) -> ArgumentParser:
    """Return the parser of a benchmark's options. output: the file in bench-data/ to which rows are added."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    if output:
        measured_commit()
        parser.add_argument("--output", type=Path, default=DATA / output, help="the JSON file to add rows to")
    return parser


@cache
def measured_commit() -> str | None:
    """Return the commit that was checked out at the first call: another may be before the last row is written."""
    from askalike_research.experiments.provenance import git_commit

    return git_commit(Path(__file__).parent)


def add_row(path: Path, row: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Write a row into a file, with the machine, the commit and the versions of what was measured.

    keys: the fields that identify the row. The row's own `versions` are those of what is measured beside askalike.
    """
    from askalike_research.experiments.provenance import describe_hardware

    versions = {"Python": python_version(), "numpy": version("numpy"), "numba": version("numba")}
    versions |= row.get("versions", {})
    row = {**row, "versions": versions, "hardware": describe_hardware(), "commit": measured_commit()}
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    others = [old for old in rows if [old.get(key) for key in keys] != [row[key] for key in keys]]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([*others, row], indent=1), encoding="utf-8")
