"""Searches a fixed state of an index of vectors.

A first look (sketch.py) bounds every row's score; only rows that may be among the k best are scored exactly, in
double precision and in an order of addition that depends on nothing else. So the result is exact, the same for any
batch, any k and any layout of segments; segments with a graph (hnsw.py) propose their candidates instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askalike.errors import SearchIndexError
from askalike.index.hnsw import Graph
from askalike.index.search import Found
from askalike.index.segment import Array
from askalike.index.stored import Kind, Stored, filled, prepared
from askalike.types import Vectors

SCORES = 1 << 22  # bounds held at a time, for all queries of a batch: 32 MiB
NOTHING = Found(np.empty(0, np.int64), np.empty(0))
TOLERANCE = 1e-5  # of the sum of several parts' bounds, relative


@dataclass(frozen=True, slots=True)
class VectorQueries:
    """Queries: their vectors, and for each a question not to be found (−1: none), or one phrasing of it (−1: all)."""

    vectors: Vectors
    skips: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Rows:
    """A segment with what was deleted from it since it was written."""

    numbers: Array
    phrasings: Array
    stored: tuple[Stored, ...]
    weights: tuple[float, ...]
    live: Array
    """bool (n)."""
    graphs: tuple[Graph | None, ...]

    @cached_property
    def starts(self) -> Array:
        """Where each number's rows begin."""
        return np.flatnonzero(np.diff(self.numbers, prepend=-1))

    @cached_property
    def spread(self) -> float:
        """How many rows there are for each number that can be found."""
        found = int(np.count_nonzero(np.diff(self.numbers[self.live], prepend=-1)))
        return len(self.numbers) / max(1, found)

    def allowed(self, numbers: Array | None) -> Array:
        """bool (n): the live rows whose numbers are among those given (rising); all live ones for None."""
        if numbers is None:
            return self.live
        return self.live & np.isin(self.numbers, numbers, assume_unique=False)

    def skipped(self, number: int, phrasing: int) -> Array:
        """The rows that a query must not find."""
        rows = np.arange(*np.searchsorted(self.numbers, [number, number + 1]))
        return rows if phrasing < 0 else rows[self.phrasings[rows] == phrasing]

    def between(self, queries: Sequence[Array]) -> tuple[Array, Array]:
        """(lowest, highest) possible score of each row for each query: (queries, n) both."""
        lows, highs = zip(*(_weighted(s.between(q), w) for s, q, w in self._parts(queries)), strict=True)
        return (lows[0], highs[0]) if len(lows) == 1 else (sum(lows[1:], lows[0]), sum(highs[1:], highs[0]))

    def exact(self, rows: Array, queries: Sequence[Array], query: int) -> NDArray[np.float64]:
        """The scores of these rows for one query."""
        scores = np.zeros(len(rows))
        for stored, values, weight in self._parts(queries):
            scores += weight * stored.exact(rows, values, query)
        return scores

    def _parts(self, queries: Sequence[Array]) -> Sequence[tuple[Stored, Array, float]]:
        return list(zip(self.stored, queries, self.weights, strict=True))


class VectorSearcher:
    """Searches the same segments and deletions for as long as it is held."""

    def __init__(self, segments: Sequence[Rows], kinds: Sequence[Kind]) -> None:
        self._segments = segments
        self._kinds = tuple(kinds)

    def search(self, queries: VectorQueries, k: int, allowed: Array | None = None) -> list[Found]:
        """The k best questions of each query, each by its best phrasing; ties by number.

        allowed: the numbers that may be found, rising; None for all. A query without anything in it finds nothing.
        """
        values, asked = self._prepared(queries.vectors)
        masks = [s.allowed(allowed) for s in self._segments]
        found: list[Found] = []
        batch = max(1, SCORES // max(1, sum(len(s.numbers) for s in self._segments)))
        for start in range(0, len(queries.vectors), batch):
            several = range(start, min(start + batch, len(queries.vectors)))
            found += self._search([v[start : start + batch] for v in values], queries.skips[start : start + batch],
                                  k, masks, [bool(asked[i]) for i in several], allowed is None)  # fmt: skip
        return found

    def score(self, queries: VectorQueries, candidates: Sequence[Array]) -> list[NDArray[np.float64]]:
        """The score of each query's candidates (numbers, in any order); NaN where nothing is there or asked."""
        values, asked = self._prepared(queries.vectors)
        return [
            self._scored(values, i, numbers, skip) if asked[i] else np.full(len(numbers), np.nan)
            for i, (numbers, skip) in enumerate(zip(candidates, queries.skips, strict=True))
        ]

    def best(self, queries: VectorQueries, query: int, number: int) -> int:
        """Which of a question's phrasings is the query's best; 0 where none is there."""
        values, _ = self._prepared(queries.vectors)
        best, phrasing = -np.inf, 0
        for segment in self._segments:
            rows = self._usable(segment, np.array([number]), queries.skips[query])[1]
            scores = segment.exact(rows, values, query)
            if len(rows) and scores.max() > best:
                best, phrasing = scores.max(), int(segment.phrasings[rows[scores.argmax()]])
        return phrasing

    def _prepared(self, vectors: Vectors) -> tuple[list[Array], NDArray[np.bool_]]:
        kinds = tuple(Kind.of(part) for part in vectors.parts)
        if self._kinds and kinds != self._kinds:
            raise SearchIndexError(f"a query's vectors {kinds} do not go with the index's {self._kinds}; rebuild it")
        return [prepared(part) for part in vectors.parts], np.any([filled(part) for part in vectors.parts], axis=0)

    def _search(
        self,
        values: Sequence[Array],
        skips: Sequence[tuple[int, int]],
        k: int,
        masks: Sequence[Array],
        asked: Sequence[bool],
        graphs: bool,
    ) -> list[Found]:
        walked = [graphs and all(s.graphs) and bool(s.graphs) for s in self._segments]
        bounds = [None if w else s.between(values) for s, w in zip(self._segments, walked, strict=True)]
        return [
            self._one(values, query, skip, k, masks, bounds) if asked[query] else NOTHING
            for query, skip in enumerate(skips)
        ]

    def _one(
        self,
        values: Sequence[Array],
        query: int,
        skip: tuple[int, int],
        k: int,
        masks: Sequence[Array],
        bounds: Sequence[tuple[Array, Array] | None],
    ) -> Found:
        """The k best of one query: of each segment the rows that its bounds, or its graphs where it has none, leave."""
        looks = [
            None if both is None else _look(s, both, query, mask, skip)
            for s, both, mask in zip(self._segments, bounds, masks, strict=True)
        ]
        least = _kth([_by_number(s, look[0]) for s, look in zip(self._segments, looks, strict=True) if look], k)
        numbers, scores = [NOTHING.numbers], [NOTHING.scores]
        for segment, look, mask in zip(self._segments, looks, masks, strict=True):
            if look is None:
                rows = _walked(segment, values, query, k, mask, skip)
            else:
                rows = np.flatnonzero((look[1] >= least) & np.isfinite(look[1]))
            numbers.append(segment.numbers[rows])
            scores.append(segment.exact(rows, values, query))
        return _best(np.concatenate(numbers), np.concatenate(scores), k)

    def _scored(
        self, values: Sequence[Array], query: int, numbers: Array, skip: tuple[int, int]
    ) -> NDArray[np.float64]:
        best = np.full(len(numbers), -np.inf)
        for segment in self._segments:
            if not len(segment.numbers):
                continue
            near = np.flatnonzero((numbers >= segment.numbers[0]) & (numbers <= segment.numbers[-1]))
            if len(near):
                at, rows = self._usable(segment, numbers[near], skip)
                np.maximum.at(best, near[at], segment.exact(rows, values, query))
        return np.where(np.isfinite(best), best, np.nan)

    @staticmethod
    def _usable(segment: Rows, numbers: Array, skip: tuple[int, int]) -> tuple[Array, Array]:
        """(position in `numbers`, row) for every live row of a number that the query may use."""
        first = np.searchsorted(segment.numbers, numbers, "left")
        sizes = np.searchsorted(segment.numbers, numbers, "right") - first
        at = np.repeat(np.arange(len(numbers)), sizes)
        rows = np.repeat(first, sizes) + np.arange(len(at)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        kept = segment.live[rows] & ~np.isin(rows, segment.skipped(*skip))
        return at[kept], rows[kept]


def _weighted(bounds: tuple[Array, Array], weight: float) -> tuple[Array, Array]:
    low, high = bounds if weight >= 0 else bounds[::-1]
    return (low, high) if weight == 1 else (low * weight, high * weight)


def _look(
    segment: Rows, bounds: tuple[Array, Array], query: int, mask: Array, skip: tuple[int, int]
) -> tuple[Array, Array]:
    """(lowest, highest) of one query, −∞ for rows that must not be found."""
    low, high = bounds[0][query], bounds[1][query]
    low[~mask], high[~mask] = -np.inf, -np.inf
    rows = segment.skipped(*skip)
    low[rows], high[rows] = -np.inf, -np.inf
    return low, high


def _by_number(segment: Rows, low: Array) -> Array:
    return low if len(segment.starts) == len(low) else np.maximum.reduceat(low, segment.starts)


def _kth(lows: Sequence[Array], k: int) -> float:
    """The k-th largest of all, less what rounding may have added; −∞ where there are not so many."""
    every = np.concatenate([np.empty(0, np.float32), *lows])
    if k > len(every):
        return -np.inf
    least = float(np.partition(every, len(every) - k)[len(every) - k])
    return least - TOLERANCE * max(1.0, abs(least)) if np.isfinite(least) else -np.inf


def _walked(segment: Rows, values: Sequence[Array], query: int, k: int, mask: Array, skip: tuple[int, int]) -> Array:
    """The rows that the parts' graphs propose."""
    wanted = int(k * segment.spread) + len(segment.skipped(*skip)) + 100
    proposed = [g.nearest(v[query], wanted) for g, v in zip(segment.graphs, values, strict=True) if g]
    rows = np.unique(np.concatenate(proposed))
    return rows[mask[rows] & ~np.isin(rows, segment.skipped(*skip))]


def _best(numbers: Array, scores: NDArray[np.float64], k: int) -> Found:
    """The k best numbers by their best rows."""
    order = np.lexsort((numbers, -scores))
    _, first = np.unique(numbers[order], return_index=True)
    kept = order[np.sort(first)[:k]]
    return Found(numbers[kept], scores[kept])
