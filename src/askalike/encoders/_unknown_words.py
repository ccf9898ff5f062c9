"""Words that occurred in no question when a lookup was trained: the teacher encodes each of them once, on its own.

The lookup of such a word consists of its subwords as used in other words, and of random rows due to hash collisions.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.files import folder_errors
from askalike.text.words import WORD

WORDS_FILE = "words.txt"
MAX_REMEMBERED = 1 << 16

Array = NDArray[np.float32]


class UnknownWords:
    """Adds the vectors of words that are not among the known ones, which are in lower case, and caches them.

    read: returns the vectors of words, each encoded as a text; None if there is no encoder for them.
    """

    def __init__(self, known: Collection[str], read: Callable[[Sequence[str]], Array | None]) -> None:
        self._known, self._read = known, read
        self._vectors: dict[str, Array] = {}

    @classmethod
    def open(cls, folder: Path, read: Callable[[Sequence[str]], Array | None]) -> Self:
        """Read the known words from a model's folder. Raises ArchiveError."""
        path = folder / WORDS_FILE
        with folder_errors(path, "distil the model again"):
            return cls(frozenset(path.read_text(encoding="utf-8").splitlines()), read)

    @staticmethod
    def save(folder: Path, known: Collection[str]) -> None:
        """Write the known words, one per line."""
        (folder / WORDS_FILE).write_text("\n".join(sorted(known)), encoding="utf-8")

    def add_to(self, vectors: Array, texts: Sequence[str]) -> None:
        """Add to each text's vector, (texts, dim), those of its unknown words, except an unfinished word at its end."""
        found = [[word for word in _finished_words(text) if word not in self._known] for text in texts]
        by_word = self._look_up({word: None for words in found for word in words})
        for vector, words in zip(vectors, found, strict=True):
            for word in words:
                vector += by_word.get(word, np.float32(0))

    def _look_up(self, words: Collection[str]) -> dict[str, Array]:
        vectors = {word: vector for word in words if (vector := self._vectors.get(word)) is not None}
        new = [word for word in words if word not in vectors]
        if new and (read := self._read(new)) is not None:
            if len(self._vectors) + len(new) > MAX_REMEMBERED:
                self._vectors.clear()
            self._vectors |= zip(new, read, strict=True)
            vectors |= zip(new, read, strict=True)
        return vectors


def _finished_words(text: str) -> list[str]:
    words = WORD.findall(text.lower())
    return words[:-1] if words and text.lower().endswith(words[-1]) else words
