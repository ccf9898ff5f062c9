"""The reliability of probabilities (calibration error, Brier skill, log loss), and its averages over groups."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from askalike.core.arrays import Bools, Floats
from askalike.evaluation.intervals import bootstrap_means, percentile_interval

BOOTSTRAP_DRAWS = 2_000
MAX_BINS, MIN_BINS, HITS_PER_BIN = 10, 5, 100
GroupHits = tuple[Floats, Bools, Sequence[str]]
"""Probabilities of a group's hits, whether each is right, and its cluster, each (n,)."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Hits with similar probabilities: their mean probability, the share that is right, and their number."""

    probability: float
    right: float
    n: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """Measurements of the probabilities of n hits.

    error: the mean distance between probability and share that is right over bins of equal mass (ECE).
    chance: the mean error of exact probabilities with this n and these bins.
    skill: the relative reduction of the Brier score against the base rate's.
    skill_interval: the 95 % interval of the skill, by bootstrap over clusters.
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
    """Measure probabilities against labels of hits in clusters, each (n,) with n at least 1."""
    bins = _make_bins(probabilities, labels)
    exact = np.random.default_rng(seed).random((200, len(labels))) < probabilities
    chance = float(np.mean([_calibration_error(_make_bins(probabilities, drawn)) for drawn in exact]))
    whole = _cluster_sums(probabilities, labels, clusters).mean(axis=0, keepdims=True)
    skill = float(skill_of_means(whole)[0])
    interval = percentile_interval(skill_of_means(resample_clusters(probabilities, labels, clusters, seed)))
    return Reliability(
        len(labels), len(set(clusters)), float(labels.mean()), _calibration_error(bins), chance, skill, interval,
        log_loss(probabilities, labels), bins,
    )  # fmt: skip


def resample_clusters(probabilities: Floats, labels: Bools, clusters: Sequence[str], seed: int = 0) -> Floats:
    """Return means over clusters drawn with replacement, (draws, 3): number of hits, of right ones, squared error."""
    return bootstrap_means(_cluster_sums(probabilities, labels, clusters), BOOTSTRAP_DRAWS, seed)


def skill_of_means(means: Floats) -> Floats:
    """Return 1 - Brier score / Brier score of the base rate, (draws,); 0 if all labels are equal.

    means: (draws, 3) of n, right hits and squared errors.
    """
    rate = means[:, 1] / means[:, 0]
    base = rate * (1 - rate)
    return np.where(base > 0, 1 - means[:, 2] / means[:, 0] / np.maximum(base, 1e-12), 0.0)


def log_loss(probabilities: Floats, labels: Bools) -> float:
    """Return the mean negative log probability of the labels."""
    label_probabilities = np.where(labels, probabilities, 1 - probabilities)
    return float(-np.log(np.maximum(label_probabilities, 1e-12)).mean())


def _make_bins(probabilities: Floats, labels: Bools) -> tuple[Bin, ...]:
    """Return MIN_BINS to MAX_BINS bins of equal mass, with HITS_PER_BIN hits in each if there are enough."""
    order = np.argsort(probabilities, kind="stable")
    count = min(max(len(order) // HITS_PER_BIN, MIN_BINS), MAX_BINS, len(order))
    parts = np.array_split(order, count)
    return tuple(Bin(float(probabilities[p].mean()), float(labels[p].mean()), len(p)) for p in parts)


def _calibration_error(bins: Sequence[Bin]) -> float:
    return sum(abs(b.probability - b.right) * b.n for b in bins) / sum(b.n for b in bins)


def _cluster_sums(probabilities: Floats, labels: Bools, clusters: Sequence[str]) -> Floats:
    """Return each cluster's number of hits, of right ones, and its sum of squared errors, (clusters, 3)."""
    cluster_index = np.unique(np.array(clusters), return_inverse=True)[1]
    rows = np.column_stack([np.ones(len(labels)), labels, (probabilities - labels) ** 2])
    return np.column_stack([np.bincount(cluster_index, column) for column in rows.T]).astype(np.float64)


@dataclass(frozen=True, slots=True)
class GroupAverages:
    """Measurements of each group, and the means over groups.

    base_rate: the share of hits that are right. skill: Brier skill against each group's own base rate. Their 95 %
    intervals are by bootstrap over clusters within their group. error: the calibration error.
    """

    groups: Mapping[str, Reliability]
    base_rate: float
    base_rate_interval: tuple[float, float]
    skill: float
    skill_interval: tuple[float, float]
    error: float

    @classmethod
    def measure(cls, groups: Mapping[str, GroupHits], seed: int = 0) -> Self:
        """Measure groups with at least one hit."""
        measured = {name: measure_reliability(*hits, seed) for name, hits in groups.items()}
        drawn = [resample_clusters(*hits, seed + number) for number, hits in enumerate(groups.values())]

        def mean(name: str) -> float:
            return float(np.mean([getattr(each, name) for each in measured.values()]))

        rates = np.mean([means[:, 1] / means[:, 0] for means in drawn], axis=0)
        skills = np.mean([skill_of_means(means) for means in drawn], axis=0)
        rate, skill = (mean("base_rate"), percentile_interval(rates)), (mean("skill"), percentile_interval(skills))
        return cls(measured, *rate, *skill, mean("error"))

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return asdict(self)
