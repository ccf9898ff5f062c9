"""Steps of a transformer's layer, compiled: linear maps in 8 bits, normalisation, activations, attention.

For the quantisation see `weights`. Weights are unsigned bytes in the order in which they are read: groups of COLUMNS
outputs, each with its blocks of BLOCK_SIZE inputs, these in fours, each for one output after the other. The bytes of
rows are signed. A sum of products starts with the offset that cancels the weights' ZERO_BYTE.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Bytes, Floats32, Ints32
from askalike.encoders.transformer.architectures import Affine
from askalike.encoders.transformer.weights import BLOCK_SIZE, ZERO_BYTE, quantise
from askalike.native.compiled import Matrix, inlined
from askalike.native.llvm import LLVMFunction, Memory
from askalike.native.simd import BYTES, FLOAT, FLOATS, INT, INTS, LANES, LONG, MAX_ROWS, VECTOR_BYTES, SimdBuilder

VECTORS = 2
COLUMNS = LANES * VECTORS
LARGEST = 127.0
PANEL_BYTES = 1 << 19
"""Maximum size of the weights that are read for one tile after the other: they stay in the processor's cache."""
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


def _write_rounding(builder: Any, values: Memory, steps: Memory, scale: Memory, offset: Memory) -> None:
    """Emit code that quantises a block to bytes, with its scale and the offset that cancels ZERO_BYTE in sums."""
    to = SimdBuilder(builder)
    vectors = [to.load(FLOATS, to.at(values, 0, n * VECTOR_BYTES)) for n in range(BLOCK_SIZE // LANES)]
    largest = to.fill(0.0)
    for vector in vectors:
        largest = to.call("llvm.maxnum.v16f32", FLOATS, largest, to.call("llvm.fabs.v16f32", FLOATS, vector))
    top = to.call("llvm.vector.reduce.fmax.v16f32", FLOAT, largest)
    is_zero = builder.fcmp_ordered("==", top, FLOAT(0.0))
    factor = to.spread(builder.select(is_zero, FLOAT(0.0), builder.fdiv(FLOAT(LARGEST), top)))
    total = None
    for n, vector in enumerate(vectors):
        nearest = to.call("llvm.rint.v16f32", FLOATS, builder.fmul(vector, factor))
        rounded = builder.fptosi(nearest, INTS)
        to.store(builder.trunc(rounded, BYTES), to.at(steps, 0, n * LANES))
        total = builder.add(total, rounded) if total else rounded
    to.store(builder.fmul(top, FLOAT(1 / LARGEST)), to.at(scale, 0))
    to.store(builder.mul(to.call("llvm.vector.reduce.add.v16i32", INT, total), INT(-ZERO_BYTE)), to.at(offset, 0))


def _round(values: Floats32, steps: NDArray[np.int8], scale: Floats32, offset: Ints32) -> None:
    top = abs(values[:BLOCK_SIZE]).max()
    steps[:BLOCK_SIZE] = np.rint(values[:BLOCK_SIZE] * (np.float32(LARGEST) / top if top else ZERO))
    scale[0], offset[0] = top / np.float32(LARGEST), -ZERO_BYTE * steps[:BLOCK_SIZE].sum(dtype=np.int32)


round_block = LLVMFunction(_write_rounding, _round)
"""round_block(values, steps, scale, offset): arrays that begin with the block."""


def _write_tile(
    builder: Any, count: Any, blocks: Any, weights: Memory, scales: Memory, biases: Memory,
    rows: Memory, row_scales: Memory, offsets: Memory, out: Memory,
) -> None:  # fmt: skip
    """Emit code that multiplies `count` rows, 1 to MAX_ROWS, by the weights of COLUMNS outputs. blocks: per row."""
    to = SimdBuilder(builder)

    def write(number: int) -> None:
        _write_rows(to, number, blocks, weights, scales, biases, rows, row_scales, offsets, out)

    to.for_count(count, write)


def _multiply_bytes(
    count: int, blocks: int, weights: Bytes, scales: Floats32, biases: Floats32,
    rows: Matrix[np.int8], row_scales: Matrix[np.float32], offsets: Matrix[np.int32], out: Matrix[np.float32],
) -> None:  # fmt: skip
    numbers = weights.reshape(blocks, -1, COLUMNS, 4).astype(np.int32)
    own = rows[:count, : blocks * BLOCK_SIZE].reshape(count, blocks, -1, 4)
    sums = np.einsum("bfcn,rbfn->rbc", numbers, own) + offsets[:count, :blocks, None]
    units = scales.reshape(blocks, COLUMNS) * row_scales[:count, :blocks, None]
    out[:count, :COLUMNS] = biases + (sums * units).sum(1, dtype=np.float32)


multiply_bytes = LLVMFunction(_write_tile, _multiply_bytes)
"""multiply_bytes(count, blocks, weights, scales, biases, rows, row_scales, offsets, out): arrays that begin with the
tile."""


def _write_rows(
    to: SimdBuilder, count: int, blocks: Any, weights: Memory, scales: Memory, biases: Memory,
    rows: Memory, row_scales: Memory, offsets: Memory, out: Memory,
) -> None:  # fmt: skip
    """Emit code that multiplies this number of rows, block by block."""
    builder = to.builder
    cells = [(row, vector) for row in range(count) for vector in range(VECTORS)]
    biased = [to.load(FLOATS, to.at(biases, 0, vector * VECTOR_BYTES)) for _, vector in cells]

    def add_block(block: Any, sums: Sequence[Any]) -> Sequence[Any]:
        products = _write_block(to, count, block, weights, rows, offsets)
        place = builder.mul(block, LONG(4))
        factors = [to.spread(to.load(FLOAT, to.at(row_scales, row, place))) for row in range(count)]
        begins = [builder.add(builder.mul(block, LONG(4 * COLUMNS)), LONG(v * VECTOR_BYTES)) for v in range(VECTORS)]
        units = [to.load(FLOATS, to.at(scales, 0, begin)) for begin in begins]
        return [
            to.multiply_and_add(builder.sitofp(product, FLOATS), builder.fmul(units[vector], factors[row]), total)
            for (row, vector), total, product in zip(cells, sums, products, strict=True)
        ]

    for (row, vector), total in zip(cells, to.repeat(blocks, biased, add_block), strict=True):
        to.store(total, to.at(out, row, vector * VECTOR_BYTES))


def _write_block(
    to: SimdBuilder, count: int, block: Any, weights: Memory, rows: Memory, offsets: Memory
) -> Sequence[Any]:
    """Emit code for the sums of the products in a block, for each row and vector."""
    builder = to.builder
    starts = [to.spread(to.load(INT, to.at(offsets, row, builder.mul(block, LONG(4))))) for row in range(count)]
    sums = [[start] * VECTORS for start in starts]
    weight_begin, row_begin = (builder.mul(block, LONG(size)) for size in (BLOCK_SIZE * COLUMNS, BLOCK_SIZE))
    for four in range(BLOCK_SIZE // 4):
        begins = [LONG((four * VECTORS + vector) * VECTOR_BYTES) for vector in range(VECTORS)]
        read = [to.load(INTS, to.at(weights, 0, builder.add(weight_begin, begin))) for begin in begins]
        for row in range(count):
            own = to.spread(to.load(INT, to.at(rows, row, builder.add(row_begin, LONG(4 * four)))))
            sums[row] = [to.add_byte_products(*pair, own) for pair in zip(sums[row], read, strict=True)]
    return [total for own in sums for total in own]


class ByteWeights(NamedTuple):
    """The weights of the same linear map in every layer, one row per layer and group of COLUMNS outputs."""

    steps: Matrix[np.uint8]
    scales: Matrix[np.float32]
    biases: Matrix[np.float32]


class ByteRows(NamedTuple):
    """Rows as bytes, with the scale of each block and its offset: the part of a sum due to the weights' zero point."""

    steps: Matrix[np.int8]
    scales: Matrix[np.float32]
    offsets: Matrix[np.int32]


def pack_weights(layers: Sequence[Affine]) -> ByteWeights:
    """Return the weights of a map in all layers. Inputs and outputs are whole blocks."""
    packed = [_pack(layer) for layer in layers]
    return ByteWeights(*(np.concatenate(parts) for parts in zip(*packed, strict=True)))


def _pack(linear: Affine) -> ByteWeights:
    numbers, scales = quantise(linear.weight)
    groups = len(numbers) // COLUMNS
    blocks = numbers.shape[1]
    fours = numbers.reshape(groups, COLUMNS, blocks, BLOCK_SIZE // 4, 4).transpose(0, 2, 3, 1, 4)
    units = scales.reshape(groups, COLUMNS, blocks).transpose(0, 2, 1)
    return ByteWeights(fours.reshape(groups, -1), units.reshape(groups, -1), linear.bias.reshape(groups, COLUMNS))


def make_rows(count: int, columns: int) -> ByteRows:
    """Return a buffer for rows of at most this number of columns."""
    blocks = count, columns // BLOCK_SIZE
    return ByteRows(np.empty((count, columns), np.int8), np.empty(blocks, np.float32), np.empty(blocks, np.int32))


@inlined()
def round_rows(values: Matrix[np.float32], rounded: ByteRows) -> None:
    """Quantise rows of whole blocks."""
    for row in range(len(values)):
        for block in range(values.shape[1] // BLOCK_SIZE):
            begin = block * BLOCK_SIZE
            own, steps = values[row, begin:], rounded.steps[row, begin:]
            round_block(own, steps, rounded.scales[row, block:], rounded.offsets[row, block:])


@inlined()
def multiply(rows: ByteRows, inputs: int, weights: ByteWeights, layer: int, out: Matrix[np.float32]) -> None:
    """Write the map's results for rows. inputs: columns of the rows.

    Each tile reads a panel of weights from end to end, which the processor foresees better than one group in turns.
    """
    count = len(out)
    groups = out.shape[1] // COLUMNS
    tiles = (count + MAX_ROWS - 1) // MAX_ROWS
    panels = (groups * COLUMNS * inputs + PANEL_BYTES - 1) // PANEL_BYTES
    for panel in range(panels):
        for tile in range(tiles):
            begin, end = count * tile // tiles, count * (tile + 1) // tiles
            for group in range(groups * panel // panels, groups * (panel + 1) // panels):
                own, column = layer * groups + group, group * COLUMNS
                multiply_bytes(
                    end - begin, inputs // BLOCK_SIZE, weights.steps[own], weights.scales[own], weights.biases[own],
                    rows.steps[begin:], rows.scales[begin:], rows.offsets[begin:], out[begin:, column:],
                )  # fmt: skip


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


multiply_floats = LLVMFunction(
    _write_product,
    lambda count, inputs, vectors, factors, rows, out: np.matmul(
        factors[:count, :inputs], rows[:inputs, : vectors * LANES], out[:count, : vectors * LANES]
    ),
)
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
