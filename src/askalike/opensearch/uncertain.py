"""Finds hits of a cluster that must be rescored, since its rounded scores do not order them, or that are missing."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.core.types import TopDocs
from askalike.opensearch.connection import PendingSearch
from askalike.opensearch.index import MAX_WINDOW

NEARLY_EQUAL = 1 - 2e-6
"""The cluster's scores differ from the exact ones by less than this factor."""


def sort_hits(scores: Mapping[int, float], k: int | None = None) -> TopDocs:
    """Return the k best documents (None: all) of docid → score, ties by docid."""
    docids, values = np.array(list(scores), np.int64), np.array(list(scores.values()), np.float64)
    order = np.lexsort((docids, -values))[:k]
    return TopDocs(docids[order], values[order])


def larger_windows(
    searches: Mapping[str, PendingSearch], fetched: Mapping[str, int], found: Mapping[int, float], k: int
) -> dict[str, int]:
    """Return field → the number of texts to fetch, for fields with further texts that may be among the k best."""
    worst = sorted(found.values(), reverse=True)[:k][-1] if len(found) >= k else 0.0
    return {
        field: min(4 * fetched[field], MAX_WINDOW)
        for field, search in searches.items()
        if fetched[field] == len(search.hits) < MAX_WINDOW and _may_go_on(search.hits, worst)
    }


def _may_go_on(hits: Sequence[Mapping[str, Any]], worst: float) -> bool:
    """Return whether hits after these may be better than the worst wanted one. Ties are by docid."""
    last: float = hits[-1]["sort"][0]
    return last > worst * NEARLY_EQUAL and last != worst


def nearly_equal(scores: NDArray[np.float64], k: int) -> NDArray[np.bool_]:
    """Return which of some descending scores are in a group of nearly equal ones that begins in the first k.

    A group with exactly the same score need not be rescored: its texts have the same terms equally often.
    """
    uncertain = np.zeros(len(scores), np.bool_)
    ends = [*np.flatnonzero(scores[1:] < scores[:-1] * NEARLY_EQUAL) + 1, len(scores)]
    for start, end in zip([0, *ends], ends, strict=False):
        uncertain[start:end] = start < min(k, end) and scores[start] != scores[end - 1]
    return uncertain
