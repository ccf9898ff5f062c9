"""Hits of a query with equal scores: how many there are, and their order drawn at random."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from askalike.core.types import Floats

Columns = tuple[Sequence[str], Floats]


def number_ties(scores: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of hits by falling score, and each ordered hit's number: tied hits have the same.

    Scores are tied if they are equal as 32-bit floats, or neighbours: run files separate tied hits by that much.
    """
    with np.errstate(over="ignore"):
        compared = scores.astype(np.float32)
    order = np.argsort(-compared, kind="stable")
    falling = compared[order]
    begins = falling[1:] < np.nextafter(falling[:-1], np.float32(-np.inf))
    return order, np.r_[0, np.cumsum(begins)][: len(order)]


def count_tied(scores: Floats) -> int:
    """Return the number of hits that are tied with another one."""
    sizes = np.bincount(number_ties(scores)[1])
    return int(sizes[sizes > 1].sum())


def shuffle_ties(queries: Sequence[tuple[str, Columns]], seed: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Return each query's documents with new scores, which fall by 1: the same order, with ties in a random one."""
    random = np.random.default_rng(seed)
    for query, (ids, scores) in queries:
        order, numbers = number_ties(scores)
        shuffled = order[np.lexsort((random.random(len(order)), numbers))].tolist()
        yield query, {ids[n]: float(len(ids) - place) for place, n in enumerate(shuffled)}
