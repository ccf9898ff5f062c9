"""Texts as the set of their words' letter trigrams, hashed: what SCQA reads."""

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.text.features._features import Text, TextSettings, extract_text, make_analyzer
from askalike.text.features._ragged import RaggedArray
from askalike.text.words import Tokenizer
from askalike.types import RESERVED


class TrigramSettings(TextSettings):
    """Words stemmed and without function words, as Das et al. (2016) have them."""

    tokenizer: Tokenizer = "standard"
    stem: bool = True
    stop_words: bool = True
    trigrams: int = Field(8_192, ge=1, description="trigrams are hashed to so many: a dense layer is as wide as these")


class TrigramFeatures:
    """Letter trigrams of each word with a # before and behind it."""

    Settings: ClassVar[type[TrigramSettings]] = TrigramSettings

    def __init__(self, settings: TrigramSettings) -> None:
        self.settings = settings
        self._analyzer = make_analyzer(settings)
        self._hash_word_cached = lru_cache(100_000)(self._hash_word)

    @classmethod
    def from_texts(cls, settings: TrigramSettings, texts: Iterable[Text]) -> Self:
        """Nothing is learned: trigrams are hashed."""
        return cls(settings)

    @classmethod
    def load(cls, settings: TrigramSettings, directory: Path) -> Self:
        """Nothing is kept but the settings."""
        return cls(settings)

    def save(self, directory: Path) -> None:
        """Nothing to keep."""

    @property
    def tokens(self) -> Sequence[str]:
        """No number stands for one trigram alone: all are ""."""
        return [""] * (RESERVED + self.settings.trigrams)

    @property
    def idf(self) -> NDArray[np.float32]:
        """1 for each: they are not counted."""
        return np.ones(len(self.tokens), np.float32)

    def split_words(self, text: Text) -> list[str]:
        """The words of one text."""
        return self._analyzer.analyze(
            extract_text(text, self.settings, self._analyzer), getattr(text, "language", None)
        )

    def encode(self, texts: Iterable[Text]) -> RaggedArray:
        """The texts as sets of numbers, rising."""
        return RaggedArray.from_rows(
            sorted({n for word in self.split_words(text) for n in self._hash_word_cached(word)}) for text in texts
        )

    def _hash_word(self, word: str) -> tuple[int, ...]:
        marked = f"#{word}#"
        return tuple(
            _hash_trigram(marked[n : n + 3]) % self.settings.trigrams + RESERVED for n in range(len(marked) - 2)
        )


def _hash_trigram(trigram: str) -> int:
    digest = hashlib.blake2b(trigram.encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
