"""Products of byte rows with weights: one instruction adds four products to each of sixteen sums.

Weights are unsigned bytes in the order in which they are read: groups of COLUMNS outputs, each with its blocks of
BLOCK_SIZE inputs, these in fours, each for one output after the other. The bytes of rows are signed. A sum of products
starts with the offset that cancels the weights' ZERO.
"""

from collections.abc import Sequence
from typing import Any

from askalike.encoders.onnx.blocks import BLOCK_SIZE, ZERO
from askalike.native.llvm import LLVMFunction, Memory
from askalike.native.simd import BYTES, FLOAT, FLOATS, INT, INTS, LANES, LONG, VECTOR_BYTES, LaneWriter

VECTORS = 2
COLUMNS = LANES * VECTORS
LARGEST = 127.0


def _write_rounding(builder: Any, values: Memory, steps: Memory, scale: Memory, offset: Memory) -> None:
    """Emit code that quantises a block to bytes, with its scale and the offset that cancels ZERO in sums."""
    to = LaneWriter(builder)
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
    to = LaneWriter(builder)

    def write(number: int) -> None:
        _write_rows(to, number, blocks, weights, scales, biases, rows, row_scales, offsets, out)

    to.for_count(count, write)


multiply_tile = LLVMFunction(_write_tile)
"""multiply_tile(count, blocks, weights, scales, biases, rows, row_scales, offsets, out): arrays that begin with the
tile."""


def _write_rows(
    to: LaneWriter, count: int, blocks: Any, weights: Memory, scales: Memory, biases: Memory,
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
    to: LaneWriter, count: int, block: Any, weights: Memory, rows: Memory, offsets: Memory
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
