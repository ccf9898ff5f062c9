"""What would be shown above each probability: how much of it is right, how much is found; and where the line goes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.evaluation.curves import Floats
from askalike.evaluation.reliability import proportion

GRID = tuple(step / 20 for step in range(20))
FEWEST_SHOWN = 30
"""A line is only picked where so many first hits lie above it."""
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Share:
    """A count of n, with the share's 95 % interval (Wilson)."""

    count: int
    n: int

    @property
    def value(self) -> float:
        """The share; 0 of nothing."""
        return self.count / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval."""
        return proportion(self.count, self.n)


@dataclass(frozen=True, slots=True)
class Threshold:
    """First hits of at least a probability: the share that is right, and of all queries those answered, and right."""

    probability: float
    precision: Share
    recall: Share
    coverage: Share


@dataclass(frozen=True, slots=True)
class Picked:
    """The lowest line with the precision asked for, and what a line picked likewise is worth on other clusters."""

    asked: float
    probability: float | None
    """None: the precision is out of reach."""
    here: Threshold | None
    elsewhere: Share
    """Precision of the first hits above lines that the other folds picked."""


def table(probabilities: Floats, right: Bools, queries: int, grid: Sequence[float] = GRID) -> list[Threshold]:
    """What the first hits, (n,), of so many queries give at each threshold of a grid."""
    return [at(probabilities, right, queries, threshold) for threshold in grid]


def at(probabilities: Floats, right: Bools, queries: int, threshold: float) -> Threshold:
    """What the first hits of at least this probability give."""
    shown = probabilities >= threshold
    good, many = int(right[shown].sum()), int(shown.sum())
    return Threshold(threshold, Share(good, many), Share(good, queries), Share(many, queries))


def pick(probabilities: Floats, right: Bools, fold: NDArray[np.int64], queries: int, precision: float) -> Picked:
    """Picks the line; fold: (n,), the fold of each first hit."""
    line = lowest(probabilities, right, precision)
    good = many = 0
    for own in (fold == number for number in np.unique(fold)):
        other = lowest(probabilities[~own], right[~own], precision)
        if other is not None:
            shown = own & (probabilities >= other)
            good, many = good + int(right[shown].sum()), many + int(shown.sum())
    here = None if line is None else at(probabilities, right, queries, line)
    return Picked(precision, line, here, Share(good, many))


def lowest(probabilities: Floats, right: Bools, precision: float) -> float | None:
    """The lowest probability so that of the hits above it the share asked for is right, FEWEST_SHOWN at the least.

    The probabilities themselves have to promise it too, lest a lucky stretch of few hits decide. None: out of reach.
    """
    order = np.argsort(-probabilities, kind="stable")
    count = np.arange(1, len(order) + 1)
    found = np.cumsum(right[order]) / count
    promised = np.cumsum(probabilities[order]) / count
    last = np.append(np.diff(probabilities[order]) < 0, True)  # equal probabilities lie above a line together
    fits = last & (found >= precision) & (promised >= precision) & (count >= FEWEST_SHOWN)
    return float(probabilities[order][fits.nonzero()[0][-1]]) if fits.any() else None
