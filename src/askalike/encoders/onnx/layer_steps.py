"""Layer normalisation and activations of a transformer, compiled."""

import math

import numpy as np
from numpy.typing import NDArray

from askalike.native.compiled import Matrix, inlined

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
def activate(values: NDArray[np.float32], activation: int) -> None:
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
    states: Matrix[np.float32], change: Matrix[np.float32], weight: NDArray[np.float32], bias: NDArray[np.float32],
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
    states: Matrix[np.float32], weight: NDArray[np.float32], bias: NDArray[np.float32], epsilon: np.float32,
    out: Matrix[np.float32],
) -> None:  # fmt: skip
    """Write states after layer normalisation; `out` may be the states."""
    size = np.float32(states.shape[1])
    for row in range(len(states)):
        own, normed = states[row], out[row]
        total = ZERO
        for i in range(len(own)):
            total += own[i]
        mean, squares = total / size, ZERO
        for i in range(len(own)):
            squares += (own[i] - mean) * (own[i] - mean)
        factor = ONE / np.sqrt(squares / size + epsilon)
        for i in range(len(own)):
            normed[i] = (own[i] - mean) * factor * weight[i] + bias[i]
