"""Searches a fixed state of an index of vectors.

A generator for each segment (candidates.py) proposes the rows that may be among the k best. They are scored exactly, in
double precision and in a fixed order of addition. So the result is exact, and the same for any batch, any k and any
layout of segments, except for rare misses in large segments (codes.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from askalike.core.errors import SearchIndexError
from askalike.core.lazy import lazy_property
from askalike.core.types import AllowedDocs, Floats, TopDocs, Vectors
from askalike.index.rows import Array, FoundTitles, find_titles
from askalike.index.vectors.candidates import BoundedRows, CandidateGenerator, PreparedVectors, candidate_generators
from askalike.index.vectors.parts import PartSchema, nonzero_rows, prepare_rows
from askalike.index.vectors.segment import VectorSegment

MAX_BOUNDS = 1 << 22
"""Maximum number of bounds in memory for all queries of a batch: 32 MiB."""
TOLERANCE = 1e-5
"""The relative rounding error of the sum of several parts' bounds."""
MIN_FINITE = float(np.finfo(np.float32).min)
"""Not above the bound of any row that may be found; the others have a bound of −∞."""


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
    def prepared(self) -> PreparedVectors:
        """The vectors in the form that segments score."""
        parts = self.vectors.parts
        nonzero = np.any([nonzero_rows(part) for part in parts], axis=0)
        return PreparedVectors([prepare_rows(part) for part in parts], self.exclusions, nonzero)


class VectorSearcher:
    """Searches a fixed set of segments and deletions."""

    def __init__(self, segments: Sequence[VectorSegment], schemas: Sequence[PartSchema]) -> None:
        self._segments, self._schemas = segments, tuple(schemas)

    def search(self, queries: VectorQueries, k: int, allowed: AllowedDocs | None = None) -> list[TopDocs]:
        """Return the k best questions of each query, each by its best phrasing.

        allowed: the documents that may be found; None for all. A query of zeros finds nothing.
        """
        prepared = self._prepare(queries)
        if k < 1:
            return [TopDocs(np.empty(0, np.int64), np.empty(0)) for _ in range(len(prepared))]
        step = max(1, MAX_BOUNDS // max(1, sum(len(s.docids) for s in self._segments)))
        top_docs: list[TopDocs] = []
        for start in range(0, len(prepared), step):
            batch = prepared[start : start + step]
            generators = [candidate_generators(segment, batch, allowed) for segment in self._segments]
            top_docs += [
                self._search_one(batch, q, k, [generate(q) for generate in generators]) for q in range(len(batch))
            ]
        return top_docs

    def score(self, queries: VectorQueries, candidates: Sequence[Array]) -> list[Floats]:
        """Return the score of each query's candidates: docids in any order; NaN if a vector is missing or zero."""
        prepared = self._prepare(queries)
        return [self._score_candidates(prepared, i, docids) for i, docids in enumerate(candidates)]

    def best_phrasing(self, queries: VectorQueries, q: int, docid: int) -> int:
        """Return the phrasing of a question that scores best for a query; 0 if it has no vector."""
        prepared = self._prepare(queries)
        best, phrasing = -np.inf, 0
        for segment in self._segments:
            _, rows = prepared.find_rows(q, segment, np.array([docid]))
            scores = segment.score_rows(rows, prepared.parts, q)
            if len(rows) and scores.max() > best:
                best, phrasing = scores.max(), int(segment.phrasings[rows[scores.argmax()]])
        return phrasing

    def find_titles(self, keys: Sequence[int], exclusions: Sequence[tuple[int, int]]) -> FoundTitles:
        """See TitlesSearcher."""
        return partial(find_titles, self._segments, keys, exclusions)

    def _prepare(self, queries: VectorQueries) -> PreparedVectors:
        if self._schemas and queries.schemas != self._schemas:
            kinds = queries.schemas
            raise SearchIndexError(f"a query's vectors {kinds} do not match the index's {self._schemas}; rebuild it")
        return queries.prepared

    def _search_one(
        self, queries: PreparedVectors, q: int, k: int, generators: Sequence[CandidateGenerator]
    ) -> TopDocs:
        docids, scores = [np.empty(0, np.int64)], [np.empty(0)]
        if queries.nonzero[q]:
            min_score = _kth_low([generator.best(k) for generator in generators], k)
            likely = [generator.at_least(min_score) for generator in generators]
            min_score = _kth_low(likely, k)
            for one in likely:
                rows = one.rows[one.high >= min_score]
                docids.append(one.segment.docids[rows])
                scores.append(one.segment.score_rows(rows, queries.parts, q))
        return _select_top_docs(np.concatenate(docids), np.concatenate(scores), k)

    def _score_candidates(self, queries: PreparedVectors, q: int, docids: Array) -> Floats:
        best = np.full(len(docids), -np.inf)
        if queries.nonzero[q]:
            for segment in self._segments:
                near = np.flatnonzero(segment.may_contain(docids))
                if len(near):
                    at, rows = queries.find_rows(q, segment, docids[near])
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


def _select_top_docs(docids: Array, scores: Floats, k: int) -> TopDocs:
    """Return the k best docids by their best rows."""
    order = np.lexsort((docids, -scores))
    ordered = docids[order]
    by_docid = np.argsort(ordered, kind="stable")
    first = by_docid[np.flatnonzero(np.diff(ordered[by_docid], prepend=-1))]
    best = order[np.sort(first)[:k]]
    return TopDocs(docids[best], scores[best])
