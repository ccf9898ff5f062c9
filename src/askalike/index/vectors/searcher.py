"""Searches a fixed state of an index of vectors.

For each segment, a generator proposes the rows that may be among the k best. `ScannedRows` reads a sketch, one byte per
number, and leaves out only rows that cannot be among them. `CodedRows` reads codes of two bits per number first, whose
bounds hold with high probability. The proposed rows are scored exactly, in double precision and in a fixed order of
addition. So the result is exact, and the same for any batch, any k and any layout of segments, except for rare misses
in large segments (codes.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import SearchIndexError
from askalike.core.lazy import lazy_property
from askalike.core.types import AllowedDocs, Floats, TopDocs, Vectors
from askalike.index.rows import Array, FoundTitles, find_titles
from askalike.index.vectors.codes import ScoreEstimates
from askalike.index.vectors.parts import DensePart, PartSchema, nonzero_rows, prepare_rows
from askalike.index.vectors.segment import VectorSegment
from askalike.index.vectors.sketch import Sketch

MAX_BOUNDS = 1 << 22
"""Maximum number of bounds in memory for all queries of a batch: 32 MiB."""
TOLERANCE = 1e-5
"""The relative rounding error of the sum of several parts' bounds."""
MIN_FINITE = float(np.finfo(np.float32).min)
"""Not above the bound of any row that may be found; the others have a bound of −∞."""
SURPLUS = 2
"""Ratio of the rows bounded first to the rows requested."""
DEEPER = 4
"""Factor by which that number grows if the rows belong to too few documents."""


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
    def parts(self) -> list[Any]:
        """The rows of each part in the form that segments score."""
        return list(map(prepare_rows, self.vectors.parts))

    @lazy_property
    def nonzero(self) -> NDArray[np.bool_]:
        """Whether each query is not zero in some part."""
        return np.any(list(map(nonzero_rows, self.vectors.parts)), axis=0)


@dataclass(frozen=True, slots=True)
class BoundedRows:
    """Rows of a segment, ascending, with the lowest and highest possible score of each; −∞ if it must not be found."""

    segment: VectorSegment
    rows: Array
    low: Array
    high: Array

    def lows(self) -> Array:
        """Return the minimum score of each document: the highest of its rows' lower bounds."""
        if not self.segment.has_rephrasings or not len(self.rows):
            return self.low
        return np.maximum.reduceat(self.low, np.flatnonzero(np.diff(self.segment.docids[self.rows], prepend=-1)))

    def at_least(self, min_score: float) -> "BoundedRows":
        """Return the rows that may score at least `min_score`."""
        chosen = np.flatnonzero(self.high >= min_score)
        return BoundedRows(self.segment, self.rows[chosen], self.low[chosen], self.high[chosen])


class CandidateGenerator(Protocol):
    """Generates the candidates of one query in a segment, by bounds of their scores."""

    def best(self, k: int) -> BoundedRows:
        """Return the apparently best rows, of at least k documents; all rows if there are fewer documents."""

    def at_least(self, min_score: float) -> BoundedRows:
        """Return the rows that may score at least `min_score`."""


def candidate_generators(
    segment: VectorSegment, queries: Sequence[Array], exclusions: Sequence[tuple[int, int]], allowed: AllowedDocs | None
) -> Callable[[int], CandidateGenerator]:
    """Return a function from a query's position to its generator. queries: the rows of each part of the queries.

    allowed: documents to be found; None for all.
    """
    mask = segment.mask_allowed(allowed.docids if allowed else None)
    excluded = [segment.excluded_rows(*exclusion) for exclusion in exclusions]
    [part, *_], codes = segment.parts, segment.codes
    if codes and isinstance(part, DensePart):
        live = codes.mark_live(mask, len(segment.docids)) if allowed else segment.live_bits
        scores, sketch, vectors = codes.estimate_scores(queries[0], live), part.sketch, queries[0]
        return lambda q: CodedRows(segment, scores[q], sketch, vectors[q], excluded[q])
    low, high = segment.score_bounds(queries)
    return lambda q: ScannedRows.without(segment, low[q], high[q], mask, excluded[q])


class ScannedRows(BoundedRows):
    """All rows of a segment."""

    @classmethod
    def without(
        cls, segment: VectorSegment, low: Array, high: Array, mask: NDArray[np.bool_], excluded: Array
    ) -> "ScannedRows":
        """Exclude the rows that must not be found; overwrites the bounds. mask: see LiveRows.mask_allowed."""
        if len(mask):
            low[~mask], high[~mask] = -np.inf, -np.inf
        low[excluded], high[excluded] = -np.inf, -np.inf
        return cls(segment, np.arange(len(low)), low, high)

    def best(self, k: int) -> BoundedRows:
        """See CandidateGenerator; the bounds of all rows are known."""
        return self


@dataclass(frozen=True, slots=True)
class CodedRows(CandidateGenerator):
    """The likely scores of all rows of a segment; bounds are computed only for the rows that these leave."""

    segment: VectorSegment
    scores: ScoreEstimates
    sketch: Sketch
    query: Array
    excluded: Array

    def best(self, k: int) -> BoundedRows:
        """See CandidateGenerator. The best rows of different blocks are of different documents, except for rephrasings.

        Enough rows are bounded that the k-th of their bounds is near the k-th of all, and few other rows reach it.
        """
        block_max = self.scores.block_max
        count = SURPLUS * (int(k * self.segment.rows_per_docid) + len(self.excluded))
        while count < len(block_max):
            found = self._bound(float(np.partition(block_max, -count)[-count]))
            if len(found.lows()) >= k:
                return found
            count *= DEEPER
        return self._bound(-np.inf)

    def at_least(self, min_score: float) -> BoundedRows:
        return self._bound(min_score).at_least(min_score)

    def _bound(self, min_likely: float) -> BoundedRows:
        """Return the rows whose likely score is at least `min_likely`."""
        rows = self.scores.find_at_least(min_likely)
        if len(self.excluded):
            rows = rows[~np.isin(rows, self.excluded)]
        return BoundedRows(self.segment, rows, *self.sketch.bound_rows(rows, self.query))


class VectorSearcher:
    """Searches a fixed set of segments and deletions."""

    def __init__(self, segments: Sequence[VectorSegment], schemas: Sequence[PartSchema]) -> None:
        self._segments, self._schemas = segments, tuple(schemas)
        self._has_rephrasings = any(segment.has_rephrasings for segment in segments)

    def search(self, queries: VectorQueries, k: int, allowed: AllowedDocs | None = None) -> list[TopDocs]:
        """Return the k best questions of each query, each by its best phrasing.

        allowed: the documents that may be found; None for all. A query of zeros finds nothing.
        """
        self._check_schemas(queries)
        exclusions = queries.exclusions
        if k < 1:
            return [TopDocs(np.empty(0, np.int64), np.empty(0)) for _ in exclusions]
        step = max(1, MAX_BOUNDS // max(1, sum(len(s.docids) for s in self._segments)))
        top_docs: list[TopDocs] = []
        for start in range(0, len(exclusions), step):
            rows = slice(start, start + step)
            parts = [part[rows] for part in queries.parts]
            generators = [candidate_generators(own, parts, exclusions[rows], allowed) for own in self._segments]
            top_docs += [
                self._search_one(queries, start + at, k, [generate(at) for generate in generators])
                for at in range(len(exclusions[rows]))
            ]
        return top_docs

    def score(self, queries: VectorQueries, candidates: Sequence[Array]) -> list[Floats]:
        """Return the score of each query's candidates: docids in any order; NaN if a vector is missing or zero."""
        self._check_schemas(queries)
        return [self._score_candidates(queries, q, docids) for q, docids in enumerate(candidates)]

    def best_phrasing(self, queries: VectorQueries, q: int, docid: int) -> int:
        """Return the phrasing of a question that scores best for a query; 0 if it has no vector."""
        self._check_schemas(queries)
        best, phrasing = -np.inf, 0
        for segment in self._segments:
            _, rows = segment.find_rows(np.array([docid]), *queries.exclusions[q])
            scores = segment.score_rows(rows, queries.parts, q)
            if len(rows) and scores.max() > best:
                best, phrasing = scores.max(), int(segment.phrasings[rows[scores.argmax()]])
        return phrasing

    def find_titles(self, keys: Sequence[int], exclusions: Sequence[tuple[int, int]]) -> FoundTitles:
        """See TitlesSearcher."""
        return partial(find_titles, self._segments, keys, exclusions)

    def _check_schemas(self, queries: VectorQueries) -> None:
        if self._schemas and queries.schemas != self._schemas:
            kinds = queries.schemas
            raise SearchIndexError(f"a query's vectors {kinds} do not match the index's {self._schemas}; rebuild it")

    def _search_one(self, queries: VectorQueries, q: int, k: int, generators: Sequence[CandidateGenerator]) -> TopDocs:
        docids, scores = [np.empty(0, np.int64)], [np.empty(0)]
        if queries.nonzero[q]:
            min_score = _kth_low([generator.best(k) for generator in generators], k)
            likely = [generator.at_least(min_score) for generator in generators]
            min_score = _kth_low(likely, k)
            for one in likely:
                rows = one.rows[one.high >= min_score]
                docids.append(one.segment.docids[rows])
                scores.append(one.segment.score_rows(rows, queries.parts, q))
        return _select_top_docs(np.concatenate(docids), np.concatenate(scores), k, self._has_rephrasings)

    def _score_candidates(self, queries: VectorQueries, q: int, docids: Array) -> Floats:
        best = np.full(len(docids), -np.inf)
        for segment in self._segments if queries.nonzero[q] else ():
            near = segment.may_contain(docids).nonzero()[0]
            if len(near):
                at, rows = segment.find_rows(docids[near], *queries.exclusions[q])
                np.maximum.at(best, near[at], segment.score_rows(rows, queries.parts, q))
        return np.where(np.isfinite(best), best, np.nan)


def _kth_low(found: Sequence[BoundedRows], k: int) -> float:
    """Return a lower bound of the k-th best document's score, less rounding errors; MIN_FINITE for fewer documents."""
    bounds = np.concatenate([np.empty(0, np.float32), *(one.lows() for one in found)])
    if k > len(bounds):
        return MIN_FINITE
    bounds.partition(len(bounds) - k)
    kth = float(bounds[len(bounds) - k])
    return kth - TOLERANCE * max(1.0, abs(kth)) if np.isfinite(kth) else MIN_FINITE


def _select_top_docs(docids: Array, scores: Floats, k: int, has_rephrasings: bool) -> TopDocs:
    """Return the k best docids by their best rows. has_rephrasings: whether a docid may have several rows."""
    best = np.lexsort((docids, -scores))
    if has_rephrasings:
        ordered = docids[best]
        by_docid = np.argsort(ordered, kind="stable")
        first = by_docid[np.flatnonzero(np.diff(ordered[by_docid], prepend=-1))]
        best = best[np.sort(first)]
    return TopDocs(docids[best[:k]], scores[best[:k]])
