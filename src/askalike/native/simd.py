"""Emits LLVM IR for vectors of sixteen numbers; see LLVMFunction."""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from askalike.native.llvm import Memory, call_function, call_prefetch
from askalike.native.machine_code import host_processor

LANES = 16
BYTE = ir.IntType(8)
INT = ir.IntType(32)
LONG = ir.IntType(64)
FLOAT = ir.FloatType()
BYTES, INTS, FLOATS = (ir.VectorType(kind, LANES) for kind in (BYTE, INT, FLOAT))
EIGHT = LANES // 2
EIGHT_INTS, EIGHT_FOURS, PAIRS = (
    ir.VectorType(*own) for own in ((INT, EIGHT), (BYTE, 4 * EIGHT), (ir.IntType(16), LANES))
)
NO_PAIRS = ir.Constant(PAIRS, [0] * LANES)
MAX_ROWS = 6
"""Rows that are computed at the same time: their sums fit into the processor's registers."""
VECTOR_BYTES = 4 * LANES
"""The size in bytes of INTS and of FLOATS."""


def has_feature(name: str) -> bool:
    """Return whether this machine's processor has a feature, given by its LLVM name."""
    return f"+{name}" in host_processor()[2].split(",")


def has_byte_products() -> bool:
    """Return whether this machine's processor has an instruction for sixteen sums of four byte products each."""
    return has_feature("avx512vnni")


class SimdBuilder:
    """Emits instructions at the position of LLVM's builder. Addresses are in bytes, and may be numbers or values."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def at(self, memory: Memory, row: int, place: Any = 0) -> Any:
        """Return the address of a byte of a row."""
        step = self.builder.mul(memory.step, LONG(row))
        offset = self.builder.add(step, LONG(place) if isinstance(place, int) else place)
        return self.builder.gep(self.builder.bitcast(memory.address, BYTE.as_pointer()), [offset])

    def load(self, kind: Any, address: Any) -> Any:
        """Load a value of a type."""
        return self.builder.load(self.builder.bitcast(address, kind.as_pointer()), align=1)

    def store(self, value: Any, address: Any) -> None:
        """Store a value."""
        self.builder.store(value, self.builder.bitcast(address, value.type.as_pointer()), align=1)

    def prefetch(self, address: Any) -> None:
        """Prefetch an address into the processor's cache; it may be an invalid address."""
        call_prefetch(self.builder, address)

    def spread(self, number: Any, lanes: int = LANES) -> Any:
        """Return a vector with a number in all lanes."""
        kind = ir.VectorType(number.type, lanes)
        nothing = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(nothing, number, INT(0))
        return self.builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(INT, lanes), [0] * lanes))

    def fill(self, number: float) -> Any:
        """Return a vector with a constant in all lanes."""
        return ir.Constant(FLOATS, [number] * LANES)

    def call(self, name: str, kind: Any, *values: Any) -> Any:
        """Call an LLVM function that returns a value of a type."""
        return call_function(self.builder, name, kind, *values)

    def multiply_and_add(self, left: Any, right: Any, total: Any) -> Any:
        """Return total + left x right for vectors, rounded once."""
        return self.call("llvm.fma.v16f32", FLOATS, left, right, total)

    def add_byte_products(self, sums: Any, unsigned: Any, signed: Any) -> Any:
        """Return INTS with the sum of the products of four bytes added to each lane, by the processor's best way."""
        if has_byte_products():
            return self.call("llvm.x86.avx512.vpdpbusd.512", INTS, sums, unsigned, signed)
        if has_feature("avx2"):
            return self.builder.add(sums, self._multiply_halves(unsigned, signed))
        for byte in range(4):
            left = self.builder.and_(self.builder.lshr(unsigned, self.spread(INT(8 * byte))), self.spread(INT(0xFF)))
            right = self.builder.ashr(self.builder.shl(signed, self.spread(INT(24 - 8 * byte))), self.spread(INT(24)))
            sums = self.builder.add(sums, self.builder.mul(left, right))
        return sums

    def add_pair_products(self, sums: Any, unsigned: Any, signed: Any) -> Any:
        """Return PAIRS with the sum of the products of two bytes added to each lane, all of which fit into 16 bits.

        unsigned, signed: eight lanes of four bytes. unsigned: of at most 127.
        """
        to = self.builder
        (left, right) = (self.builder.bitcast(fours, EIGHT_FOURS) for fours in (unsigned, signed))
        if has_feature("avx2"):
            return to.add(sums, self.call("llvm.x86.avx2.pmadd.ub.sw", PAIRS, left, right))
        left, right = (to.bitcast(fours, PAIRS) for fours in (left, right))
        for factors in self._split_pairs(left, right):
            sums = to.add(sums, to.mul(*factors))
        return sums

    def add_pairs(self, pairs: Any) -> Any:
        """Return the sums of two adjacent lanes of PAIRS each, in 32 bits."""
        both = self.builder.bitcast(pairs, EIGHT_INTS)
        shift = self.spread(INT(16), EIGHT)
        first = self.builder.ashr(self.builder.shl(both, shift), shift)
        return self.builder.add(first, self.builder.ashr(both, shift))

    def _split_pairs(self, unsigned: Any, signed: Any) -> list[tuple[Any, Any]]:
        """Return the factors of the products of the first and of the second byte of each lane, in 16 bits."""
        to = self.builder
        shift, low = (ir.Constant(PAIRS, [number] * LANES) for number in (8, 0xFF))
        return [
            (to.and_(unsigned, low), to.ashr(to.shl(signed, shift), shift)),
            (to.lshr(unsigned, shift), to.ashr(signed, shift)),
        ]

    def _multiply_halves(self, unsigned: Any, signed: Any) -> Any:
        """Return the sums of four byte products, eight lanes at a time, by AVX2's sums of two products."""
        to, halves = self.builder, []
        for first in (0, EIGHT):
            places = ir.Constant(EIGHT_INTS, list(range(first, first + EIGHT)))
            pairs = [to.bitcast(to.shuffle_vector(fours, fours, places), PAIRS) for fours in (unsigned, signed)]
            products = [
                self.call("llvm.x86.avx2.pmadd.wd", EIGHT_INTS, *factors) for factors in self._split_pairs(*pairs)
            ]
            halves.append(to.add(*products))
        return to.shuffle_vector(*halves, ir.Constant(INTS, list(range(LANES))))

    def for_count(self, count: Any, write: Callable[[int], None]) -> None:
        """Emit the code of `write` for each number from 1 to MAX_ROWS; the one that equals `count` will run."""
        end = self.builder.append_basic_block("counted")
        switch = self.builder.switch(count, end)
        for number in range(1, MAX_ROWS + 1):
            case = self.builder.append_basic_block(f"count_{number}")
            switch.add_case(LONG(number), case)
            self.builder.position_at_end(case)
            write(number)
            self.builder.branch(end)
        self.builder.position_at_end(end)

    def repeat(self, times: Any, values: Sequence[Any], turn: Callable[[Any, Sequence[Any]], Sequence[Any]]) -> Any:
        """Emit a loop of at least one iteration, and return the values after it.

        turn: returns the next values from an iteration's number and the values before it.
        """
        begin = self.builder.block
        loop, end = (self.builder.append_basic_block(name) for name in ("turn", "end"))
        self.builder.branch(loop)
        self.builder.position_at_end(loop)
        phis = [self.builder.phi(LONG), *(self.builder.phi(value.type) for value in values)]
        after = turn(phis[0], phis[1:])
        number = self.builder.add(phis[0], LONG(1))
        for phi, first, later in zip(phis, [LONG(0), *values], [number, *after], strict=True):
            phi.add_incoming(first, begin)
            phi.add_incoming(later, self.builder.block)
        self.builder.cbranch(self.builder.icmp_signed("<", number, times), loop, end)
        self.builder.position_at_end(end)
        return after
