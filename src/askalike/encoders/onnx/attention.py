"""Attention of a transformer's layer, compiled."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.encoders.onnx.layer_steps import ONE, ZERO, exponential
from askalike.native.compiled import Matrix, inlined
from askalike.native.llvm import LLVMFunction, Memory
from askalike.native.simd import FLOAT, FLOATS, LANES, LONG, MAX_ROWS, VECTOR_BYTES, SimdBuilder


def _write_product(
    builder: Any, count: Any, inputs: Any, vectors: Any, factors: Memory, rows: Memory, out: Memory
) -> None:
    """Emit code that multiplies 1 to MAX_ROWS rows of factors by a matrix. Its and `out`'s rows are whole vectors."""
    to = SimdBuilder(builder)

    def write(number: int) -> None:
        def write_vector(vector: Any, _: Sequence[Any]) -> Sequence[Any]:
            place = builder.mul(vector, LONG(VECTOR_BYTES))

            def add_row(row: Any, totals: Sequence[Any]) -> Sequence[Any]:
                own = to.load(FLOATS, to.at(rows, 0, builder.add(builder.mul(row, rows.step), place)))
                column = builder.mul(row, LONG(4))
                each = [to.spread(to.load(FLOAT, to.at(factors, n, column))) for n in range(number)]
                return [to.multiply_and_add(factor, own, total) for factor, total in zip(each, totals, strict=True)]

            for n, total in enumerate(to.repeat(inputs, [to.fill(0.0)] * number, add_row)):
                to.store(total, to.at(out, n, place))
            return []

        to.repeat(vectors, [], write_vector)

    to.for_count(count, write)


multiply_floats = LLVMFunction(_write_product)
"""multiply_floats(count, inputs, vectors, factors, rows, out): arrays that begin with the tile."""


@inlined(fastmath=True)
def attend(
    joined: Matrix[np.float32], heads: int, bias: Matrix[np.float32], keys: Matrix[np.float32],
    scores: Matrix[np.float32], out: Matrix[np.float32],
) -> None:  # fmt: skip
    """Write the output of attention between the tokens of one text.

    joined: queries, keys and values, (tokens, 3 x hidden). bias: for each head and token, added to the scores of all
    tokens, or empty. keys: buffer for a head's keys, (hidden / heads, tokens), initially zeros. scores: buffer for the
    scores of some tokens, (MAX_ROWS, tokens). Both are padded to whole vectors of tokens.
    """
    tokens, hidden = out.shape
    lanes, size = keys.shape[1], hidden // heads
    scale = ONE / np.sqrt(np.float32(size))
    tiles = (tokens + MAX_ROWS - 1) // MAX_ROWS
    for head in range(heads):
        column = head * size
        for token in range(tokens):
            own = joined[token, hidden + column : hidden + column + size]
            for i in range(size):
                keys[i, token] = own[i] * scale
        for tile in range(tiles):
            begin, end = tokens * tile // tiles, tokens * (tile + 1) // tiles
            multiply_floats(end - begin, size, lanes // LANES, joined[begin:, column:], keys, scores)
            for token in range(begin, end):
                own = scores[token - begin]
                for other in range(len(bias) and tokens):
                    own[other] += bias[head * tokens + token, other]
                softmax(own, tokens)
            values = joined[:, 2 * hidden + column :]
            multiply_floats(end - begin, tokens, size // LANES, scores, values, out[begin:, column:])


@inlined(fastmath=True)
def softmax(scores: NDArray[np.float32], count: int) -> None:
    """Replace the first `count` scores by their softmax.

    For speed, scores up to the end of the last vector are computed as well; they are meaningless.
    """
    largest, total = scores[0], ZERO
    for i in range(1, count):
        largest = max(largest, scores[i])
    for i in range(len(scores)):
        scores[i] = exponential(min(scores[i] - largest, ZERO))
    for i in range(count):
        total += scores[i]
    share = ONE / total
    for i in range(len(scores)):
        scores[i] *= share
