"""Linear maps with 8-bit weights and inputs, compiled; for the quantisation see `blocks`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askalike.encoders.onnx.architectures import Affine
from askalike.encoders.onnx.blocks import BLOCK_SIZE, quantise
from askalike.encoders.onnx.byte_tiles import COLUMNS, multiply_tile, round_block
from askalike.native.compiled import Matrix, inner
from askalike.native.simd import MAX_ROWS


class ByteWeights(NamedTuple):
    """The weights of the same linear map in every layer, one row per layer and group of COLUMNS outputs."""

    steps: Matrix[np.uint8]
    scales: Matrix[np.float32]
    biases: Matrix[np.float32]


class ByteRows(NamedTuple):
    """Rows as bytes, with the scale of each block and its offset: the part of a sum due to the weights' zero point."""

    steps: Matrix[np.int8]
    scales: Matrix[np.float32]
    offsets: Matrix[np.int32]


def pack_weights(layers: Sequence[Affine]) -> ByteWeights:
    """Return the weights of a map in all layers. Inputs and outputs are whole blocks."""
    packed = [_pack(layer) for layer in layers]
    return ByteWeights(*(np.concatenate(parts) for parts in zip(*packed, strict=True)))


def _pack(linear: Affine) -> ByteWeights:
    numbers, scales = quantise(linear.weight)
    groups, blocks = len(numbers) // COLUMNS, numbers.shape[1]
    fours = numbers.reshape(groups, COLUMNS, blocks, BLOCK_SIZE // 4, 4).transpose(0, 2, 3, 1, 4)
    units = scales.reshape(groups, COLUMNS, blocks).transpose(0, 2, 1)
    return ByteWeights(fours.reshape(groups, -1), units.reshape(groups, -1), linear.bias.reshape(groups, COLUMNS))


def make_rows(count: int, columns: int) -> ByteRows:
    """Return a buffer for rows of at most this number of columns."""
    blocks = count, columns // BLOCK_SIZE
    return ByteRows(np.empty((count, columns), np.int8), np.empty(blocks, np.float32), np.empty(blocks, np.int32))


@inner()
def round_rows(values: Matrix[np.float32], rounded: ByteRows) -> None:
    """Quantise rows of whole blocks."""
    for row in range(len(values)):
        for block in range(values.shape[1] // BLOCK_SIZE):
            begin = block * BLOCK_SIZE
            own, steps = values[row, begin:], rounded.steps[row, begin:]
            round_block(own, steps, rounded.scales[row, block:], rounded.offsets[row, block:])


@inner()
def multiply(rows: ByteRows, inputs: int, weights: ByteWeights, layer: int, out: Matrix[np.float32]) -> None:
    """Write the map's results for rows. inputs: columns of the rows."""
    count, groups = len(out), out.shape[1] // COLUMNS
    tiles = (count + MAX_ROWS - 1) // MAX_ROWS
    for group in range(groups):
        own, column = layer * groups + group, group * COLUMNS
        for tile in range(tiles):
            begin, end = count * tile // tiles, count * (tile + 1) // tiles
            multiply_tile(
                end - begin, inputs // BLOCK_SIZE, weights.steps[own], weights.scales[own], weights.biases[own],
                rows.steps[begin:], rows.scales[begin:], rows.offsets[begin:], out[begin:, column:],
            )  # fmt: skip
