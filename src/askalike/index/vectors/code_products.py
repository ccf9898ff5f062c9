"""Dot products of a query with the codes of a block of rows.

Sixteen numbers of a row are one 32-bit word, two bits each: number 4s + b is in byte b, shifted left by 2s bits. So the
masked bytes of a word are four consecutive numbers, times 4 to the power of s.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from askalike.native.llvm import MASK_SIZE, LLVMFunction, Memory
from askalike.native.simd import BYTE, INT, INTS, LANES, LONG, VECTOR_BYTES, LaneWriter, has_byte_products, has_feature

BLOCK = MASK_SIZE
"""Rows per block; their sums fit into the processor's registers."""
GROUP = 16
"""Numbers of a row per word."""
VECTORS, FOURS, BYTES_PER_WORD = BLOCK // LANES, GROUP // 4, 4
BLOCK_BYTES = BLOCK * BYTES_PER_WORD
AHEAD = 32 * BLOCK_BYTES
"""Prefetch distance in words."""
BYTE_MASK = 0x03030303
SHIFTS = np.arange(0, 32, 2, dtype=np.uint32).reshape(4, 4).T
"""(4, 4): the bit offset of number (s, b) of a group."""
EIGHT = LANES // 2
PAIRS = ir.VectorType(ir.IntType(16), LANES)


def pack_levels(levels: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return numbers from 0 to 3, (blocks · BLOCK, groups · GROUP), as words: (blocks · groups, BLOCK)."""
    rows, columns = levels.shape
    parts = levels.reshape(rows, columns // GROUP, FOURS, 4).astype(np.uint32) << SHIFTS
    words = np.bitwise_or.reduce(parts, axis=(2, 3))
    blocks = words.reshape(-1, BLOCK, columns // GROUP).transpose(0, 2, 1)
    return np.ascontiguousarray(blocks).reshape(-1, BLOCK)


def _write_products(builder: Any, groups: Any, words: Memory, query: Memory, products: Memory) -> None:
    """Emit code for the dot product of a query with each row of a block."""
    to = LaneWriter(builder)
    zeros = to.spread(INT(0))

    def add_group(group: Any, sums: Any) -> Any:
        begin, first = builder.mul(group, LONG(BLOCK_BYTES)), builder.mul(group, LONG(GROUP))
        places = [builder.add(begin, LONG(vector * VECTOR_BYTES)) for vector in range(VECTORS)]
        read = [to.load(INTS, to.at(words, 0, place)) for place in places]
        for place in places:
            to.prefetch(to.at(words, 0, builder.add(place, LONG(AHEAD))))
        later = []
        for four in range(FOURS):
            numbers = to.load(INT, to.at(query, 0, builder.add(first, LONG(4 * four))))
            mask = to.spread(INT(BYTE_MASK << 2 * four))
            later += [
                _add_products(to, total, builder.and_(own, mask), numbers)
                for own, total in zip(read, sums[four * VECTORS :], strict=False)
            ]
        return later

    sums = to.repeat(groups, [zeros] * FOURS * VECTORS, add_group)
    for vector in range(VECTORS):
        total = zeros
        for four, scaled in enumerate(sums[vector::VECTORS]):
            total = builder.add(total, builder.ashr(scaled, to.spread(INT(2 * four))))
        to.store(total, to.at(products, 0, vector * VECTOR_BYTES))


def _add_products(to: LaneWriter, sums: Any, unsigned: Any, signed: Any) -> Any:
    """Emit code that adds four byte products to each sum. signed: four bytes."""
    if has_byte_products():
        return to.add_byte_products(sums, unsigned, to.spread(signed))
    if has_feature("avx2"):
        return to.builder.add(sums, _multiply_halves(to, unsigned, to.spread(signed)))
    builder = to.builder
    for byte in range(BYTES_PER_WORD):
        left = builder.and_(builder.lshr(unsigned, to.spread(INT(8 * byte))), to.spread(INT(0xFF)))
        right = builder.ashr(builder.shl(signed, INT(24 - 8 * byte)), INT(24))
        sums = builder.add(sums, builder.mul(left, to.spread(right)))
    return sums


def _multiply_halves(to: LaneWriter, unsigned: Any, signed: Any) -> Any:
    """Emit code for the sums of four byte products, eight rows at a time, in 16 bits before they are added in pairs."""
    builder = to.builder
    ones, halves = ir.Constant(PAIRS, [1] * LANES), []
    for first in (0, EIGHT):
        places = ir.Constant(ir.VectorType(INT, EIGHT), list(range(first, first + EIGHT)))
        left, right = (
            builder.bitcast(builder.shuffle_vector(fours, fours, places), ir.VectorType(BYTE, 4 * EIGHT))
            for fours in (unsigned, signed)
        )
        pairs = to.call("llvm.x86.avx2.pmadd.ub.sw", PAIRS, left, right)
        halves.append(to.call("llvm.x86.avx2.pmadd.wd", ir.VectorType(INT, EIGHT), pairs, ones))
    return builder.shuffle_vector(*halves, ir.Constant(INTS, list(range(LANES))))


multiply_codes = LLVMFunction(_write_products)
"""multiply_codes(groups, words, query, products): arrays that begin with the block, the query and the output."""
