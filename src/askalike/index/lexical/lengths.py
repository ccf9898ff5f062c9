"""Lucene's length byte (SmallFloat.intToByte4): lengths with four significant bits, exact up to 40."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

EXACT_CODES = 24  # the first codes stand for themselves; the small float begins after them


def decoded_lengths() -> NDArray[np.int64]:
    """Return the 256 lengths that a byte can stand for, ascending."""
    codes = np.arange(256 - EXACT_CODES, dtype=np.int64)
    shift = (codes >> 3) - 1
    mantissa = codes & 7
    floats = np.where(shift < 0, mantissa, (mantissa | 8) << np.maximum(shift, 0))
    return np.concatenate([np.arange(EXACT_CODES), EXACT_CODES + floats])


def round_lengths(lengths: ArrayLike) -> NDArray[np.int64]:
    """Return the lengths as they are after encoding: each becomes the largest decodable length not above it."""
    table = decoded_lengths()
    return table[np.searchsorted(table, lengths, side="right") - 1]
