"""Thresholds above which hits are shown, chosen for a precision."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field

from askalike.core.arrays import Bools, Floats, Ints
from askalike.core.config import Settings
from askalike.evaluation.intervals import BinomialProportion
from askalike.index.rows import find_distinct

THRESHOLD_GRID = tuple(step / 20 for step in range(20))
MIN_HITS_ABOVE = 30
"""Minimum number of first hits above a threshold."""


class Threshold(Settings):
    """The probability below which no hit is shown, and the criterion by which it was chosen."""

    probability: float
    criterion: Literal["precision", "guarantee"]
    share: float = Field(description="the share requested of hits that are right")


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """Measures of first hits at a threshold: the precision of those shown; recall and coverage over all queries."""

    probability: float
    precision: BinomialProportion
    recall: BinomialProportion
    coverage: BinomialProportion

    def as_dict(self) -> Mapping[str, Any]:
        """Return the row for JSON."""
        proportions = {"precision": self.precision, "recall": self.recall, "coverage": self.coverage}
        return {"probability": self.probability} | {name: p.as_dict() for name, p in proportions.items()}


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """The lowest threshold with a precision, None if out of reach, with its row and cross-validated precision."""

    target_precision: float
    threshold: float | None
    in_sample: ThresholdRow | None
    cross_validated: BinomialProportion

    def as_dict(self) -> Mapping[str, Any]:
        """Return the choice for JSON."""
        row = self.in_sample.as_dict() if self.in_sample else None
        cross_validated = self.cross_validated.as_dict()
        return {"target_precision": self.target_precision, "in_sample": row, "cross_validated": cross_validated}


def measure_thresholds(probabilities: Floats, relevant: Bools, query_count: int) -> list[ThresholdRow]:
    """Return the row of each threshold of the grid for first hits, (n,), of `query_count` queries."""
    return [measure_threshold(probabilities, relevant, query_count, threshold) for threshold in THRESHOLD_GRID]


def measure_threshold(probabilities: Floats, relevant: Bools, query_count: int, threshold: float) -> ThresholdRow:
    """Return the row of one threshold for first hits, (n,), of `query_count` queries."""
    shown = probabilities >= threshold
    n_right, n_shown = int(relevant[shown].sum()), int(shown.sum())
    counts = ((n_right, n_shown), (n_right, query_count), (n_shown, query_count))
    return ThresholdRow(threshold, *(BinomialProportion(*pair) for pair in counts))


def choose_threshold(
    probabilities: Floats, relevant: Bools, fold_of_hit: Ints, query_count: int, target_precision: float
) -> ThresholdChoice:
    """Choose the lowest threshold with a precision on first hits, (n,), and measure the choice by cross-validation."""
    threshold = find_lowest_threshold(probabilities, relevant, target_precision)
    n_right = n_shown = 0
    for in_fold in (fold_of_hit == fold for fold in find_distinct(fold_of_hit)):
        fold_threshold = find_lowest_threshold(probabilities[~in_fold], relevant[~in_fold], target_precision)
        if fold_threshold is not None:
            shown = in_fold & (probabilities >= fold_threshold)
            n_right, n_shown = n_right + int(relevant[shown].sum()), n_shown + int(shown.sum())
    row = None if threshold is None else measure_threshold(probabilities, relevant, query_count, threshold)
    return ThresholdChoice(target_precision, threshold, row, BinomialProportion(n_right, n_shown))


def find_lowest_threshold(probabilities: Floats, relevant: Bools, target_precision: float) -> float | None:
    """Return the lowest probability above which there are at least MIN_HITS_ABOVE hits with the target precision.

    The mean of their probabilities must also reach the precision, so that a lucky run of few hits does not decide.
    None if the precision is out of reach.
    """
    order = np.argsort(-probabilities, kind="stable")
    count = np.arange(1, len(order) + 1)
    precision = np.cumsum(relevant[order]) / count
    expected_precision = np.cumsum(probabilities[order]) / count
    is_last_of_ties = np.append(np.diff(probabilities[order]) < 0, True)
    fits = is_last_of_ties & (count >= MIN_HITS_ABOVE)
    fits &= (precision >= target_precision) & (expected_precision >= target_precision)
    return float(probabilities[order][fits.nonzero()[0][-1]]) if fits.any() else None
