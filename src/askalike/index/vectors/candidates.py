"""Generates a query's candidates in a segment of vectors: the rows that may be among its best.

`ScannedRows` reads a sketch, one byte per number, and leaves out only rows that cannot be among them. `CodedRows` reads
codes of two bits per number first, whose bounds hold with high probability.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from askalike.core.types import AllowedDocs
from askalike.index.rows import Array
from askalike.index.vectors.codes import ScoreEstimates
from askalike.index.vectors.parts import DensePart
from askalike.index.vectors.segment import VectorSegment
from askalike.index.vectors.sketch import Sketch

SURPLUS = 2
"""Ratio of the rows bounded first to the rows requested."""
DEEPER = 4
"""Factor by which that number grows if the rows belong to too few documents."""


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


def candidate_generators(
    segment: VectorSegment, queries: PreparedVectors, allowed: AllowedDocs | None
) -> Callable[[int], CandidateGenerator]:
    """Return a function from a query's position to its generator. allowed: documents to be found; None for all."""
    mask = segment.mask_allowed(allowed.docids if allowed else None)
    excluded = [segment.excluded_rows(*exclusion) for exclusion in queries.exclusions]
    [part, *_], codes = segment.parts, segment.codes
    if codes and isinstance(part, DensePart):
        live = codes.mark_live(mask, len(segment.docids)) if allowed else segment.live_bits
        scores, sketch, vectors = codes.estimate_scores(queries.parts[0], live), part.sketch, queries.parts[0]
        return lambda q: CodedRows(segment, scores[q], sketch, vectors[q], excluded[q])
    low, high = segment.score_bounds(queries.parts)
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
