"""A model's weights: memory-mapped tensors of safetensors files, and their quantisation to 8 bits.

Numbers are quantised in blocks that share a scale, for ONNX Runtime's MatMulNBits and `layer_steps`. Both also
quantise their input to 8 bits, block by block in each row. So a text's vector depends on that text alone, unlike with
one range for a whole batch.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from askalike.core.arrays import Array, Bytes, Floats32
from askalike.core.errors import InputError

WEIGHT_FILES = "model*.safetensors"
TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I64": np.int64, "I8": np.int8}
MAX_HEADER_BYTES = 100_000_000
BLOCK_SIZE = 64
ZERO_BYTE = 128
"""The unsigned byte that represents 0."""

Bits = Literal[8, 32]
"""The precision of linear maps."""


def map_tensors(folder: Path) -> dict[str, Array]:
    """Return the tensors of a folder's weight files by name, as they are stored.

    Raises InputError if there is no such file, or one is damaged.
    """
    files = sorted(folder.glob(WEIGHT_FILES))
    if not files:
        expected = f"expected {WEIGHT_FILES}, or onnx/model.onnx"
        raise InputError(f"{folder}: found no weights that are readable without torch; {expected}")
    tensors: dict[str, Array] = {}
    for path in files:
        try:
            tensors |= _map_file(path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: the weights cannot be read ({error}); copy the file again") from None
    return tensors


def to_float32(tensor: Array) -> Floats32:
    """Return a tensor, or some of its rows, as 32-bit numbers."""
    if tensor.dtype == np.uint16:  # bfloat16 is the upper half of a float32
        return (tensor.astype(np.uint32) << 16).view(np.float32)
    return np.asarray(tensor, np.float32)


def _map_file(path: Path) -> Mapping[str, Array]:
    """Map one file: eight bytes with the header's length, the header as JSON, the tensors' bytes."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > MAX_HEADER_BYTES:
            raise ValueError("its header is too long")
        header = json.loads(file.read(length))
    content = np.memmap(path, np.uint8, "r")[8 + length :]
    described = {name: of for name, of in header.items() if of.get("dtype") in TYPES}
    return {name: _view(content, of["dtype"], of["shape"], *of["data_offsets"]) for name, of in described.items()}


def _view(content: Array, kind: str, shape: list[int], begin: int, end: int) -> Array:
    return content[begin:end].view(TYPES[kind]).reshape(shape)


class CompressedRows(ABC):
    """A stored matrix whose rows are read as 32-bit numbers. shape: (rows, columns)."""

    dtype = np.dtype(np.float32)
    shape: tuple[int, ...]

    @abstractmethod
    def __getitem__(self, rows: Any) -> Floats32:
        """Return some rows, (…, columns)."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats32:
        """Return all rows."""
        return self[:]


class BlockWeights(NamedTuple):
    """Weights (rows, blocks, BLOCK_SIZE) as bytes, and the scale of each block, (rows, blocks)."""

    numbers: Bytes
    scales: Floats32


def quantise(weights: Floats32) -> BlockWeights:
    """Round weights (rows, columns) to 255 steps between a block's largest number and its negative."""
    rows, columns = weights.shape
    if padding := -columns % BLOCK_SIZE:
        weights = np.pad(weights, ((0, 0), (0, padding)))
    blocks = weights.reshape(rows, -1, BLOCK_SIZE)
    scales = np.abs(blocks).max(-1) / 127
    steps = blocks * (1 / np.where(scales, scales, 1))[..., None]
    steps += ZERO_BYTE + 0.5  # astype truncates
    return BlockWeights(steps.astype(np.uint8), scales.astype(np.float32))
