"""AP, RR and AvgRec as the official scorer of SemEval-2016/2017 Task 3 defines them, over the first ten hits.

Each function takes hits (queries, 10) bool: is the query's k-th hit relevant; relevant (queries,): how many relevant
documents the query has. Each returns one value a query, (queries,) float64, whose mean is the scorer's figure.
"""

import numpy as np
from numpy.typing import NDArray

DEPTH = 10
RANKS = np.arange(1, DEPTH + 1)

Hits = NDArray[np.bool_]
Counts = NDArray[np.int64]
Values = NDArray[np.float64]


def average_precision(hits: Hits, relevant: Counts) -> Values:
    """The mean of the precisions at the relevant hits found, not divided by those missed; 0 without one."""
    precisions = hits * (hits.cumsum(axis=1) / RANKS)
    return np.asarray(precisions.sum(axis=1) / np.maximum(hits.sum(axis=1), 1))


def reciprocal_rank(hits: Hits, relevant: Counts) -> Values:
    """100 / the rank of the first relevant hit; 0 without one."""
    return np.asarray(100 * (hits / RANKS).max(axis=1))


def average_recall(hits: Hits, relevant: Counts) -> Values:
    """Shares of AvgRec, the mean over k = 1…10 of Σ hits in the first k / Σ min(k, relevant), sums over queries.

    The figure is a ratio of sums, so a query's value is its part of it times the number of queries; it may exceed 1.
    """
    possible = np.minimum(RANKS, relevant[:, None]).sum(axis=0)
    return np.asarray((hits.cumsum(axis=1) / np.maximum(possible, 1)).mean(axis=1) * len(hits))
