"""First looks at a segment of vectors: each proposes the rows that may be among a query's best.

`ScannedRows` reads a sketch, one byte a number, and leaves out only what cannot be among them. `CodedRows` reads two
bits a number before, whose bounds hold but for chance.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from askalike.index.rows import Array
from askalike.index.vectors.codes import LikelyScores
from askalike.index.vectors.parts import DensePart
from askalike.index.vectors.segment import VectorSegment
from askalike.index.vectors.sketch import Sketch
from askalike.types import AllowedDocs

DEEPER = 4
"""Factor by which a first look is repeated whose best rows are too few documents."""


class FirstLook(Protocol):
    """The rows of a segment that one query looks at."""

    def lows(self, k: int) -> Array:
        """Return what the k best documents, as far as the look tells, score at least: a number each, a new array."""

    def rows(self, min_score: float) -> Array:
        """Return the rows that may score so much, rising."""


@dataclass(frozen=True, slots=True)
class PreparedVectors:
    """Queries as the segments score them: each part's rows, the exclusions, and which queries are not zero."""

    parts: Sequence[Array]
    exclusions: Sequence[tuple[int, int]]
    nonzero: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.nonzero)

    def __getitem__(self, rows: slice) -> "PreparedVectors":
        return PreparedVectors([part[rows] for part in self.parts], self.exclusions[rows], self.nonzero[rows])

    def find_rows(self, q: int, segment: VectorSegment, docids: Array) -> tuple[Array, Array]:
        """Return (position in `docids`, row) of every live row of these docids that the query may find."""
        return segment.find_rows(docids, *self.exclusions[q])


def look_at(
    segment: VectorSegment, queries: PreparedVectors, allowed: AllowedDocs | None
) -> Callable[[int], FirstLook]:
    """Return what gives the first look of each query, by its place. allowed: documents to be found; None for all."""
    mask = segment.mask_allowed(allowed.docids if allowed else None)
    excluded = [segment.excluded_rows(*exclusion) for exclusion in queries.exclusions]
    [part, *_], codes = segment.parts, segment.codes
    if codes and isinstance(part, DensePart):
        live = codes.mark_live(mask, len(segment.docids)) if allowed else segment.live_bits
        scores, sketch, vectors = codes.likely_scores(queries.parts[0], live), part.sketch, queries.parts[0]
        return lambda q: CodedRows(segment, scores[q], sketch, vectors[q], excluded[q])
    low, high = segment.score_bounds(queries.parts)
    return lambda q: ScannedRows.without(segment, low[q], high[q], mask, excluded[q])


@dataclass(frozen=True, slots=True)
class ScannedRows(FirstLook):
    """The bounds of all rows. low, high: (n), −∞ for rows that must not be found."""

    segment: VectorSegment
    low: Array
    high: Array

    @classmethod
    def without(
        cls, segment: VectorSegment, low: Array, high: Array, mask: NDArray[np.bool_], excluded: Array
    ) -> "ScannedRows":
        """Take out the rows that must not be found, which changes the bounds. mask: see LiveRows.mask_allowed."""
        if len(mask):
            low[~mask], high[~mask] = -np.inf, -np.inf
        low[excluded], high[excluded] = -np.inf, -np.inf
        return cls(segment, low, high)

    def lows(self, k: int) -> Array:
        return max_by_docid(self.segment, None, self.low)

    def rows(self, min_score: float) -> Array:
        return np.flatnonzero(self.high >= min_score)


@dataclass(frozen=True, slots=True)
class CodedRows(FirstLook):
    """The likely scores of all rows, and the bounds of those that they leave over."""

    segment: VectorSegment
    scores: LikelyScores
    sketch: Sketch
    query: Array
    excluded: Array

    def lows(self, k: int) -> Array:
        """See FirstLook. The best rows of as many blocks are as many documents, but for phrasings."""
        peaks = self.scores.peaks
        count = int(k * self.segment.rows_per_docid) + len(self.excluded)
        while True:
            everything = count >= len(peaks)
            rows = self._find(-np.inf if everything else float(np.partition(peaks, -count)[-count]))
            low, _ = self.sketch.bound_rows(rows, self.query)
            low = max_by_docid(self.segment, rows, low)
            if everything or len(low) >= k:
                return low
            count *= DEEPER

    def rows(self, min_score: float) -> Array:
        rows = self._find(min_score)
        _, high = self.sketch.bound_rows(rows, self.query)
        return rows[high >= min_score]

    def _find(self, min_score: float) -> Array:
        rows = self.scores.find_above(min_score)
        return rows[~np.isin(rows, self.excluded)] if len(self.excluded) else rows


def max_by_docid(segment: VectorSegment, rows: Array | None, low: Array) -> Array:
    """Return the highest of each document's bounds. rows: those that have bounds, rising; None for all."""
    if len(segment.docid_starts) == len(segment.docids):
        return low
    docids = segment.docids if rows is None else segment.docids[rows]
    starts = segment.docid_starts if rows is None else np.flatnonzero(np.diff(docids, prepend=-1))
    return np.maximum.reduceat(low, starts) if len(low) else low
