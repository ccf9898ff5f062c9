"""One-byte quantisation of vectors, to select candidates, with a bound on the error.

Each row is stored as integers −127 … 127 with its own scale. The length of the remainder (`residual`) bounds the error
of an approximate score (by the Cauchy–Schwarz or the triangle inequality). A search reads one byte per number for all
rows, and scores exactly only the rows that the bounds leave.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askalike.core.arrays import Array, Floats, Floats32, Ints, Metric
from askalike.native.compiled import Matrix, compiled, inlined, widen
from askalike.native.llvm import CACHE_LINE_BYTES, prefetch

MAX_STEP = 127
BLOCK_ROWS = 4_096  # rows converted to 32 bits at a time for several queries: 4 MiB of 256 numbers
CACHED_ROWS = 2_048  # rows that all queries process before the next ones: half a megabyte of 256 numbers
MATMUL_MIN_QUERIES = 64  # with at least this many queries a matrix product is faster, conversion included
AHEAD, AHEAD_HALVES = 12, 4  # prefetch distances in rows
ROUNDING_ERROR = 2.0**-22  # of a sum of 32-bit products, per number and unit of length


@dataclass(frozen=True)
class Sketch:
    """n rows of dim numbers. values: int8 (n, dim). scales, residuals, lengths: float32 (n)."""

    values: Array
    scales: Array
    residuals: Array
    """The Euclidean distance of each row from scale · values."""
    lengths: Array
    """The length of scale · values."""

    @classmethod
    def from_rows(cls, rows: Floats32) -> "Sketch":
        """Return the sketch of dense rows: float32 (n, dim)."""
        scales = np.abs(rows).max(axis=1, initial=0.0) / np.float32(MAX_STEP)
        values = np.rint(rows / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
        approximate = values * scales[:, None].astype(np.float32)
        residuals = np.linalg.norm(rows - approximate, axis=1) * np.float32(1 + 1e-5)
        return cls(values, scales.astype(np.float32), residuals, np.linalg.norm(approximate, axis=1).astype(np.float32))

    @cached_property
    def errors(self) -> Floats32:
        """Maximum error of a row's approximate dot product with a vector of length 1: float32 (n)."""
        slack = np.float32(ROUNDING_ERROR * (self.values.shape[1] + 8))
        return self.residuals + slack * (self.lengths + self.residuals)

    def score_bounds(self, queries: Floats32, metric: Metric) -> tuple[Floats32, Floats32]:
        """Return the (lowest, highest) possible score of every row for each query: float32 (queries, n) both."""
        lengths = np.linalg.norm(queries, axis=1).astype(np.float32)[:, None]
        if metric != "euclidean" and len(queries) < MATMUL_MIN_QUERIES:
            low, high = np.empty((2, len(queries), len(self.values)), np.float32)
            _bound_products(self.values, self.scales, self.errors, queries, lengths[:, 0], low, high)
            return low, high
        dots = self._dots(queries)
        if metric != "euclidean":
            error = lengths * self.errors
            return dots - error, dots + error
        slack = ROUNDING_ERROR * (queries.shape[1] + 8)
        squares = lengths**2 + self.lengths**2
        error = self.residuals + np.sqrt(np.float32(slack) * squares)
        distances = np.sqrt(np.maximum(squares - 2 * dots, 0))
        return -distances - error, np.minimum(error - distances, 0)

    def _dots(self, queries: Floats32) -> Floats32:
        """Return the dot products with scale · values: float32 (queries, n)."""
        dots = np.empty((len(queries), len(self.values)), np.float32)
        if len(queries) < MATMUL_MIN_QUERIES:
            _bound_products(
                self.values, self.scales, self.errors, queries, np.zeros(len(queries), np.float32), dots, dots
            )
            return dots
        for start in range(0, len(self.values), BLOCK_ROWS):
            end = start + BLOCK_ROWS
            np.matmul(queries, self.values[start:end].astype(np.float32).T, out=dots[:, start:end])
        return np.multiply(dots, self.scales, out=dots)


@inlined(fastmath=True)
def _eight_products(
    values: Matrix[np.int8], i: int, step: int, queries: Matrix[np.float32], q: int
) -> tuple[np.float32, np.float32, np.float32, np.float32, np.float32, np.float32, np.float32, np.float32]:
    """Return the products of eight rows that are `step` apart."""
    a = b = c = d = e = f = g = h = np.float32(0)
    for j in range(queries.shape[1]):
        number = queries[q, j]
        a += np.float32(values[i, j]) * number
        b += np.float32(values[i + step, j]) * number
        c += np.float32(values[i + 2 * step, j]) * number
        d += np.float32(values[i + 3 * step, j]) * number
        e += np.float32(values[i + 4 * step, j]) * number
        f += np.float32(values[i + 5 * step, j]) * number
        g += np.float32(values[i + 6 * step, j]) * number
        h += np.float32(values[i + 7 * step, j]) * number
    return a, b, c, d, e, f, g, h


@inlined(fastmath=True)
def bound(dot: np.float32, scale: np.float32, error: np.float32) -> tuple[np.float32, np.float32]:
    """Return the lowest and the highest possible score of a row, by the product with its values."""
    return dot * scale - error, dot * scale + error


@inlined(fastmath=True)
def _write_bounds(
    q: int, i: int, dot: np.float32, scales: Floats32, errors: Floats32, lengths: Floats32, low: Matrix[np.float32],
    high: Matrix[np.float32],
) -> None:  # fmt: skip
    low[q, i], high[q, i] = bound(dot, scales[i], lengths[q] * errors[i])


@compiled(fastmath=True)
def _bound_products(
    values: Matrix[np.int8], scales: Floats32, errors: Floats32, queries: Matrix[np.float32], lengths: Floats32,
    low: Matrix[np.float32], high: Matrix[np.float32],
) -> None:  # fmt: skip
    """Write the bounds of all rows for each query.

    Eight ranges of rows are read in parallel, as memory serves eight streams faster. Several queries read the same rows
    in turn, while these are in the processor's cache.
    """
    size = len(values) if len(queries) == 1 else CACHED_ROWS
    end = 0
    while end < len(values):
        start = end
        end = min(end + size, len(values))
        step = (end - start) // 8
        for q in range(len(queries)):
            for i in range(start, start + step):
                dots = _eight_products(values, i, step, queries, q)
                for n, dot in enumerate(dots):
                    _write_bounds(q, i + n * step, dot, scales, errors, lengths, low, high)
            for i in range(start + 8 * step, end):
                dot = np.float32(0)
                for j in range(queries.shape[1]):
                    dot += np.float32(values[i, j]) * queries[q, j]
                _write_bounds(q, i, dot, scales, errors, lengths, low, high)


@inlined(fastmath=True)
def four_products(
    values: Matrix[np.int8],
    scales: Floats32,
    errors: Floats32,
    rows: Ints,
    count: int,
    i: int,
    query: Floats32,
) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    """Return the products of four of some rows, from position i on; those after the last are of the last row.

    What later ones need is prefetched. count: of the rows.
    """
    for n in range(i + AHEAD, min(i + AHEAD + 4, count)):
        prefetch(scales, rows[n], 0)
        prefetch(errors, rows[n], 0)
        for offset in range(0, values.shape[1], CACHE_LINE_BYTES):
            prefetch(values, rows[n], offset)
    last = count - 1
    first, second, third, fourth = rows[i], rows[min(i + 1, last)], rows[min(i + 2, last)], rows[min(i + 3, last)]
    a = b = c = d = np.float32(0)
    for j in range(len(query)):
        number = query[j]
        a += np.float32(values[first, j]) * number
        b += np.float32(values[second, j]) * number
        c += np.float32(values[third, j]) * number
        d += np.float32(values[fourth, j]) * number
    return a, b, c, d


def exact_dots(rows: Array, query: Floats32) -> Floats:
    """Return dot products: float64 (n). The order of addition does not depend on a row's position."""
    dots = np.empty(len(rows))
    _sum_products(rows, query, dots)
    return dots


def exact_half_dots(rows: Array, places: Array, query: Floats32) -> Floats:
    """Return the dot products of the rows at some positions, as `exact_dots` does. rows: float16 (n, dim)."""
    dots = np.empty(len(places))
    _sum_half_products(rows.view(np.uint16), places, query.astype(np.float64), dots)
    return dots


@compiled(fastmath=True)
def _sum_products(rows: Matrix[np.float32], query: Floats32, dots: Floats) -> None:
    for i in range(len(rows)):
        dot = 0.0
        for j in range(len(query)):
            dot += np.float64(rows[i, j]) * np.float64(query[j])
        dots[i] = dot


@compiled(fastmath=True)
def _sum_half_products(rows: Matrix[np.uint16], places: Ints, query: Floats, dots: Floats) -> None:
    """Write the rows' dot products, each by the same machine code, and thus in the same order of addition."""
    for i in range(len(places)):
        for n in range(i + AHEAD_HALVES, min(i + AHEAD_HALVES + 1, len(places))):
            for offset in range(0, 2 * rows.shape[1], CACHE_LINE_BYTES):
                prefetch(rows, places[n], offset)
        dot = 0.0
        for j in range(len(query)):
            dot += np.float64(widen(rows[places[i], j])) * query[j]
        dots[i] = dot


def exact_distances(rows: Array, query: Floats32) -> Floats:
    """Return Euclidean distances: float64 (n). The order of addition does not depend on a row's position."""
    squares = np.empty(len(rows))
    _sum_squares(rows, query, squares)
    return np.sqrt(squares)


@compiled()
def _sum_squares(rows: Matrix[np.float32], query: Floats32, squares: Floats) -> None:
    for i in range(len(rows)):
        square = 0.0
        for j in range(len(query)):
            gap = np.float64(rows[i, j]) - np.float64(query[j])
            square += gap * gap
        squares[i] = square
