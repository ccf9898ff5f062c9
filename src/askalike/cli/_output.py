"""How figures and JSON are printed by every command."""

import json
import sys
from typing import Any

from askalike.evaluation.proportion import BinomialProportion


def print_json(value: Any) -> None:
    """Print one JSON object on stdout: on one line for a program, indented for a person."""
    print(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def format_proportion(proportion: BinomialProportion) -> str:
    """Return `0.913 [0.850, 0.951]`: the share and its 95 % interval; `-` for a share of nothing."""
    low, high = proportion.interval
    return f"{proportion.value:.3f} [{low:.3f}, {high:.3f}]" if proportion.n else "-"


def format_score(score: float, probability: float | None) -> str:
    """Return `83% (12.31)`, or `12.31 (uncalibrated)` where the probability is not known."""
    return f"{score:.2f} (uncalibrated)" if probability is None else f"{probability:.0%} ({score:.2f})"
