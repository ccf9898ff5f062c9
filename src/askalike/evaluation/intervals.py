"""Intervals: of means by resampling (bootstrap), and of proportions (Wilson 1927)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from askalike.core.arrays import Array, Floats, Ints

CHUNK_SIZE = 2_000_000
"""The number of random numbers in memory at a time."""


def bootstrap_means(values: Floats, draws: int, seed: int, groups: Array | None = None) -> Floats:
    """Return means over queries drawn with replacement, the same queries for every column: (draws, columns).

    values: (queries, columns). groups: (queries,), the group of each, of which as many are drawn as it has.
    """
    rng = np.random.default_rng(seed)
    n = len(values)
    strata = [np.arange(n)] if groups is None else [np.flatnonzero(groups == group) for group in np.unique(groups)]

    def draw(rows: int) -> Ints:
        return np.hstack([stratum[rng.integers(len(stratum), size=(rows, len(stratum)))] for stratum in strata])

    return np.concatenate([_count_draws(draw(rows)) @ values / n for rows in _chunk_sizes(draws, n)])


def group_column(groups: Mapping[str, str], queries: Iterable[str]) -> Array | None:
    """Return the groups of some queries, (queries,). groups: query id → group; None if it is empty."""
    return np.array([groups[query] for query in queries]) if groups else None


def percentile_interval(means: Floats) -> tuple[float, float]:
    """Return the bounds of the middle 95 % of bootstrap means (percentile interval)."""
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)


def sign_flip_p(differences: Floats, draws: int, seed: int) -> Floats:
    """Return the two-sided p-value of a paired randomisation test on the mean, for each column: (columns,).

    differences: (queries, columns), one column per pair of systems. p is (1 + draws of signs whose sum is at least as
    far from 0) / (1 + draws), so never 0. Sums that differ only by rounding count as equal.
    """
    observed = np.abs(differences.sum(axis=0)) - 1e-10 * np.abs(differences).sum(axis=0)
    reached = np.zeros(differences.shape[1])
    for signs in _draw_signs(draws, len(differences), seed):
        reached += (np.abs(signs @ differences) >= observed).sum(axis=0)
    return np.asarray((1 + reached) / (1 + draws))


def max_sum_p(differences: Floats, draws: int, seed: int) -> float:
    """Return the one-sided p-value of the greatest column sum, under random signs, one per query.

    differences: (queries, columns). p is (1 + draws in which any column sum is as great) / (1 + draws), so never 0.
    """
    observed = differences.sum(axis=0).max() * (1 - 1e-10)
    reached = 0
    for signs in _draw_signs(draws, len(differences), seed, columns=differences.shape[1]):
        reached += int(((signs @ differences).max(axis=1) >= observed).sum())
    return (1 + reached) / (1 + draws)


def _count_draws(drawn: Ints) -> Ints:
    """Return how often each of the numbers 0 … n − 1 occurs in each row: (rows, n) → (rows, n)."""
    rows, n = drawn.shape
    return np.bincount((drawn + np.arange(rows)[:, None] * n).ravel(), minlength=rows * n).reshape(rows, n)


def _draw_signs(draws: int, n: int, seed: int, columns: int = 1) -> Iterator[Floats]:
    """Yield random signs, (rows, n), in chunks that are smaller the more columns there are."""
    rng = np.random.default_rng(seed)
    for rows in _chunk_sizes(draws, max(n, columns)):
        yield np.asarray(2.0 * rng.integers(2, size=(rows, n), dtype=np.int8) - 1.0, np.float64)


def _chunk_sizes(draws: int, n: int) -> Iterator[int]:
    chunk = max(1, CHUNK_SIZE // n)
    for start in range(0, draws, chunk):
        yield min(chunk, draws - start)


NORMAL_QUANTILE_975 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""


@dataclass(frozen=True, slots=True)
class BinomialProportion:
    """`count` successes in `n` trials."""

    count: int
    n: int

    @property
    def value(self) -> float:
        """The proportion; 0 if there are no trials."""
        return self.count / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of the 95 % Wilson interval."""
        return wilson_interval(self.count, self.n)

    def as_dict(self) -> Mapping[str, Any]:
        """Return the proportion with its interval and counts, for JSON."""
        return {"value": self.value, "interval": self.interval, "count": self.count, "n": self.n}


def wilson_interval(count: int, n: int) -> tuple[float, float]:
    """Return the bounds of the 95 % Wilson interval of count / n; (0, 1) if n is 0."""
    if not n:
        return 0.0, 1.0
    share, z2 = count / n, NORMAL_QUANTILE_975**2
    centre = (2 * n * share + z2) / (2 * (n + z2))
    margin = NORMAL_QUANTILE_975 * sqrt(4 * n * share * (1 - share) + z2) / (2 * (n + z2))
    return (centre - margin if count else 0.0), (centre + margin if count < n else 1.0)


def binomial_upper_bound(count: int, n: int, error: float) -> float:
    """Return the exact upper bound of a proportion (Clopper and Pearson 1934); 1 if n is 0.

    error: the probability, at most, that the proportion is higher.
    """
    if count >= n:
        return 1.0
    from scipy.stats import beta  # slow to import

    return float(beta.ppf(1 - error, count + 1, n - count))
