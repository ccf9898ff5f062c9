"""How far probabilities can be relied on: reliability error, Brier skill and log loss, each with its n."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.evaluation.curves import Floats
from askalike.evaluation.resampling import bootstrap_means, interval

DRAWS = 2_000
MOST_BINS, FEWEST_BINS, IN_BIN = 10, 5, 100
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Bin:
    """Hits of about one probability: their mean probability, the share that is right, and how many they are."""

    probability: float
    right: float
    n: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """What was measured of probabilities on n hits.

    error: the mean distance between probability and share over equal-mass bins (ECE). chance: what that would be on
    average at this n and with these bins, were every probability exact. skill: how much of the base rate's Brier score
    is saved, with its 95 % interval (bootstrap over clusters).
    """

    n: int
    clusters: int
    base_rate: float
    error: float
    chance: float
    skill: float
    skill_interval: tuple[float, float]
    log_loss: float
    bins: tuple[Bin, ...]


def reliability(probabilities: Floats, right: Bools, clusters: Sequence[str], seed: int = 0) -> Reliability:
    """Measures probabilities, (n,), against what was right, (n,), in clusters, (n,). n is at least 1."""
    bins = _bins(probabilities, right)
    exact = np.random.default_rng(seed).random((200, len(right))) < probabilities
    chance = float(np.mean([_error(_bins(probabilities, drawn)) for drawn in exact]))
    skill, low, high = _skill(probabilities, right, clusters, seed)
    return Reliability(
        len(right), len(set(clusters)), float(right.mean()), _error(bins), chance, skill, (low, high),
        log_loss(probabilities, right), bins,
    )  # fmt: skip


def log_loss(probabilities: Floats, right: Bools) -> float:
    """The mean of minus the logarithm of the probability given to what was the case."""
    given = np.where(right, probabilities, 1 - probabilities)
    return float(-np.log(np.maximum(given, 1e-12)).mean())


def proportion(count: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927); (0, 1) of nothing."""
    if not n:
        return 0.0, 1.0
    from scipy.stats import binomtest  # slow to import

    bounds = binomtest(count, n).proportion_ci(0.95, method="wilson")
    return float(bounds.low), float(bounds.high)


def _bins(probabilities: Floats, right: Bools) -> tuple[Bin, ...]:
    """From FEWEST_BINS to MOST_BINS bins of equal mass, with IN_BIN hits in each where there are so many."""
    order = np.argsort(probabilities, kind="stable")
    count = min(max(len(order) // IN_BIN, FEWEST_BINS), MOST_BINS, len(order))
    parts = np.array_split(order, count)
    return tuple(Bin(float(probabilities[p].mean()), float(right[p].mean()), len(p)) for p in parts)


def _error(bins: Sequence[Bin]) -> float:
    return sum(abs(b.probability - b.right) * b.n for b in bins) / sum(b.n for b in bins)


def _skill(probabilities: Floats, right: Bools, clusters: Sequence[str], seed: int) -> tuple[float, float, float]:
    """1 − Brier score over that of the base rate, here and in resamples of whole clusters."""
    place = np.unique(np.array(clusters), return_inverse=True)[1]
    rows = np.column_stack([np.ones(len(right)), right, (probabilities - right) ** 2])
    sums = np.column_stack([np.bincount(place, column) for column in rows.T]).astype(np.float64)
    drawn = _skills(bootstrap_means(sums, DRAWS, seed))
    return float(_skills(sums.mean(axis=0, keepdims=True))[0]), *interval(drawn)


def _skills(means: Floats) -> Floats:
    """means: (draws, 3) of n, how many are right, and squared errors. Returns (draws,); 0 where all are alike."""
    rate = means[:, 1] / means[:, 0]
    base = rate * (1 - rate)
    return np.where(base > 0, 1 - means[:, 2] / means[:, 0] / np.maximum(base, 1e-12), 0.0)
