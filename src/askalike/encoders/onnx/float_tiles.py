"""Products of 32-bit matrices, a few rows at a time."""

from collections.abc import Sequence
from typing import Any

from askalike.native.llvm import LLVMFunction, Memory
from askalike.native.simd import FLOAT, FLOATS, LONG, VECTOR_BYTES, LaneWriter


def _write_product(
    builder: Any, count: Any, inputs: Any, vectors: Any, factors: Memory, rows: Memory, out: Memory
) -> None:
    """Emit code that multiplies 1 to MAX_ROWS rows of factors by a matrix. Its and `out`'s rows are whole vectors."""
    to = LaneWriter(builder)

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


multiply_tile = LLVMFunction(_write_product)
"""multiply_tile(count, inputs, vectors, factors, rows, out): arrays that begin with the tile."""
