"""A first look at many vectors in one byte a number, with a bound on how wrong it is.

Each row is kept as whole numbers −127 … 127 times a scale of its own. What it leaves out has a length (`residual`), so
that an approximate score comes with bounds between which the exact one lies (Cauchy and Schwarz, or the triangle
inequality). A search reads one byte a number for all rows, and scores exactly only those that the bounds leave over.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from askalike.index.lexical.segment import Array
from askalike.types import Metric

MAX_STEP = 127
BLOCK_ROWS = 4_096  # rows that are widened at a time for several queries: 4 MiB of 256 numbers
MATMUL_MIN_QUERIES = 4  # queries; more of them are cheaper together, by matrix product
ROUNDING_ERROR = 2.0**-22  # what a sum of 32-bit products may be off, a number and unit of length

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sketch:
    """n rows of dim numbers. values: int8 (n, dim). scales, residuals, lengths: float32 (n)."""

    values: Array
    scales: Array
    residuals: Array
    """How far each row is from scale · values, as a length."""
    lengths: Array
    """The length of scale · values."""

    @classmethod
    def from_rows(cls, rows: Floats) -> "Sketch":
        """The sketch of dense rows: float32 (n, dim)."""
        scales = np.abs(rows).max(axis=1, initial=0.0) / np.float32(MAX_STEP)
        values = np.rint(rows / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
        kept = values * scales[:, None].astype(np.float32)
        residuals = np.linalg.norm(rows - kept, axis=1) * np.float32(1 + 1e-5)
        return cls(values, scales.astype(np.float32), residuals, np.linalg.norm(kept, axis=1).astype(np.float32))

    def score_bounds(self, queries: Floats, metric: Metric) -> tuple[Floats, Floats]:
        """(lowest, highest) possible score of every row for each query: float32 (queries, n) both."""
        dots = self._dots(queries)
        own = np.linalg.norm(queries, axis=1).astype(np.float32)[:, None]
        slack = ROUNDING_ERROR * (queries.shape[1] + 8)
        if metric != "euclidean":
            off = own * (self.residuals + np.float32(slack) * (self.lengths + self.residuals))
            return dots - off, dots + off
        squares = own**2 + self.lengths**2
        off = self.residuals + np.sqrt(np.float32(slack) * squares)
        distances = np.sqrt(np.maximum(squares - 2 * dots, 0))
        return -distances - off, np.minimum(off - distances, 0)

    def _dots(self, queries: Floats) -> Floats:
        """float32 (queries, n): dot products with scale · values."""
        dots = np.empty((len(queries), len(self.values)), np.float32)
        if len(queries) < MATMUL_MIN_QUERIES:
            for query, row in zip(queries, dots, strict=True):
                _dot_products(self.values, self.scales, query, row)
            return dots
        for start in range(0, len(self.values), BLOCK_ROWS):
            end = start + BLOCK_ROWS
            np.matmul(queries, self.values[start:end].astype(np.float32).T, out=dots[:, start:end])
        return np.multiply(dots, self.scales, out=dots)


@njit(fastmath=True, cache=True)
def _dot_products(values: Array, scales: Array, query: Array, out: Array) -> None:
    for i in range(len(values)):
        dot = np.float32(0)
        for j in range(len(query)):
            dot += np.float32(values[i, j]) * query[j]
        out[i] = dot * scales[i]


@njit(cache=True)
def exact_dots(rows: Array, query: Array) -> NDArray[np.float64]:
    """float64 (n): dot products, each summed in the same order wherever its row lies."""
    dots = np.empty(len(rows), np.float64)
    for i in range(len(rows)):
        dot = 0.0
        for j in range(len(query)):
            dot += np.float64(rows[i, j]) * np.float64(query[j])
        dots[i] = dot
    return dots


@njit(cache=True)
def exact_distances(rows: Array, query: Array) -> NDArray[np.float64]:
    """float64 (n): Euclidean distances, each summed in the same order wherever its row lies."""
    distances = np.empty(len(rows), np.float64)
    for i in range(len(rows)):
        square = 0.0
        for j in range(len(query)):
            gap = np.float64(rows[i, j]) - np.float64(query[j])
            square += gap * gap
        distances[i] = np.sqrt(square)
    return distances
