"""How far probabilities can be relied on: reliability error, Brier skill and log loss, each with its n."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.calibration.curves import Floats
from askalike.evaluation.resampling import bootstrap_means, percentile_interval

BOOTSTRAP_DRAWS = 2_000
MAX_BINS, MIN_BINS, HITS_PER_BIN = 10, 5, 100
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


def measure_reliability(probabilities: Floats, labels: Bools, clusters: Sequence[str], seed: int = 0) -> Reliability:
    """Measures probabilities, (n,), against what was right, (n,), in clusters, (n,). n is at least 1."""
    bins = _make_bins(probabilities, labels)
    exact = np.random.default_rng(seed).random((200, len(labels))) < probabilities
    chance = float(np.mean([_calibration_error(_make_bins(probabilities, drawn)) for drawn in exact]))
    skill, low, high = _brier_skill(probabilities, labels, clusters, seed)
    return Reliability(
        len(labels), len(set(clusters)), float(labels.mean()), _calibration_error(bins), chance, skill, (low, high),
        log_loss(probabilities, labels), bins,
    )  # fmt: skip


def log_loss(probabilities: Floats, labels: Bools) -> float:
    """The mean of minus the logarithm of the probability given to what was the case."""
    given = np.where(labels, probabilities, 1 - probabilities)
    return float(-np.log(np.maximum(given, 1e-12)).mean())


def _make_bins(probabilities: Floats, labels: Bools) -> tuple[Bin, ...]:
    """From FEWEST_BINS to MOST_BINS bins of equal mass, with IN_BIN hits in each where there are so many."""
    order = np.argsort(probabilities, kind="stable")
    count = min(max(len(order) // HITS_PER_BIN, MIN_BINS), MAX_BINS, len(order))
    parts = np.array_split(order, count)
    return tuple(Bin(float(probabilities[p].mean()), float(labels[p].mean()), len(p)) for p in parts)


def _calibration_error(bins: Sequence[Bin]) -> float:
    return sum(abs(b.probability - b.right) * b.n for b in bins) / sum(b.n for b in bins)


def _brier_skill(
    probabilities: Floats, labels: Bools, clusters: Sequence[str], seed: int
) -> tuple[float, float, float]:
    """1 − Brier score over that of the base rate, here and in resamples of whole clusters."""
    place = np.unique(np.array(clusters), return_inverse=True)[1]
    rows = np.column_stack([np.ones(len(labels)), labels, (probabilities - labels) ** 2])
    sums = np.column_stack([np.bincount(place, column) for column in rows.T]).astype(np.float64)
    drawn = _brier_skill_of_means(bootstrap_means(sums, BOOTSTRAP_DRAWS, seed))
    return float(_brier_skill_of_means(sums.mean(axis=0, keepdims=True))[0]), *percentile_interval(drawn)


def _brier_skill_of_means(means: Floats) -> Floats:
    """means: (draws, 3) of n, how many are right, and squared errors. Returns (draws,); 0 where all are alike."""
    rate = means[:, 1] / means[:, 0]
    base = rate * (1 - rate)
    return np.where(base > 0, 1 - means[:, 2] / means[:, 0] / np.maximum(base, 1e-12), 0.0)
