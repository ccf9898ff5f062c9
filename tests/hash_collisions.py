"""Tokens with equal hashes: chosen ones for the hash of earlier versions, and keys with which many are equal now."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from askalike.text import tokens

COLLIDING = {
    "bicycle": "\u4e15\u53f2\u53bb\ucb12\u5056\u51a5",
    "stolen": "\u4e04\u4f94\u508a\u9e6b\u50f1\u4eab",
    "egg": "\u4e05\u5044\u4f1f\u3d11\u5095\u5305",
}
"""Words, each with a token whose 64-bit FNV-1a over characters is the same, found by meeting in the middle."""
WEAK_KEYS = ((0, 0), (0, 1), (5, 1 << 40))
"""Keys with which all hashes are equal, those of words with the same letters, or many."""


@contextmanager
def weak_keys(key: tuple[int, int]) -> Iterator[None]:
    """Give the token tables that are made meanwhile this key."""
    with patch.object(tokens, "_random_key", lambda: np.array(key, np.uint64)):
        yield
