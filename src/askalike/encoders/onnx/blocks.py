"""Weights in 8 bits: blocks of numbers that share a scale, as ONNX Runtime's MatMulNBits and `byte_products` read them.

Both round their input to 8 bits as well, block by block of each row. So a text's vector depends on that text
alone, which it would not under one range for a whole batch.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK_SIZE = 64
ZERO = 128
"""The unsigned byte that represents 0."""


class BlockWeights(NamedTuple):
    """Weights (rows, blocks, BLOCK_SIZE) as bytes, and the scale of each block, (rows, blocks)."""

    numbers: NDArray[np.uint8]
    scales: NDArray[np.float32]


def quantise(weights: NDArray[np.float32]) -> BlockWeights:
    """Round weights (rows, columns) to 255 steps between a block's largest number and its negative."""
    rows, columns = weights.shape
    if padding := -columns % BLOCK_SIZE:
        weights = np.pad(weights, ((0, 0), (0, padding)))
    blocks = weights.reshape(rows, -1, BLOCK_SIZE)
    scales = np.abs(blocks).max(-1) / 127
    steps = blocks * (1 / np.where(scales, scales, 1))[..., None]
    steps += ZERO + 0.5  # what follows cuts off
    return BlockWeights(steps.astype(np.uint8), scales.astype(np.float32))
