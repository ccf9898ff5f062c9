"""Steps of a transformer's layer, compiled: normalisation, activations, attention."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from askalike.core.arrays import Floats32
from askalike.native.compiled import Matrix, inlined
from askalike.native.llvm import LLVMFunction, Memory
from askalike.native.simd import FLOAT, FLOATS, LANES, LONG, MAX_ROWS, VECTOR_BYTES, SimdBuilder

LOG2_E, LEAST_EXPONENT = np.float32(1 / math.log(2)), np.float32(-100)
POWERS = tuple(np.float32(math.log(2) ** n / math.factorial(n)) for n in range(7))
"""Coefficients of the Taylor series of 2 ** x."""
ERF = tuple(np.float32(a) for a in (0.3275911, 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429))
"""Abramowitz and Stegun, 7.1.26: the error function to 1.5e-7."""
TANH = np.float32(2 * math.sqrt(2 / math.pi)), np.float32(0.044715)
ROOT_HALF = np.float32(math.sqrt(0.5))
KINDS = ("gelu", "gelu_tanh", "relu")
"""Transformer's names of activations; the index is the number in `activate`."""
ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)


@inlined(fastmath=True)
def exponential(value: np.float32) -> np.float32:
    """Return e to the power of a number of at most 0, in the same few steps for all numbers."""
    power = max(value * LOG2_E, LEAST_EXPONENT)
    whole = np.int32(power - HALF)
    x = power - np.float32(whole)
    series = POWERS[4] + x * (POWERS[5] + x * POWERS[6])
    series = POWERS[0] + x * (POWERS[1] + x * (POWERS[2] + x * (POWERS[3] + x * series)))
    return series * np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)


@inlined(fastmath=True)
def gelu(value: np.float32) -> np.float32:
    """Return the GELU of a number: the number times the probability that a standard normal variable is below it."""
    size = abs(value) * ROOT_HALF
    t = ONE / (ONE + ERF[0] * size)
    tail = t * (ERF[1] + t * (ERF[2] + t * (ERF[3] + t * (ERF[4] + t * ERF[5])))) * exponential(-size * size) * HALF
    return value * (ONE - tail if value > 0 else tail)


@inlined(fastmath=True)
def gelu_by_tanh(value: np.float32) -> np.float32:
    """Return the approximation of GELU by a hyperbolic tangent."""
    argument = TANH[0] * (value + TANH[1] * value * value * value)
    tail = exponential(-abs(argument))
    return value * (ONE if value > 0 else tail) / (ONE + tail)


@inlined(fastmath=True)
def activate(values: Floats32, activation: int) -> None:
    """Replace values by their activation: 0 GELU, 1 its tanh approximation, 2 ReLU."""
    if activation == 0:
        for i in range(len(values)):
            values[i] = gelu(values[i])
    elif activation == 1:
        for i in range(len(values)):
            values[i] = gelu_by_tanh(values[i])
    else:
        for i in range(len(values)):
            values[i] = max(values[i], ZERO)


@inlined(fastmath=True)
def add_and_normalise(
    states: Matrix[np.float32], change: Matrix[np.float32], weight: Floats32, bias: Floats32,
    epsilon: np.float32,
) -> None:  # fmt: skip
    """Replace states by the layer-normalised sum of states and `change`."""
    add(states, change)
    normalise(states, weight, bias, epsilon, states)


@inlined(fastmath=True)
def add(states: Matrix[np.float32], change: Matrix[np.float32]) -> None:
    """Add `change` to states."""
    for row in range(len(states)):
        own, added = states[row], change[row]
        for i in range(len(own)):
            own[i] += added[i]


@inlined(fastmath=True)
def normalise(
    states: Matrix[np.float32], weight: Floats32, bias: Floats32, epsilon: np.float32,
    out: Matrix[np.float32],
) -> None:  # fmt: skip
    """Write states after layer normalisation; `out` may be the states."""
    size = np.float32(states.shape[1])
    for row in range(len(states)):
        own, normed = states[row], out[row]
        total = ZERO
        for i in range(len(own)):
            total += own[i]
        mean = total / size
        squares = ZERO
        for i in range(len(own)):
            squares += (own[i] - mean) * (own[i] - mean)
        factor = ONE / np.sqrt(squares / size + epsilon)
        for i in range(len(own)):
            normed[i] = (own[i] - mean) * factor * weight[i] + bias[i]


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
    lanes = keys.shape[1]
    size = hidden // heads
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
def softmax(scores: Floats32, count: int) -> None:
    """Replace the first `count` scores by their softmax.

    For speed, scores up to the end of the last vector are computed as well; they are meaningless.
    """
    largest = scores[0]
    total = ZERO
    for i in range(1, count):
        largest = max(largest, scores[i])
    for i in range(len(scores)):
        scores[i] = exponential(min(scores[i] - largest, ZERO))
    for i in range(count):
        total += scores[i]
    share = ONE / total
    for i in range(len(scores)):
        scores[i] *= share
