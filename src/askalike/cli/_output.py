"""Printing of figures, JSON and remarks, shared by all commands."""

import json
import sys
from typing import Any

from askalike.evaluation.intervals import BinomialProportion


def to_json(value: Any) -> str:
    """Return JSON for stdout: on one line for a program, indented for a terminal."""
    return json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None)


def print_remark(line: str) -> None:
    """Print one line on stderr."""
    print(line, file=sys.stderr, flush=True)


def format_proportion(proportion: BinomialProportion) -> str:
    """Return `0.913 [0.850, 0.951]`: the share and its 95 % interval; `-` if n is 0."""
    low, high = proportion.interval
    return f"{proportion.value:.3f} [{low:.3f}, {high:.3f}]" if proportion.n else "-"
