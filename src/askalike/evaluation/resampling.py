"""Bootstrap and sign-flip resampling over queries: vectorised in chunks, seeded, the same numbers every time."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CHUNK_SIZE = 2_000_000
"""Random numbers held at once."""


def bootstrap_means(values: Floats, draws: int, seed: int) -> Floats:
    """Means over queries drawn with replacement, the same queries for every column.

    values: (queries, columns). Returns (draws, columns).
    """
    rng, n = np.random.default_rng(seed), len(values)
    means = [_count_draws(rng.integers(n, size=(rows, n))) @ values / n for rows in _chunk_sizes(draws, n)]
    return np.concatenate(means)


def percentile_interval(means: Floats) -> tuple[float, float]:
    """The middle 95 % of bootstrap means (percentile interval)."""
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)


def sign_flip_p(differences: Floats, draws: int, seed: int) -> Floats:
    """Two-sided p of a paired randomisation test on the mean: how often random signs make a sum as far from 0.

    differences: (queries, columns), one column a pair of systems. Returns (columns,), each (1 + hits) / (1 + draws),
    so never 0. The tolerance keeps sums that are equal but for rounding equal.
    """
    rng, n = np.random.default_rng(seed), len(differences)
    observed = np.abs(differences.sum(axis=0)) - 1e-10 * np.abs(differences).sum(axis=0)
    reached = np.zeros(differences.shape[1])
    for rows in _chunk_sizes(draws, n):
        signs = 2.0 * rng.integers(2, size=(rows, n), dtype=np.int8) - 1.0
        reached += (np.abs(signs @ differences) >= observed).sum(axis=0)
    return np.asarray((1 + reached) / (1 + draws))


def max_sum_p(differences: Floats, draws: int, seed: int) -> float:
    """One-sided p of the greatest column sum: how often random signs, one a query, make any column's sum as great.

    differences: (queries, columns). (1 + hits) / (1 + draws), so never 0.
    """
    rng, n = np.random.default_rng(seed), len(differences)
    observed, reached = differences.sum(axis=0).max() * (1 - 1e-10), 0
    for rows in _chunk_sizes(draws, max(n, differences.shape[1])):
        signs = 2.0 * rng.integers(2, size=(rows, n), dtype=np.int8) - 1.0
        reached += int(((signs @ differences).max(axis=1) >= observed).sum())
    return (1 + reached) / (1 + draws)


def _count_draws(drawn: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each of the n columns' numbers comes in each row: (rows, n) → (rows, n)."""
    rows, n = drawn.shape
    return np.bincount((drawn + np.arange(rows)[:, None] * n).ravel(), minlength=rows * n).reshape(rows, n)


def _chunk_sizes(draws: int, n: int) -> Iterator[int]:
    most = max(1, CHUNK_SIZE // n)
    for start in range(0, draws, most):
        yield min(most, draws - start)
