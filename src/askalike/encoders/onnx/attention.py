"""Attention of a transformer's layer, compiled."""

import numpy as np
from numpy.typing import NDArray

from askalike.encoders.onnx.float_tiles import multiply_tile
from askalike.encoders.onnx.layer_steps import ONE, ZERO, exponential
from askalike.native.compiled import Matrix, inner
from askalike.native.simd import LANES, MAX_ROWS


@inner(fastmath=True)
def attend(
    joined: Matrix[np.float32], heads: int, bias: Matrix[np.float32], keys: Matrix[np.float32],
    scores: Matrix[np.float32], out: Matrix[np.float32],
) -> None:  # fmt: skip
    """Write the output of attention between the tokens of one text.

    joined: queries, keys and values, (tokens, 3 x hidden). bias: for each head and token, added to the scores of all
    tokens, or empty. keys: buffer for a head's keys, (hidden / heads, tokens), initially zeros. scores: buffer for the
    scores of some tokens, (MAX_ROWS, tokens). Both are padded to whole vectors of tokens.
    """
    tokens, hidden = out.shape
    lanes, size = keys.shape[1], hidden // heads
    scale = ONE / np.sqrt(np.float32(size))
    tiles = (tokens + MAX_ROWS - 1) // MAX_ROWS
    for head in range(heads):
        column = head * size
        for token in range(tokens):
            own = joined[token, hidden + column : hidden + column + size]
            for i in range(size):
                keys[i, token] = own[i] * scale
        for tile in range(tiles):
            begin, end = tokens * tile // tiles, tokens * (tile + 1) // tiles
            multiply_tile(end - begin, size, lanes // LANES, joined[begin:, column:], keys, scores)
            for token in range(begin, end):
                own = scores[token - begin]
                for other in range(len(bias) and tokens):
                    own[other] += bias[head * tokens + token, other]
                soften(own, tokens)
            values = joined[:, 2 * hidden + column :]
            multiply_tile(end - begin, tokens, size // LANES, scores, values, out[begin:, column:])


@inner(fastmath=True)
def soften(scores: NDArray[np.float32], count: int) -> None:
    """Replace the first `count` scores by their softmax.

    For speed, scores up to the end of the last vector are computed as well; they are meaningless.
    """
    largest, total = scores[0], ZERO
    for i in range(1, count):
        largest = max(largest, scores[i])
    for i in range(len(scores)):
        scores[i] = exponential(min(scores[i] - largest, ZERO))
    for i in range(count):
        total += scores[i]
    share = ONE / total
    for i in range(len(scores)):
        scores[i] *= share
