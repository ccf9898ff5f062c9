"""AP, RR and AvgRec as the official scorer of SemEval-2016/2017 Task 3 defines them, over the first ten hits.

Each function takes hits (queries, 10) bool: is the query's k-th hit relevant; relevant (queries,): how many relevant
documents the query has. Each returns one value a query, (queries,) float64, whose mean is the scorer's figure.
"""

import numpy as np
from numpy.typing import NDArray

DEPTH = 10
RANKS = np.arange(1, DEPTH + 1)

HitMatrix = NDArray[np.bool_]
RelevantCounts = NDArray[np.int64]
Values = NDArray[np.float64]


def average_precision(hits: HitMatrix, relevant: RelevantCounts) -> Values:
    """The mean of the precisions at the relevant hits found, not divided by those missed; 0 without one."""
    precisions = hits * (hits.cumsum(axis=1) / RANKS)
    return np.asarray(precisions.sum(axis=1) / np.maximum(hits.sum(axis=1), 1))


def reciprocal_rank(hits: HitMatrix, relevant: RelevantCounts) -> Values:
    """100 / the rank of the first relevant hit; 0 without one."""
    return np.asarray(100 * (hits / RANKS).max(axis=1))


def average_recall(hits: HitMatrix, relevant: RelevantCounts) -> Values:
    """Parts of AvgRec, the mean over k = 1…10 of R_k = Σ found in the first k / Σ min(k, relevant), sums over queries.

    The figure is a mean of ratios of sums, not a mean over queries; a query's value is the figure plus n times the
    query's influence on it, (found - R_k · possible) / Σ possible, so that the mean of the values is the figure, and
    their spread is that of the figure over other queries (the delta method). A single value may leave 0…1.
    """
    found, possible = hits.cumsum(axis=1), np.minimum(RANKS, relevant[:, None])
    total = np.maximum(possible.sum(axis=0), 1)
    ratio = found.sum(axis=0) / total
    return np.asarray((ratio + (found - ratio * possible) / total * len(hits)).mean(axis=1))
