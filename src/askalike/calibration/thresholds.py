"""What would be shown above each probability: how much of it is right, how much is found; and where the line goes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.calibration.curves import Floats
from askalike.evaluation.proportion import BinomialProportion

THRESHOLD_GRID = tuple(step / 20 for step in range(20))
MIN_HITS_ABOVE = 30
"""A line is only picked where so many first hits lie above it."""
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """First hits of at least a probability: the share that is right, and of all queries those answered, and right."""

    probability: float
    precision: BinomialProportion
    recall: BinomialProportion
    coverage: BinomialProportion


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """The lowest line with the precision asked for, and what a line picked likewise is worth on other clusters."""

    target_precision: float
    threshold: float | None
    """None: the precision is out of reach."""
    in_sample: ThresholdRow | None
    cross_validated: BinomialProportion
    """Precision of the first hits above lines that the other folds picked."""


def measure_thresholds(
    probabilities: Floats, relevant: Bools, query_count: int, grid: Sequence[float] = THRESHOLD_GRID
) -> list[ThresholdRow]:
    """What the first hits, (n,), of so many queries give at each threshold of a grid."""
    return [measure_threshold(probabilities, relevant, query_count, threshold) for threshold in grid]


def measure_threshold(probabilities: Floats, relevant: Bools, query_count: int, threshold: float) -> ThresholdRow:
    """What the first hits of at least this probability give."""
    shown = probabilities >= threshold
    good, many = int(relevant[shown].sum()), int(shown.sum())
    return ThresholdRow(
        threshold,
        BinomialProportion(good, many),
        BinomialProportion(good, query_count),
        BinomialProportion(many, query_count),
    )


def choose_threshold(
    probabilities: Floats, relevant: Bools, fold_of_hit: NDArray[np.int64], query_count: int, target_precision: float
) -> ThresholdChoice:
    """Picks the line; fold: (n,), the fold of each first hit."""
    line = find_lowest_threshold(probabilities, relevant, target_precision)
    good = many = 0
    for own in (fold_of_hit == number for number in np.unique(fold_of_hit)):
        other = find_lowest_threshold(probabilities[~own], relevant[~own], target_precision)
        if other is not None:
            shown = own & (probabilities >= other)
            good, many = good + int(relevant[shown].sum()), many + int(shown.sum())
    here = None if line is None else measure_threshold(probabilities, relevant, query_count, line)
    return ThresholdChoice(target_precision, line, here, BinomialProportion(good, many))


def find_lowest_threshold(probabilities: Floats, relevant: Bools, target_precision: float) -> float | None:
    """The lowest probability so that of the hits above it the share asked for is right, FEWEST_SHOWN at the least.

    The probabilities themselves have to promise it too, lest a lucky stretch of few hits decide. None: out of reach.
    """
    order = np.argsort(-probabilities, kind="stable")
    count = np.arange(1, len(order) + 1)
    found = np.cumsum(relevant[order]) / count
    promised = np.cumsum(probabilities[order]) / count
    last = np.append(np.diff(probabilities[order]) < 0, True)  # equal probabilities lie above a line together
    fits = last & (found >= target_precision) & (promised >= target_precision) & (count >= MIN_HITS_ABOVE)
    return float(probabilities[order][fits.nonzero()[0][-1]]) if fits.any() else None
