"""The products of a query with codes of two bits, which codes.py uses to estimate scores.

Sixteen numbers of a row are one 32-bit word, two bits each: number 4s + b is in byte b, shifted left by 2s bits. So the
masked bytes of a word are four consecutive numbers, times 4 to the power of s. The products with a query are written in
LLVM IR because numba has no instruction for products of bytes: for a million rows of 256 numbers this takes 2.9 ms,
popcounts of bit planes in numba 8.1 ms, plain loops in numba 44 ms (medians in turns, an EPYC with AVX-512).
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Bytes, Ints32
from askalike.native.llvm import MASK_SIZE, LLVMFunction, Memory
from askalike.native.simd import (
    EIGHT,
    EIGHT_INTS,
    INT,
    INTS,
    LANES,
    LONG,
    NO_PAIRS,
    VECTOR_BYTES,
    SimdBuilder,
    has_byte_products,
)

BLOCK = MASK_SIZE
"""Rows per block; their sums fit into the processor's registers."""
GROUP = 16
"""Numbers of a row per word."""
VECTORS = BLOCK // LANES
FOURS = GROUP // 4
BYTES_PER_WORD = 4
BLOCK_BYTES = BLOCK * BYTES_PER_WORD
AHEAD = 32 * BLOCK_BYTES
"""Prefetch distance in words."""
BYTE_MASK = 0x03030303
PAIRED_GROUPS = 16
"""Groups whose sums of the products of two bytes fit into 16 bits."""
SHIFTS = np.arange(0, 32, 2, dtype=np.uint32).reshape(4, 4).T
"""(4, 4): the bit offset of number (s, b) of a group."""
MAX_STEP = 63
"""Largest integer of a quantised query; see PAIRED_GROUPS."""


def pack_levels(levels: Bytes) -> NDArray[np.uint32]:
    """Return numbers from 0 to 3, (blocks · BLOCK, groups · GROUP), as words: (blocks · groups, BLOCK)."""
    rows, columns = levels.shape
    parts = levels.reshape(rows, columns // GROUP, FOURS, 4).astype(np.uint32) << SHIFTS
    words = np.bitwise_or.reduce(parts, axis=(2, 3))
    blocks = words.reshape(-1, BLOCK, columns // GROUP).transpose(0, 2, 1)
    return np.ascontiguousarray(blocks).reshape(-1, BLOCK)


def _write_products(builder: Any, groups: Any, words: Memory, query: Memory, products: Memory) -> None:
    """Emit code for the dot product of a query with each row of a block."""
    write = _sum_fours if has_byte_products() else _sum_pairs
    write(SimdBuilder(builder), groups, words, query, products)


def _sum_fours(to: SimdBuilder, groups: Any, words: Memory, query: Memory, products: Memory) -> None:
    """Add up the products of four bytes in 32 bits, separately for each shift."""
    zeros = to.spread(INT(0))
    builder = to.builder

    def add_group(group: Any, sums: Any) -> Any:
        read, numbers = _read_group(to, group, words, query, INTS)
        later = []
        for four in range(FOURS):
            mask = to.spread(INT(BYTE_MASK << 2 * four))
            later += [
                to.add_byte_products(total, builder.and_(own, mask), to.spread(numbers[four]))
                for own, total in zip(read, sums[four * VECTORS :], strict=False)
            ]
        return later

    sums = to.repeat(groups, [zeros] * FOURS * VECTORS, add_group)
    for vector in range(VECTORS):
        total = zeros
        for four, scaled in enumerate(sums[vector::VECTORS]):
            total = builder.add(total, builder.ashr(scaled, to.spread(INT(2 * four))))
        to.store(total, to.at(products, 0, vector * VECTOR_BYTES))


def _sum_pairs(to: SimdBuilder, groups: Any, words: Memory, query: Memory, products: Memory) -> None:
    """Add up the products of two bytes in 16 bits, for PAIRED_GROUPS at a time: sums that fit into the registers."""
    builder = to.builder
    vectors = BLOCK // EIGHT
    spread = partial(to.spread, lanes=EIGHT)

    def add_group(group: Any, sums: Any) -> Any:
        read, numbers = _read_group(to, group, words, query, EIGHT_INTS)
        factors = list(map(spread, numbers))
        later = []
        for own, total in zip(read, sums, strict=True):
            for four, signed in enumerate(factors):
                bits = builder.and_(builder.lshr(own, spread(INT(2 * four))), spread(INT(BYTE_MASK)))
                total = to.add_pair_products(total, bits, signed)
            later.append(total)
        return later

    def add_groups(turn: Any, totals: Any) -> Any:
        first = builder.mul(turn, LONG(PAIRED_GROUPS))
        left = builder.sub(groups, first)
        count = builder.select(builder.icmp_signed("<", left, LONG(PAIRED_GROUPS)), left, LONG(PAIRED_GROUPS))
        sums = to.repeat(count, [NO_PAIRS] * vectors, lambda n, sums: add_group(builder.add(first, n), sums))
        return [builder.add(*pair) for pair in zip(totals, map(to.add_pairs, sums), strict=True)]

    turns = builder.sdiv(builder.add(groups, LONG(PAIRED_GROUPS - 1)), LONG(PAIRED_GROUPS))
    totals = to.repeat(turns, [spread(INT(0))] * vectors, add_groups)
    for vector, total in enumerate(totals):
        to.store(total, to.at(products, 0, vector * EIGHT * BYTES_PER_WORD))


def _read_group(to: SimdBuilder, group: Any, words: Memory, query: Memory, kind: Any) -> tuple[list[Any], list[Any]]:
    """Return a group's words of a block as vectors of a kind, and its numbers of the query, four in each INT."""
    begin, first = to.builder.mul(group, LONG(BLOCK_BYTES)), to.builder.mul(group, LONG(GROUP))
    size = kind.count * BYTES_PER_WORD
    places = [to.builder.add(begin, LONG(place)) for place in range(0, BLOCK_BYTES, size)]
    read = [to.load(kind, to.at(words, 0, place)) for place in places]
    for place in range(0, BLOCK_BYTES, VECTOR_BYTES):
        to.prefetch(to.at(words, 0, to.builder.add(begin, LONG(place + AHEAD))))
    return read, [to.load(INT, to.at(query, 0, to.builder.add(first, LONG(4 * four)))) for four in range(FOURS)]


def _multiply(groups: int, words: NDArray[np.uint32], query: NDArray[np.int8], products: Ints32) -> None:
    levels = (words[:groups, :, None, None] >> SHIFTS & 3).astype(np.int32)
    np.einsum("grfn,gfn->r", levels, query[: groups * GROUP].reshape(groups, FOURS, 4), out=products)


multiply_codes = LLVMFunction(_write_products, _multiply)
"""multiply_codes(groups, words, query, products): arrays that begin with the block, the query and the output."""
