"""What single words add to a text's vector, each computed once: explanations ask for the same words all the time."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_WORDS = 1 << 14
"""So many are remembered: 16 MB of 256 numbers each."""
WordKey = tuple[str, str]
"""A word, after the word before it: "" where that does not matter."""
ComputeVectors = Callable[[Sequence[WordKey]], NDArray[np.float32]]


class WordTable:
    """The vectors of words, by word. Threads take turns."""

    def __init__(self, dim: int) -> None:
        self._lock = Lock()
        self._rows: dict[WordKey, int] = {}
        self._vectors = np.empty((0, dim), np.float32)

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes get it empty."""
        return type(self), (self._vectors.shape[1],)

    def look_up(self, keys: Sequence[WordKey], compute: ComputeVectors) -> NDArray[np.float32]:
        """Return the vectors of n words: (n, dim). compute: always the same, for those that are not there yet."""
        with self._lock:
            new = [key for key in dict.fromkeys(keys) if key not in self._rows]
            if len(self._rows) + len(new) > MAX_WORDS:
                new, self._rows = list(dict.fromkeys(keys)), {}
            if new:
                self._append(new, compute(new))
            return self._vectors[np.array([self._rows[key] for key in keys], np.int64)]

    def _append(self, keys: Sequence[WordKey], vectors: NDArray[np.float32]) -> None:
        n = len(self._rows)
        if n + len(keys) > len(self._vectors):
            grown = np.empty((2 * (n + len(keys)), vectors.shape[1]), np.float32)
            grown[:n] = self._vectors[:n]
            self._vectors = grown
        self._vectors[n : n + len(keys)] = vectors
        self._rows.update(zip(keys, range(n, n + len(keys)), strict=True))
