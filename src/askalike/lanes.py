"""Writes code in LLVM's language for vectors of sixteen numbers; see LLVMFunction."""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from askalike.llvm import Memory, call_function, call_prefetch
from askalike.machine_code import host_processor

LANES = 16
BYTE, INT, LONG, FLOAT = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.FloatType()
BYTES, INTS, FLOATS = (ir.VectorType(kind, LANES) for kind in (BYTE, INT, FLOAT))
MAX_ROWS = 6
"""Rows that are computed at the same time: their sums fit into the processor's registers."""
VECTOR_BYTES = 4 * LANES
"""The bytes of INTS and of FLOATS."""


def has_feature(name: str) -> bool:
    """Return whether this machine's processor has a feature, by LLVM's name."""
    return f"+{name}" in host_processor()[2].split(",")


def has_byte_products() -> bool:
    """Return whether this machine's processor has an instruction for sixteen sums of four products of bytes."""
    return has_feature("avx512vnni")


class LaneWriter:
    """Adds instructions where LLVM's builder stands. Addresses are counted in bytes, and may be numbers or values."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def at(self, memory: Memory, row: int, place: Any = 0) -> Any:
        """Return the address of a byte of a row."""
        step = self.builder.mul(memory.step, LONG(row))
        offset = self.builder.add(step, LONG(place) if isinstance(place, int) else place)
        return self.builder.gep(self.builder.bitcast(memory.address, BYTE.as_pointer()), [offset])

    def load(self, kind: Any, address: Any) -> Any:
        """Read a value of a kind."""
        return self.builder.load(self.builder.bitcast(address, kind.as_pointer()), align=1)

    def store(self, value: Any, address: Any) -> None:
        """Write a value."""
        self.builder.store(value, self.builder.bitcast(address, value.type.as_pointer()), align=1)

    def prefetch(self, address: Any) -> None:
        """Have the processor read an address into its cache; it may be none of this process's."""
        call_prefetch(self.builder, address)

    def spread(self, number: Any) -> Any:
        """Return a vector that has a number in all places."""
        kind = ir.VectorType(number.type, LANES)
        nothing = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(nothing, number, INT(0))
        return self.builder.shuffle_vector(first, nothing, ir.Constant(INTS, [0] * LANES))

    def fill(self, number: float) -> Any:
        """Return a vector that has a constant in all places."""
        return ir.Constant(FLOATS, [number] * LANES)

    def call(self, name: str, kind: Any, *values: Any) -> Any:
        """Call a function of LLVM that returns a kind."""
        return call_function(self.builder, name, kind, *values)

    def multiply_and_add(self, left: Any, right: Any, total: Any) -> Any:
        """Return total + left x right of vectors, rounded once."""
        return self.call("llvm.fma.v16f32", FLOATS, left, right, total)

    def add_byte_products(self, sums: Any, unsigned: Any, signed: Any) -> Any:
        """Return INTS whose places have the sums of four products more; see `has_byte_products`."""
        return self.call("llvm.x86.avx512.vpdpbusd.512", INTS, sums, unsigned, signed)

    def for_count(self, count: Any, write: Callable[[int], None]) -> None:
        """Write what `write` does for each number from 1 to MAX_ROWS, of which the one that `count` is will run."""
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
        """Write a loop of at least one turn, and return the values after it.

        turn: returns the next values from a turn's number and the values before it.
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
