"""Searches a fixed state of an index of vectors.

A first look (sketch.py) bounds every row's score. Only rows that may be among the k best are scored exactly, in double
precision and in an order of addition that depends on nothing else. So the result is exact and the same for any batch,
any k and any layout of segments. Segments with a graph (graph.py) propose their candidates instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.errors import SearchIndexError
from askalike.index.rows import Array, find_distinct
from askalike.index.vectors.parts import Bounds, PartSchema, nonzero_rows, prepare_rows
from askalike.index.vectors.segment import VectorSegment
from askalike.lazy import lazy_property
from askalike.types import AllowedDocs, Floats, TopDocs, Vectors

MAX_BOUNDS = 1 << 22
"""Bounds held at a time for all queries of a batch: 32 MiB."""
TOLERANCE = 1e-5
"""The relative rounding error of the sum of several parts' bounds."""
MIN_FINITE = float(np.finfo(np.float32).min)
"""Below the score of every row that may be found: the others have a bound of −∞."""


@dataclass(frozen=True, eq=False)
class VectorQueries:
    """Queries: their vectors, each with a docid that it must not find (−1: none), and one phrasing of it (−1: all)."""

    vectors: Vectors
    exclusions: Sequence[tuple[int, int]]

    @lazy_property
    def schemas(self) -> tuple[PartSchema, ...]:
        """The schemas of the vectors' parts."""
        return tuple(map(PartSchema.from_part, self.vectors.parts))

    @lazy_property
    def prepared(self) -> "_PreparedVectors":
        """The vectors as the segments score them."""
        parts = self.vectors.parts
        nonzero = np.any([nonzero_rows(part) for part in parts], axis=0)
        return _PreparedVectors([prepare_rows(part) for part in parts], self.exclusions, nonzero)


class VectorSearcher:
    """Searches the same segments and deletions for as long as it is held."""

    def __init__(self, segments: Sequence[VectorSegment], schemas: Sequence[PartSchema]) -> None:
        self._segments, self._schemas = segments, tuple(schemas)

    def search(self, queries: VectorQueries, k: int, allowed: AllowedDocs | None = None) -> list[TopDocs]:
        """Return the k best questions of each query, each by its best phrasing.

        allowed: the documents that may be found; None for all. A query of zeros finds nothing.
        """
        prepared = self._prepare(queries)
        masks = [segment.mask_allowed(allowed.docids if allowed else None) for segment in self._segments]
        exact = [allowed is not None or not s.graphs or not all(s.graphs) for s in self._segments]
        step = max(1, MAX_BOUNDS // max(1, sum(len(s.docids) for s in self._segments)))
        top_docs: list[TopDocs] = []
        for start in range(0, len(prepared), step):
            batch = prepared[start : start + step]
            bounds = [s.score_bounds(batch.parts) if e else None for s, e in zip(self._segments, exact, strict=True)]
            top_docs += [self._search_one(batch, i, k, masks, bounds) for i in range(len(batch))]
        return top_docs

    def score(self, queries: VectorQueries, candidates: Sequence[Array]) -> list[Floats]:
        """Return the score of each query's candidates: docids in any order; NaN where a vector is missing or zero."""
        prepared = self._prepare(queries)
        return [self._score_candidates(prepared, i, docids) for i, docids in enumerate(candidates)]

    def best_phrasing(self, queries: VectorQueries, q: int, docid: int) -> int:
        """Return the phrasing of a question that scores best for a query; 0 where it has no vector."""
        prepared = self._prepare(queries)
        best, phrasing = -np.inf, 0
        for segment in self._segments:
            _, rows = prepared.find_rows(q, segment, np.array([docid]))
            scores = segment.score_rows(rows, prepared.parts, q)
            if len(rows) and scores.max() > best:
                best, phrasing = scores.max(), int(segment.phrasings[rows[scores.argmax()]])
        return phrasing

    def _prepare(self, queries: VectorQueries) -> "_PreparedVectors":
        if self._schemas and queries.schemas != self._schemas:
            kinds = queries.schemas
            raise SearchIndexError(f"a query's vectors {kinds} do not match the index's {self._schemas}; rebuild it")
        return queries.prepared

    def _search_one(
        self, queries: "_PreparedVectors", q: int, k: int, masks: Sequence[Array], bounds: Sequence[Bounds | None]
    ) -> TopDocs:
        docids, scores = [np.empty(0, np.int64)], [np.empty(0)]
        if queries.nonzero[q]:
            exclusion, rows = queries.exclusions[q], zip(self._segments, bounds, masks, strict=True)
            usable = [pair and _usable_bounds(s, (pair[0][q], pair[1][q]), mask, exclusion) for s, pair, mask in rows]
            lows = [_max_by_docid(s, pair[0]) for s, pair in zip(self._segments, usable, strict=True) if pair]
            min_score = _kth_bound(lows, k)
            for segment, pair, mask in zip(self._segments, usable, masks, strict=True):
                if pair is None:
                    likely = _graph_candidates(segment, queries, q, k, mask)
                else:
                    likely = np.flatnonzero(pair[1] >= min_score)
                docids.append(segment.docids[likely])
                scores.append(segment.score_rows(likely, queries.parts, q))
        return _select_top_docs(np.concatenate(docids), np.concatenate(scores), k)

    def _score_candidates(self, queries: "_PreparedVectors", q: int, docids: Array) -> Floats:
        best = np.full(len(docids), -np.inf)
        if queries.nonzero[q]:
            for segment in self._segments:
                near = np.flatnonzero(segment.may_contain(docids))
                if len(near):
                    at, rows = queries.find_rows(q, segment, docids[near])
                    np.maximum.at(best, near[at], segment.score_rows(rows, queries.parts, q))
        return np.where(np.isfinite(best), best, np.nan)


@dataclass(frozen=True, slots=True)
class _PreparedVectors:
    """Queries as the segments score them: each part's rows, the exclusions, and which queries are not zero."""

    parts: Sequence[Array]
    exclusions: Sequence[tuple[int, int]]
    nonzero: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.nonzero)

    def __getitem__(self, rows: slice) -> "_PreparedVectors":
        return _PreparedVectors([part[rows] for part in self.parts], self.exclusions[rows], self.nonzero[rows])

    def find_rows(self, q: int, segment: VectorSegment, docids: Array) -> tuple[Array, Array]:
        """Return (position in `docids`, row) of every live row of these docids that the query may find."""
        return segment.find_rows(docids, *self.exclusions[q])


def _usable_bounds(segment: VectorSegment, bounds: Bounds, mask: Array, exclusion: tuple[int, int]) -> Bounds:
    """Return one query's bounds (n each), −∞ for rows that it must not find."""
    low, high = bounds
    if len(mask):
        low[~mask], high[~mask] = -np.inf, -np.inf
    rows = segment.excluded_rows(*exclusion)
    low[rows], high[rows] = -np.inf, -np.inf
    return low, high


def _max_by_docid(segment: VectorSegment, low: Array) -> Array:
    return low if len(segment.docid_starts) == len(low) else np.maximum.reduceat(low, segment.docid_starts)


def _kth_bound(lows: Sequence[Array], k: int) -> float:
    """Return the k-th largest of all bounds, less what rounding may have added; the least where there are fewer.

    It reorders the bounds.
    """
    bounds = lows[0] if len(lows) == 1 else np.concatenate([np.empty(0, np.float32), *lows])
    if k > len(bounds):
        return MIN_FINITE
    bounds.partition(len(bounds) - k)
    kth = float(bounds[len(bounds) - k])
    return kth - TOLERANCE * max(1.0, abs(kth)) if np.isfinite(kth) else MIN_FINITE


def _graph_candidates(segment: VectorSegment, queries: _PreparedVectors, q: int, k: int, mask: Array) -> Array:
    """Return the rows that the parts' graphs propose."""
    excluded = segment.excluded_rows(*queries.exclusions[q])
    count = int(k * segment.rows_per_docid) + len(excluded) + 100
    proposed = [g.search(v[q], count) for g, v in zip(segment.graphs, queries.parts, strict=True) if g]
    rows = find_distinct(np.concatenate(proposed))
    if len(mask):
        rows = rows[mask[rows]]
    return rows[~np.isin(rows, excluded)]


def _select_top_docs(docids: Array, scores: Floats, k: int) -> TopDocs:
    """Return the k best docids by their best rows."""
    order = np.lexsort((docids, -scores))
    ordered = docids[order]
    by_docid = np.argsort(ordered, kind="stable")
    first = by_docid[np.flatnonzero(np.diff(ordered[by_docid], prepend=-1))]
    best = order[np.sort(first)[:k]]
    return TopDocs(docids[best], scores[best])
