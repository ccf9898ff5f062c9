"""8-bit weights: blocks of numbers that share a scale, for ONNX Runtime's MatMulNBits and `byte_products`.

Both also quantise their input to 8 bits, block by block in each row. So a text's vector depends on that text alone,
unlike with one range for a whole batch.
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
    steps += ZERO + 0.5  # astype truncates
    return BlockWeights(steps.astype(np.uint8), scales.astype(np.float32))
