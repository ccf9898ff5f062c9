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
from askalike.index.lexical.segment import Array
from askalike.index.vectors.graph import HnswGraph
from askalike.index.vectors.stored import PartSchema, StoredPart, nonzero_rows, prepare_rows
from askalike.types import TopDocs, Vectors

MAX_BOUNDS = 1 << 22  # bounds held at a time, for all queries of a batch: 32 MiB
EMPTY_TOP_DOCS = TopDocs(np.empty(0, np.int64), np.empty(0))
TOLERANCE = 1e-5  # of the sum of several parts' bounds, relative


@dataclass(frozen=True, slots=True)
class VectorQueries:
    """Queries: their vectors, and for each a question not to be found (−1: none), or one phrasing of it (−1: all)."""

    vectors: Vectors
    exclusions: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class LiveVectorSegment:
    """A segment with what was deleted from it since it was written."""

    docids: Array
    phrasings: Array
    parts: tuple[StoredPart, ...]
    weights: tuple[float, ...]
    live_mask: Array
    """bool (n)."""
    graphs: tuple[HnswGraph | None, ...]

    @cached_property
    def docid_starts(self) -> Array:
        """Where each number's rows begin."""
        return np.flatnonzero(np.diff(self.docids, prepend=-1))

    @cached_property
    def rows_per_docid(self) -> float:
        """How many rows there are for each number that can be found."""
        found = int(np.count_nonzero(np.diff(self.docids[self.live_mask], prepend=-1)))
        return len(self.docids) / max(1, found)

    def mask_allowed(self, docids: Array | None) -> Array:
        """bool (n): the live rows whose numbers are among those given (rising); all live ones for None."""
        if docids is None:
            return self.live_mask
        return self.live_mask & np.isin(self.docids, docids, assume_unique=False)

    def find_excluded(self, docid: int, phrasing: int) -> Array:
        """The rows that a query must not find."""
        rows = np.arange(*np.searchsorted(self.docids, [docid, docid + 1]))
        return rows if phrasing < 0 else rows[self.phrasings[rows] == phrasing]

    def score_bounds(self, queries: Sequence[Array]) -> tuple[Array, Array]:
        """(lowest, highest) possible score of each row for each query: (queries, n) both."""
        lows, highs = zip(
            *(_weight_bounds(s.score_bounds(q), w) for s, q, w in self._weighted_parts(queries)), strict=True
        )
        return (lows[0], highs[0]) if len(lows) == 1 else (sum(lows[1:], lows[0]), sum(highs[1:], highs[0]))

    def score_rows(self, rows: Array, queries: Sequence[Array], query_index: int) -> NDArray[np.float64]:
        """The scores of these rows for one query."""
        scores = np.zeros(len(rows))
        for stored, values, weight in self._weighted_parts(queries):
            scores += weight * stored.score_rows(rows, values, query_index)
        return scores

    def _weighted_parts(self, queries: Sequence[Array]) -> Sequence[tuple[StoredPart, Array, float]]:
        return list(zip(self.parts, queries, self.weights, strict=True))


class VectorSearcher:
    """Searches the same segments and deletions for as long as it is held."""

    def __init__(self, segments: Sequence[LiveVectorSegment], schemas: Sequence[PartSchema]) -> None:
        self._segments = segments
        self._schemas = tuple(schemas)

    def search(self, queries: VectorQueries, k: int, allowed_docids: Array | None = None) -> list[TopDocs]:
        """The k best questions of each query, each by its best phrasing; ties by number.

        allowed: the numbers that may be found, rising; None for all. A query without anything in it finds nothing.
        """
        values, asked = self._prepare_queries(queries.vectors)
        masks = [s.mask_allowed(allowed_docids) for s in self._segments]
        found: list[TopDocs] = []
        batch = max(1, MAX_BOUNDS // max(1, sum(len(s.docids) for s in self._segments)))
        for start in range(0, len(queries.vectors), batch):
            several = range(start, min(start + batch, len(queries.vectors)))
            found += self._search_batch([v[start : start + batch] for v in values], queries.exclusions[start : start + batch],
                                  k, masks, [bool(asked[i]) for i in several], allowed_docids is None)  # fmt: skip
        return found

    def score(self, queries: VectorQueries, candidates: Sequence[Array]) -> list[NDArray[np.float64]]:
        """The score of each query's candidates (numbers, in any order); NaN where nothing is there or asked."""
        values, asked = self._prepare_queries(queries.vectors)
        return [
            self._score_candidates(values, i, numbers, skip) if asked[i] else np.full(len(numbers), np.nan)
            for i, (numbers, skip) in enumerate(zip(candidates, queries.exclusions, strict=True))
        ]

    def best_phrasing(self, queries: VectorQueries, query_index: int, docid: int) -> int:
        """Which of a question's phrasings is the query's best; 0 where none is there."""
        values, _ = self._prepare_queries(queries.vectors)
        best, phrasing = -np.inf, 0
        for segment in self._segments:
            rows = self._find_rows(segment, np.array([docid]), queries.exclusions[query_index])[1]
            scores = segment.score_rows(rows, values, query_index)
            if len(rows) and scores.max() > best:
                best, phrasing = scores.max(), int(segment.phrasings[rows[scores.argmax()]])
        return phrasing

    def _prepare_queries(self, vectors: Vectors) -> tuple[list[Array], NDArray[np.bool_]]:
        kinds = tuple(PartSchema.from_part(part) for part in vectors.parts)
        if self._schemas and kinds != self._schemas:
            raise SearchIndexError(f"a query's vectors {kinds} do not go with the index's {self._schemas}; rebuild it")
        return [prepare_rows(part) for part in vectors.parts], np.any(
            [nonzero_rows(part) for part in vectors.parts], axis=0
        )

    def _search_batch(
        self,
        values: Sequence[Array],
        exclusions: Sequence[tuple[int, int]],
        k: int,
        allowed_masks: Sequence[Array],
        nonzero: Sequence[bool],
        use_graphs: bool,
    ) -> list[TopDocs]:
        walked = [use_graphs and all(s.graphs) and bool(s.graphs) for s in self._segments]
        bounds = [None if w else s.score_bounds(values) for s, w in zip(self._segments, walked, strict=True)]
        return [
            self._search_one(values, query, skip, k, allowed_masks, bounds) if nonzero[query] else EMPTY_TOP_DOCS
            for query, skip in enumerate(exclusions)
        ]

    def _search_one(
        self,
        values: Sequence[Array],
        query_index: int,
        exclusion: tuple[int, int],
        k: int,
        allowed_masks: Sequence[Array],
        bounds: Sequence[tuple[Array, Array] | None],
    ) -> TopDocs:
        """The k best of one query: of each segment the rows that its bounds, or its graphs where it has none, leave."""
        looks = [
            None if both is None else _query_bounds(s, both, query_index, mask, exclusion)
            for s, both, mask in zip(self._segments, bounds, allowed_masks, strict=True)
        ]
        least = _kth_bound(
            [_max_by_docid(s, look[0]) for s, look in zip(self._segments, looks, strict=True) if look], k
        )
        numbers, scores = [EMPTY_TOP_DOCS.docids], [EMPTY_TOP_DOCS.scores]
        for segment, look, mask in zip(self._segments, looks, allowed_masks, strict=True):
            if look is None:
                rows = _graph_candidates(segment, values, query_index, k, mask, exclusion)
            else:
                rows = np.flatnonzero((look[1] >= least) & np.isfinite(look[1]))
            numbers.append(segment.docids[rows])
            scores.append(segment.score_rows(rows, values, query_index))
        return _select_top_docs(np.concatenate(numbers), np.concatenate(scores), k)

    def _score_candidates(
        self, values: Sequence[Array], query_index: int, docids: Array, exclusion: tuple[int, int]
    ) -> NDArray[np.float64]:
        best = np.full(len(docids), -np.inf)
        for segment in self._segments:
            if not len(segment.docids):
                continue
            near = np.flatnonzero((docids >= segment.docids[0]) & (docids <= segment.docids[-1]))
            if len(near):
                at, rows = self._find_rows(segment, docids[near], exclusion)
                np.maximum.at(best, near[at], segment.score_rows(rows, values, query_index))
        return np.where(np.isfinite(best), best, np.nan)

    @staticmethod
    def _find_rows(segment: LiveVectorSegment, docids: Array, exclusion: tuple[int, int]) -> tuple[Array, Array]:
        """(position in `numbers`, row) for every live row of a number that the query may use."""
        first = np.searchsorted(segment.docids, docids, "left")
        sizes = np.searchsorted(segment.docids, docids, "right") - first
        at = np.repeat(np.arange(len(docids)), sizes)
        rows = np.repeat(first, sizes) + np.arange(len(at)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        kept = segment.live_mask[rows] & ~np.isin(rows, segment.find_excluded(*exclusion))
        return at[kept], rows[kept]


def _weight_bounds(bounds: tuple[Array, Array], weight: float) -> tuple[Array, Array]:
    low, high = bounds if weight >= 0 else bounds[::-1]
    return (low, high) if weight == 1 else (low * weight, high * weight)


def _query_bounds(
    segment: LiveVectorSegment,
    bounds: tuple[Array, Array],
    query_index: int,
    allowed_mask: Array,
    exclusion: tuple[int, int],
) -> tuple[Array, Array]:
    """(lowest, highest) of one query, −∞ for rows that must not be found."""
    low, high = bounds[0][query_index], bounds[1][query_index]
    low[~allowed_mask], high[~allowed_mask] = -np.inf, -np.inf
    rows = segment.find_excluded(*exclusion)
    low[rows], high[rows] = -np.inf, -np.inf
    return low, high


def _max_by_docid(segment: LiveVectorSegment, low: Array) -> Array:
    return low if len(segment.docid_starts) == len(low) else np.maximum.reduceat(low, segment.docid_starts)


def _kth_bound(lows: Sequence[Array], k: int) -> float:
    """The k-th largest of all, less what rounding may have added; −∞ where there are not so many."""
    every = np.concatenate([np.empty(0, np.float32), *lows])
    if k > len(every):
        return -np.inf
    least = float(np.partition(every, len(every) - k)[len(every) - k])
    return least - TOLERANCE * max(1.0, abs(least)) if np.isfinite(least) else -np.inf


def _graph_candidates(
    segment: LiveVectorSegment,
    values: Sequence[Array],
    query_index: int,
    k: int,
    allowed_mask: Array,
    exclusion: tuple[int, int],
) -> Array:
    """The rows that the parts' graphs propose."""
    wanted = int(k * segment.rows_per_docid) + len(segment.find_excluded(*exclusion)) + 100
    proposed = [g.search(v[query_index], wanted) for g, v in zip(segment.graphs, values, strict=True) if g]
    rows = np.unique(np.concatenate(proposed))
    return rows[allowed_mask[rows] & ~np.isin(rows, segment.find_excluded(*exclusion))]


def _select_top_docs(docids: Array, scores: NDArray[np.float64], k: int) -> TopDocs:
    """The k best numbers by their best rows."""
    order = np.lexsort((docids, -scores))
    _, first = np.unique(docids[order], return_index=True)
    kept = order[np.sort(first)[:k]]
    return TopDocs(docids[kept], scores[kept])
