"""Linear maps with 8-bit weights and inputs, compiled; for the quantisation see `weights`.

Weights are unsigned bytes in the order in which they are read: groups of COLUMNS outputs, each with its blocks of
BLOCK_SIZE inputs, these in fours, each for one output after the other. The bytes of rows are signed. A sum of products
starts with the offset that cancels the weights' ZERO.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from askalike.encoders.transformer.architectures import Affine
from askalike.encoders.transformer.weights import BLOCK_SIZE, ZERO, quantise
from askalike.native.compiled import Matrix, inlined
from askalike.native.llvm import LLVMFunction, Memory
from askalike.native.simd import BYTES, FLOAT, FLOATS, INT, INTS, LANES, LONG, MAX_ROWS, VECTOR_BYTES, SimdBuilder

VECTORS = 2
COLUMNS = LANES * VECTORS
LARGEST = 127.0
PANEL_BYTES = 1 << 19
"""Maximum size of the weights that are read for one tile after the other: they stay in the processor's cache."""


def _write_rounding(builder: Any, values: Memory, steps: Memory, scale: Memory, offset: Memory) -> None:
    """Emit code that quantises a block to bytes, with its scale and the offset that cancels ZERO in sums."""
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
    to.store(builder.mul(to.call("llvm.vector.reduce.add.v16i32", INT, total), INT(-ZERO)), to.at(offset, 0))


round_block = LLVMFunction(_write_rounding)
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


multiply_bytes = LLVMFunction(_write_tile)
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
