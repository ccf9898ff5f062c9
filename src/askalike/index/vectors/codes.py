"""Two-bit quantisation of vectors, to select candidates: the error bound holds with high probability.

A random rotation makes the rounding errors of two bits symmetric, so that they nearly cancel out over many numbers
(RaBitQ, Gao and Long 2024). A search reads the codes of all rows; a sketch (sketch.py) then bounds the scores of the
few that may be among the best. Codes are in a separate file and can be rebuilt from the rows.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Array, Floats, Floats32, Ints, Ints32
from askalike.core.files import replace_file
from askalike.index.files import create_arrays, open_arrays, release_pages
from askalike.index.vectors.code_products import BLOCK, GROUP, MAX_STEP, multiply_codes, pack_levels
from askalike.index.vectors.parts import DensePart, PartSchema, StoredPart
from askalike.index.vectors.sketch import Sketch, bound, four_products
from askalike.native.compiled import Matrix, compiled, inlined, prechecked
from askalike.native.llvm import mark_reaching, trailing_zeros

CODES_FILE = "codes-4.safetensors"
"""The 4 is the version of the format. Segments without codes of this version get them at the next commit."""
MIN_CODED_ROWS = 16_384
"""Minimum number of rows of a segment with codes: for fewer, the sketch is as fast."""
MIN_CODED_DIM = 64
MAX_ERROR = 3.0
"""The bound of a score's error in standard deviations: one error in 740 is larger."""
CHUNK_ROWS = 1 << 14
SAMPLE_ROWS = 1 << 10
BIT = np.uint64(1)
SEED = 0
MIN_LENGTH = np.float32(1e-12)
ALL_LIVE = np.uint64(2**64 - 1)
REMOVED = np.float32(-1e30)
"""The score of rows that must not be found; infinity is not allowed with `fastmath`."""
LOWEST = REMOVED / np.float32(2)
"""Below the score of any other row."""
SURPLUS = 2
"""Ratio of the blocks whose best rows are compared first to the documents requested: their bounds are only likely."""
DEEPER = 4
"""Factor by which that number grows if their rows belong to too few documents."""
TOLERANCE = 1e-5
"""The relative rounding error of a bound, as of the sum of several parts' bounds."""
UNUSED = np.float32(1e-6)
"""Share of a query's length below which its part along a field's axes is a rounding error."""


class ScoreEstimates(NamedTuple):
    """The upper bounds of scores for one query: of every row, (blocks · 64), and of every block, (blocks)."""

    rows: Floats32
    block_max: Floats32

    def exclude(self, rows: Array) -> None:
        """Leave out rows that the query must not find."""
        self.rows[rows] = REMOVED

    def select_rows(self, sketch: Sketch, docids: Array, query: Floats32, k: int, min_score: float) -> Array:
        """Return the rows that may be the best ones of the k best documents and score `min_score`, ascending.

        The best rows of different blocks are of different documents, except for rephrasings. So a few more blocks than
        documents have k good ones. docids: of the segment's rows.
        """
        rows, best = np.empty(len(self.rows), np.int64), np.empty(min(k, len(docids)), np.float32)
        columns = sketch.values, sketch.scales, sketch.errors, docids, query, float(np.linalg.norm(query))
        blocks = SURPLUS * k
        count = -1
        while count < 0:
            is_part = min_score <= LOWEST and blocks < len(self.block_max)
            first = np.partition(self.block_max, -blocks)[-blocks] if is_part else REMOVED
            count = _select_rows(self, *columns, float(first), min_score, best, rows)
            blocks *= DEEPER
        return rows[:count]


class Codes(NamedTuple):
    """The codes of n rows of dim numbers, which are the vectors of F fields, in blocks of 64 rows.

    Two bits stand for −1.5, −0.5, 0.5 or 1.5 steps from the rows' mean along rotated axes. The axes of the first field
    are those of the mean of all fields by their usual weights. A query that compares one text with every field by these
    weights, as a typed title is compared, has no part along the others, whose codes are then not read.
    """

    words: Matrix[np.uint32]
    """(F · blocks · groups, 64): the words of the products with a query."""
    factors: Matrix[np.float32]
    """(F, blocks · 64): the factor of a row's product with a query."""
    errors: Matrix[np.float32]
    """(F, blocks · 64): the largest likely error of a row's score for a query of length 1."""
    mean: Floats32
    """(dim): of the rows."""
    basis: Matrix[np.float32]
    """(F, F): as columns, the fields' weights in what the codes of each field stand for; orthonormal."""
    rotation: Matrix[np.float32]
    """(dim / F, dim / F): the rotated axes as columns."""

    @classmethod
    def open(cls, folder: Path) -> Self | None:
        """Map the codes of a segment; None if it has none."""
        return prechecked(cls(**open_arrays(folder, CODES_FILE))) if (folder / CODES_FILE).exists() else None

    def mark_live(self, mask: Array, n_rows: int) -> NDArray[np.uint64]:
        """Return a bit for each row that may be found: uint64 (blocks). mask: (n_rows), or empty for all."""
        live = np.zeros(self.factors.shape[1], np.bool_)
        live[:n_rows] = mask if len(mask) else True
        return np.packbits(live, bitorder="little").view(np.uint64)

    def mix_fields(self, rows: Floats32) -> Floats32:
        """Return what the codes of each field stand for, not rotated yet: (n, dim) → (n · F, dim / F)."""
        fields = len(self.basis)
        return np.matmul(self.basis.T, rows.reshape(len(rows), fields, -1)).reshape(len(rows) * fields, -1)

    def estimate_scores(self, queries: Floats32, live: NDArray[np.uint64]) -> list[ScoreEstimates]:
        """Return the upper bounds of scores for each query. queries: (queries, dim). live: see `mark_live`."""
        fields, padded_rows = self.factors.shape
        numbers = np.zeros((len(queries) * fields, self.words.size // self.factors.size * GROUP), np.int8)
        rows = np.empty((len(queries), padded_rows), np.float32)
        block_max = np.empty((len(queries), len(live)), np.float32)
        memory = np.empty((2, max(len(self.rotation), BLOCK)), np.float32)
        terms, offsets = np.empty((3, len(numbers)), np.float32), np.empty(len(queries), np.float32)
        _bound_scores(self, live, queries, numbers, terms, offsets, np.empty(BLOCK, np.int32), memory, rows, block_max)
        return list(map(ScoreEstimates, rows, block_max))


@inlined(fastmath=True)
def _rotate_query(codes: Codes, query: Array, first: int, numbers: Array, terms: Array, memory: Array) -> np.float32:
    """Write a query's numbers and terms for each field from the row `first` on; return its product with the mean."""
    fields = len(codes.basis)
    dim = len(codes.rotation)
    square = np.float32(0)
    offset = np.float32(0)
    mixed, rotated = memory[0], memory[1]
    for i in range(len(query)):
        square += query[i] * query[i]
        offset += query[i] * codes.mean[i]
    for field in range(fields):
        own_square = np.float32(0)
        for i in range(dim):
            mixed[i] = rotated[i] = np.float32(0)
            for other in range(fields):
                mixed[i] += codes.basis[other, field] * query[other * dim + i]
            own_square += mixed[i] * mixed[i]
        terms[0, first + field] = terms[1, first + field] = terms[2, first + field] = np.float32(0)
        if own_square <= UNUSED * UNUSED * square:
            continue
        for i in range(dim):
            for j in range(dim):
                rotated[j] += mixed[i] * codes.rotation[i, j]
        largest = MIN_LENGTH
        total = np.float32(0)
        for j in range(dim):
            largest = max(largest, abs(rotated[j]))
            total += rotated[j]
        step = largest / np.float32(MAX_STEP)
        for j in range(dim):
            numbers[first + field, j] = np.int8(np.rint(rotated[j] / step))
        terms[0, first + field], terms[1, first + field] = step, np.float32(-1.5) * total
        terms[2, first + field] = np.sqrt(own_square)
    return offset


@compiled(fastmath=True)
def _bound_scores(
    codes: Codes, live: NDArray[np.uint64], queries: Matrix[np.float32], numbers: Matrix[np.int8],
    terms: Matrix[np.float32], offsets: Floats32, products: Ints32, memory: Matrix[np.float32],
    rows: Matrix[np.float32], block_max: Matrix[np.float32],
) -> None:  # fmt: skip
    """Write the upper bound of the score of every row, and of every block, for each query.

    numbers: (queries · F, groups · GROUP), zeros, for each query as integers along each field's axes. terms: (3,
    queries · F), for the step of these integers, the offset of a row's product, and the query's length, 0 if it has no
    part there. offsets: (queries), of scores. products, memory: working memory.
    """
    groups = numbers.shape[1] // GROUP
    fields = len(codes.factors)
    for q in range(len(queries)):
        offsets[q] = _rotate_query(codes, queries[q], q * fields, numbers, terms, memory)
    spreads = memory[0]
    for block in range(len(live)):
        # All queries read a block of codes while it is in the cache.
        start = block * BLOCK
        for q in range(len(rows)):
            bounds = rows[q, start : start + BLOCK]
            is_first = True
            for field in range(fields):
                at = q * fields + field
                step, offset, length = terms[0, at], terms[1, at], terms[2, at]
                if length == 0:
                    continue
                multiply_codes(groups, codes.words[(field * len(live) + block) * groups :], numbers[at], products)
                factors = codes.factors[field, start : start + BLOCK]
                errors = codes.errors[field, start : start + BLOCK]
                if is_first:
                    for i in range(BLOCK):
                        bounds[i] = offsets[q] + factors[i] * (step * np.float32(products[i]) + offset)
                        spreads[i] = length * errors[i]
                else:  # the errors of different axes are independent
                    for i in range(BLOCK):
                        bounds[i] += factors[i] * (step * np.float32(products[i]) + offset)
                        error = length * errors[i]
                        spreads[i] = np.sqrt(spreads[i] * spreads[i] + error * error)
                is_first = False
            highest = REMOVED
            for i in range(BLOCK):
                bounds[i] = offsets[q] if is_first else bounds[i] + spreads[i]
                highest = max(highest, bounds[i])
            if live[block] != ALL_LIVE:
                highest = REMOVED
                for i in range(BLOCK):
                    if live[block] >> np.uint64(i) & np.uint64(1):
                        highest = max(highest, rows[q, start + i])
                    else:
                        rows[q, start + i] = REMOVED
            block_max[q, block] = highest


@compiled(fastmath=True)
def _select_rows(
    estimates: ScoreEstimates, values: Matrix[np.int8], scales: Floats32, errors: Floats32, docids: Ints,
    query: Floats32, length: float, first: float, min_score: float, best: Floats32, rows: Ints,
) -> int:  # fmt: skip
    """Write the rows that may be the best ones of the k best documents, and score `min_score`; return their number.

    Rows whose estimates reach `first` are those of k documents, whose lowest possible scores limit the others'. The
    result is −1 if they are of fewer documents. first, min_score: at most LOWEST for all. best: working memory, (k).
    """
    least = max(np.float32(min_score), LOWEST)
    limit = max(np.float32(first), LOWEST)
    size = 0
    if least == LOWEST:
        count = _find_reaching(estimates, limit, rows)
        docid = np.int64(-1)
        low = LOWEST
        for i in range(0, count, 4):
            for n, dot in enumerate(four_products(values, scales, errors, rows, count, i, query)):
                if i + n < count:
                    row = rows[i + n]
                    if docids[row] != docid:
                        size = _keep_highest(best, size, low)
                        docid = docids[row]
                        low = LOWEST
                    low = max(low, bound(dot, scales[row], np.float32(length) * errors[row])[0])
        size = _keep_highest(best, size, low)
        if size == len(best) and size:
            least = best[0] - np.float32(TOLERANCE) * max(np.float32(1), abs(best[0]))
        elif limit > LOWEST:
            return -1
    found = _find_reaching(estimates, least, rows)
    count = 0
    for i in range(0, found, 4):
        for n, dot in enumerate(four_products(values, scales, errors, rows, found, i, query)):
            if i + n < found:
                row = rows[i + n]
                rows[count] = row
                count += int(bound(dot, scales[row], np.float32(length) * errors[row])[1] >= least)
    return count


@inlined()
def _find_reaching(estimates: ScoreEstimates, least: np.float32, rows: Ints) -> int:
    """Write the rows whose estimates are at least `least`, ascending; return their number."""
    count = 0
    for block in range(len(estimates.block_max)):
        if estimates.block_max[block] >= least:
            reaching = mark_reaching(estimates.rows, block * BLOCK, least)
            while reaching:
                rows[count] = block * BLOCK + trailing_zeros(reaching)
                count += 1
                reaching &= reaching - BIT
    return count


@inlined()
def _keep_highest(heap: Floats32, size: int, value: np.float32) -> int:
    """Add a value above LOWEST to a heap, the lowest value of which comes first and leaves it when it is full.

    Return the number of values in the heap.
    """
    if value <= LOWEST or (size == len(heap) and value <= heap[0]):
        return size
    if size < len(heap):
        place = size
        while place and heap[(place - 1) // 2] > value:
            heap[place] = heap[(place - 1) // 2]
            place = (place - 1) // 2
        heap[place] = value
        return size + 1
    place, below = 0, 1
    while below < size:
        below += int(below + 1 < size and heap[below + 1] < heap[below])
        if heap[below] >= value:
            break
        heap[place] = heap[below]
        place = below
        below = 2 * below + 1
    heap[place] = value
    return size


def build_codes(
    folder: Path, schemas: Sequence[PartSchema], parts: Sequence[StoredPart], field_weights: Sequence[float] = ()
) -> None:
    """Write a segment's codes if they are missing and it has many rows of a single dense part scored by products.

    field_weights: the usual weights of the fields whose vectors are side by side in a row; empty for one.
    """
    [part, *others], [schema, *_] = parts, schemas
    if others or not isinstance(part, DensePart) or part.metric == "euclidean" or schema.weight != 1:
        return
    n_rows, dim = part.sketch.values.shape
    if n_rows < MIN_CODED_ROWS or dim < MIN_CODED_DIM or (folder / CODES_FILE).exists():
        return
    weights = np.array(field_weights or (1.0,))
    fields = len(weights)
    blocks = -(-n_rows // BLOCK)
    groups = -(-dim // len(weights) // GROUP)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("factors", "errors"), (fields, blocks * BLOCK))
    shapes |= {"mean": (dim,), "basis": (fields, fields), "rotation": (dim // fields,) * 2}
    kinds = {name: (np.dtype(np.float32), shape) for name, shape in shapes.items()}
    with replace_file(folder / CODES_FILE) as partial:
        words = np.dtype(np.uint32), (fields * blocks * groups, BLOCK)
        codes = Codes(**create_arrays(folder, {"words": words, **kinds}, partial.name))
        codes.rotation[:], _ = np.linalg.qr(np.random.default_rng(SEED).standard_normal(codes.rotation.shape))
        codes.basis[:] = _complete_basis(weights)
        _fill_codes(codes, part, n_rows)


def _complete_basis(first: Floats) -> Floats:
    """Return an orthonormal basis as columns, the first of which points into this direction: (F, F)."""
    columns = np.eye(len(first))
    columns[:, 0] = first
    basis, _ = np.linalg.qr(columns)
    return basis * np.sign(basis[0, 0])


def _fill_codes(codes: Codes, part: DensePart, n_rows: int) -> None:
    mapped = (*part.arrays().values(), *codes)
    codes.mean[:] = np.concatenate(list(_sample_rows(part, n_rows))).mean(axis=0)
    words = codes.words.reshape(len(codes.factors), -1, BLOCK)
    for start in range(0, n_rows, CHUNK_ROWS):
        rows = np.arange(start, min(start + CHUNK_ROWS, n_rows))
        rotated = codes.mix_fields(part.decode_rows(rows) - codes.mean) @ codes.rotation
        place = start * words.shape[1] // codes.factors.shape[1]
        for field in range(len(words)):
            own = rotated[field :: len(words)]
            coded, codes.factors[field, rows], codes.errors[field, rows] = _encode(own)
            words[field, place : place + len(coded)] = coded
        release_pages(mapped)


def _sample_rows(part: DensePart, n_rows: int) -> Iterator[Floats32]:
    """Yield up to CHUNK_ROWS rows of all parts of a segment, some at a time: each maps many others with it."""
    rows = np.arange(0, n_rows, 1 + n_rows // CHUNK_ROWS)
    for start in range(0, len(rows), SAMPLE_ROWS):
        yield part.decode_rows(rows[start : start + SAMPLE_ROWS])
        release_pages(part.arrays().values())


def _encode(rows: Floats32) -> tuple[NDArray[np.uint32], Floats32, Floats32]:
    """Return the words, factors and errors of rotated rows minus their mean, (rows, dim); see Codes."""
    n_rows, dim = rows.shape
    # Along random axes the numbers of a row are nearly normal with deviation length / √dim: one step for four levels.
    lengths = np.linalg.norm(rows, axis=1)
    steps = np.maximum(lengths, MIN_LENGTH)[:, None] / np.sqrt(dim)
    levels = np.clip(np.floor(rows / steps) + 2, 0, 3).astype(np.uint8)
    coded = levels - np.float32(1.5)
    products = np.maximum(np.einsum("ij,ij->i", coded, rows), MIN_LENGTH)
    # The factor makes a row's product with its own code exact, which removes the bias of rounding (RaBitQ).
    factors = np.where(lengths > MIN_LENGTH, lengths**2 / products, 0)
    left_out = np.sqrt(np.maximum((factors * np.linalg.norm(coded, axis=1)) ** 2 - lengths**2, 0))
    padded = np.zeros((-(-n_rows // BLOCK) * BLOCK, -(-dim // GROUP) * GROUP), np.uint8)
    padded[:n_rows, :dim] = levels
    errors = MAX_ERROR / np.sqrt(dim - 1) * left_out
    return pack_levels(padded), factors.astype(np.float32), errors.astype(np.float32)
