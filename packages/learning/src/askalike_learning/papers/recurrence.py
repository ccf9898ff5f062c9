"""An LSTM over texts of different lengths on a processor: no padding is read, and no word twice."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd import Function

from askalike.plugin.models import Matrix, compiled, inlined

Floats = Matrix[np.float32]
ZERO, HALF, ONE, TWO = (np.float32(number) for number in (0, 0.5, 1, 2))
LOG2_E, LEAST_POWER = np.float32(1 / math.log(2)), np.float32(-100)
SERIES = tuple(np.float32(math.log(2) ** n / math.factorial(n)) for n in range(7))
"""Coefficients of the Taylor series of 2 ** x."""


class Packing(NamedTuple):
    """The real tokens of texts, step by step, the longest texts first.

    places: (tokens,), each token's place in the flattened mask. sizes: the number of texts of each step, descending.
    last: (texts,), the number of each text's last token; that of another text for one without tokens.
    """

    places: Tensor
    sizes: list[int]
    last: Tensor


def pack(mask: Tensor) -> Packing:
    """Return the tokens of a mask (texts, tokens), True = real token; real tokens come before padding."""
    lengths = mask.sum(1)
    order = lengths.argsort(descending=True, stable=True)
    sorted_mask = mask[order].T
    step, rank = sorted_mask.nonzero(as_tuple=True)
    sizes = sorted_mask.sum(1)
    starts = sizes.cumsum(0) - sizes
    last = (starts[(lengths - 1).clamp_min(0)] + order.argsort()).clamp_max(max(len(step) - 1, 0))
    return Packing(order[rank] * mask.shape[1] + step, sizes[sizes > 0].tolist(), last)


def read_packed(inputs: Tensor, rows: Tensor, weight: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return the state after each token of a packing, (tokens, hidden); everything is in 32 bits, on a processor.

    inputs: (n, 4 · hidden), what a word adds to the gates i, f, g, o, biases included. rows: (tokens,), each token's
    row of inputs. weight: (4 · hidden, hidden), of the state before.
    """
    states: Tensor = _PackedLstm.apply(inputs, rows, weight, list(sizes))  # type: ignore[no-untyped-call]
    return states


class _PackedLstm(Function):
    """c = σ(f) c' + σ(i) tanh(g), h = σ(o) tanh(c), in 32 bits. Products are torch's; the rest of a step is one pass.

    The arrays of states have rows of zeros before the first token, as many as the first step has: its states before.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, rows: Tensor, weight: Tensor, sizes: list[int]) -> Tensor:
        hidden, first = weight.shape[1], sizes[0]
        gates = weight.new_empty(len(rows), 4 * hidden)
        states, cells, squashed = (weight.new_zeros(first + len(rows), hidden) for _ in range(3))
        tensors = (inputs.detach().reshape(-1, hidden), rows, gates.view(-1, hidden), cells, squashed, states)
        advance = _bind(_advance, tensors)
        for begin, end, before in _iterate_steps(sizes):
            torch.mm(states[before : before + end - begin], weight.T, out=gates[begin:end])
            advance(begin, end, before)
        ctx.save_for_backward(gates, states, cells, squashed, weight, rows)
        ctx.sizes, ctx.n_inputs = sizes, len(inputs)
        return states[first:]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None, Tensor | None, None]:
        gates, states, cells, squashed, weight, rows = ctx.saved_tensors
        hidden = weight.shape[1]
        by_gates = torch.empty_like(gates)
        errors, cell_errors = (states.new_zeros(ctx.sizes[0], hidden) for _ in range(2))
        views = (tensor.view(-1, hidden) for tensor in (gates, cells, squashed, by_gates, errors, cell_errors))
        pass_back = _bind(_pass_back, (gradients[0], *views))
        steps = list(_iterate_steps(ctx.sizes))
        for begin, end, before in reversed(steps):
            pass_back(begin, end, before)
            torch.mm(by_gates[begin:end], weight, out=errors[: end - begin])
        by_weight = None
        if ctx.needs_input_grad[2]:
            earlier = torch.cat([torch.arange(before, before + end - begin) for begin, end, before in steps])
            by_weight = by_gates.T @ states[earlier]
        if not ctx.needs_input_grad[0]:
            return None, None, by_weight, None
        return torch.ops.aten.embedding_dense_backward(by_gates, rows, ctx.n_inputs, -1, False), None, by_weight, None


def _bind(function: Callable[..., None], tensors: Iterable[Tensor]) -> Callable[[int, int, int], None]:
    """Return a compiled function with tensors as its arrays, to be called with the numbers of a step."""
    return partial(function, *(tensor.contiguous().numpy() for tensor in tensors))


def _iterate_steps(sizes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield each step's first token, the one after its last, and the row of states before the first."""
    begin = 0
    for before, size in zip([sizes[0], *sizes], sizes, strict=False):
        yield begin, begin + size, begin + sizes[0] - before
        begin += size


@compiled()
def _advance(
    inputs: Floats, rows: NDArray[np.int64], gates: Floats, cells: Floats, squashed: Floats, states: Floats,
    begin: int, end: int, before: int,
) -> None:  # fmt: skip
    """Compute a step's gates, cells and states; its gates are W h' at first.

    Short loops become vector instructions. inputs, gates: four rows for each, (4 n, hidden).
    """
    hidden = cells.shape[1]
    shift = len(cells) - len(gates) // 4
    for token in range(begin, end):
        for gate in range(4):
            values, added = gates[4 * token + gate], inputs[4 * rows[token] + gate]
            if gate == 2:
                for j in range(hidden):
                    values[j] = _tanh(values[j] + added[j])
            else:
                for j in range(hidden):
                    values[j] = _sigmoid(values[j] + added[j])
        into, keep, new, out = gates[4 * token], gates[4 * token + 1], gates[4 * token + 2], gates[4 * token + 3]
        cell_before, cell = cells[before + token - begin], cells[shift + token]
        tanh_of_cell, state = squashed[shift + token], states[shift + token]
        for j in range(hidden):
            cell[j] = keep[j] * cell_before[j]
        for j in range(hidden):
            cell[j] += into[j] * new[j]
        for j in range(hidden):
            tanh_of_cell[j] = _tanh(cell[j])
        for j in range(hidden):
            state[j] = out[j] * tanh_of_cell[j]


@compiled()
def _pass_back(
    gradients: Floats, gates: Floats, cells: Floats, squashed: Floats, by_gates: Floats, errors: Floats,
    cell_errors: Floats, begin: int, end: int, before: int,
) -> None:  # fmt: skip
    """Compute the derivatives by a step's gates, and of its cells by those before.

    errors, cell_errors: those passed back by the step after, (texts, hidden); zeros for texts that it does not have.
    """
    hidden = cells.shape[1]
    shift = len(cells) - len(gradients)
    for token in range(begin, end):
        into, keep, new, out = gates[4 * token], gates[4 * token + 1], gates[4 * token + 2], gates[4 * token + 3]
        by_into, by_keep, by_new = by_gates[4 * token], by_gates[4 * token + 1], by_gates[4 * token + 2]
        by_out, gradient = by_gates[4 * token + 3], gradients[token]
        cell_before, tanh_of_cell = cells[before + token - begin], squashed[shift + token]
        error, cell_error = errors[token - begin], cell_errors[token - begin]
        for j in range(hidden):
            error[j] += gradient[j]
        for j in range(hidden):
            by_out[j] = error[j] * tanh_of_cell[j] * out[j] * (ONE - out[j])
        for j in range(hidden):
            cell_error[j] += error[j] * out[j] * (ONE - tanh_of_cell[j] * tanh_of_cell[j])
        for j in range(hidden):
            by_into[j] = cell_error[j] * new[j] * into[j] * (ONE - into[j])
        for j in range(hidden):
            by_keep[j] = cell_error[j] * cell_before[j] * keep[j] * (ONE - keep[j])
        for j in range(hidden):
            by_new[j] = cell_error[j] * into[j] * (ONE - new[j] * new[j])
        for j in range(hidden):
            cell_error[j] *= keep[j]


@inlined()
def _tanh(x: np.float32) -> np.float32:
    return TWO * _sigmoid(TWO * x) - ONE


@inlined()
def _sigmoid(x: np.float32) -> np.float32:
    """Return 1 / (1 + exp(−x)) to 32 bits, NaN for NaN: exp(−|x|) is a power of two times a Taylor series."""
    power = -abs(x) * LOG2_E
    power = LEAST_POWER if power < LEAST_POWER else power
    whole = np.int32(power - HALF)
    r = power - np.float32(whole)
    series = SERIES[3] + r * (SERIES[4] + r * (SERIES[5] + r * SERIES[6]))
    series = SERIES[0] + r * (SERIES[1] + r * (SERIES[2] + r * series))
    small = series * np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)
    return (ONE if x > ZERO else small) / (ONE + small)
