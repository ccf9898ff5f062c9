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

SURPLUS = 2
"""Factor by which more rows are bounded first than are asked for."""
DEEPER = 4
"""Factor by which a first look is repeated whose best rows are too few documents."""


@dataclass(frozen=True, slots=True)
class BoundedRows:
    """Rows of a segment, rising, with the lowest and the highest possible score of each: −∞ if it must not be found."""

    segment: VectorSegment
    rows: Array
    low: Array
    high: Array

    def lows(self) -> Array:
        """Return what each document scores at least: its rows' best bound."""
        if not self.segment.has_rephrasings or not len(self.rows):
            return self.low
        return np.maximum.reduceat(self.low, np.flatnonzero(np.diff(self.segment.docids[self.rows], prepend=-1)))

    def above(self, min_score: float) -> "BoundedRows":
        """Return the rows that may score so much."""
        chosen = np.flatnonzero(self.high >= min_score)
        return BoundedRows(self.segment, self.rows[chosen], self.low[chosen], self.high[chosen])


class FirstLook(Protocol):
    """The rows of a segment that one query looks at."""

    def best(self, k: int) -> BoundedRows:
        """Return rows of k documents and more, the best ones as far as the look tells; all rows of fewer."""

    def above(self, min_score: float) -> BoundedRows:
        """Return the rows that may score so much."""


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


class ScannedRows(BoundedRows):
    """All rows of a segment."""

    @classmethod
    def without(
        cls, segment: VectorSegment, low: Array, high: Array, mask: NDArray[np.bool_], excluded: Array
    ) -> "ScannedRows":
        """Take out the rows that must not be found, which changes the bounds. mask: see LiveRows.mask_allowed."""
        if len(mask):
            low[~mask], high[~mask] = -np.inf, -np.inf
        low[excluded], high[excluded] = -np.inf, -np.inf
        return cls(segment, np.arange(len(low)), low, high)

    def best(self, k: int) -> BoundedRows:
        """See FirstLook: all are known."""
        return self


@dataclass(frozen=True, slots=True)
class CodedRows(FirstLook):
    """The likely scores of all rows of a segment, and the bounds of those that they leave over."""

    segment: VectorSegment
    scores: LikelyScores
    sketch: Sketch
    query: Array
    excluded: Array

    def best(self, k: int) -> BoundedRows:
        """See FirstLook. The best rows of as many blocks are as many documents, but for phrasings.

        So many rows are bounded that the k-th of their bounds is near the k-th of all, and few other rows reach it.
        """
        peaks = self.scores.peaks
        count = SURPLUS * (int(k * self.segment.rows_per_docid) + len(self.excluded))
        while count < len(peaks):
            found = self._bound(float(np.partition(peaks, -count)[-count]))
            if len(found.lows()) >= k:
                return found
            count *= DEEPER
        return self._bound(-np.inf)

    def above(self, min_score: float) -> BoundedRows:
        return self._bound(min_score).above(min_score)

    def _bound(self, min_likely: float) -> BoundedRows:
        """Return the rows whose likely score is at least so high."""
        rows = self.scores.find_above(min_likely)
        if len(self.excluded):
            rows = rows[~np.isin(rows, self.excluded)]
        return BoundedRows(self.segment, rows, *self.sketch.bound_rows(rows, self.query))
