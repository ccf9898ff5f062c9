"""Texts as sets of their words' letter trigrams, for SCQA."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from pydantic import Field

from askalike.plugin.features import RESERVED, Floats32, RaggedArray, Text, Tokenizer, hash_word, plain_fields
from askalike_learning.features._vocabulary import TextSettings, Vocabulary, make_analyzer

VOCABULARY_FILE = "vocabulary.txt"
MAX_TRIGRAMS = 200_000
"""Maximum number of trigrams with a row each; the most frequent are kept."""


class TrigramSettings(TextSettings):
    """Stemmed words without function words, as in Das et al. (2016)."""

    tokenizer: Tokenizer = "standard"
    stem: bool = True
    stop_words: bool = True
    trigrams: int = Field(
        8_192,
        ge=0,
        description="number of rows that trigrams are hashed to; 0: each trigram of the archive's texts has its own",
    )


class TrigramFeatures:
    """Letter trigrams of each word with a # before and after it: hashed, or by their ids in a vocabulary."""

    Settings: ClassVar[type[TrigramSettings]] = TrigramSettings

    def __init__(self, settings: TrigramSettings, vocabulary: Vocabulary | None = None) -> None:
        self.settings = settings
        self.vocabulary = vocabulary
        self._analyzer = make_analyzer(settings)
        self._number_word_cached = lru_cache(100_000)(self._number_word)

    @classmethod
    def from_texts(cls, settings: TrigramSettings, texts: Iterable[Text]) -> Self:
        """Return features, with a vocabulary of these texts unless trigrams are hashed."""
        features = cls(settings)
        if settings.trigrams:
            return features
        trigrams = ({t for word in features.split_words(text) for t in _cut_trigrams(word)} for text in texts)
        return cls(settings, Vocabulary.from_texts(trigrams, 1, MAX_TRIGRAMS))

    @classmethod
    def load(cls, settings: TrigramSettings, directory: Path) -> Self:
        """Return the features that were saved in a directory."""
        return cls(settings, None if settings.trigrams else Vocabulary.load(directory / VOCABULARY_FILE))

    def save(self, directory: Path) -> None:
        """Write `vocabulary.txt`, unless trigrams are hashed."""
        if self.vocabulary:
            self.vocabulary.save(directory / VOCABULARY_FILE)

    @property
    def tokens(self) -> Sequence[str]:
        """The trigram of each id; "" for an id of several trigrams."""
        return self.vocabulary.tokens if self.vocabulary else [""] * (RESERVED + self.settings.trigrams)

    @property
    def idf(self) -> Floats32:
        """1 for each id."""
        return np.ones(len(self.tokens), np.float32)

    def split_words(self, text: Text) -> list[str]:
        """Return the words of one text."""
        plain = "\n".join(plain_fields(text, self.settings.fields, self._analyzer.plain_text))
        return self._analyzer.analyze(plain, getattr(text, "language", None))

    def encode(self, texts: Iterable[Text]) -> RaggedArray:
        """Return the texts as sets of ids, ascending."""
        sets = ({n for word in self.split_words(text) for n in self._number_word_cached(word)} for text in texts)
        return RaggedArray.from_rows(map(sorted, sets))

    def _number_word(self, word: str) -> tuple[int, ...]:
        """Return the ids of a word's trigrams, without those that the vocabulary lacks."""
        if self.vocabulary:
            ids = self.vocabulary.ids
            return tuple(ids[trigram] for trigram in _cut_trigrams(word) if trigram in ids)
        return tuple(hash_word(trigram) % self.settings.trigrams + RESERVED for trigram in _cut_trigrams(word))


def _cut_trigrams(word: str) -> list[str]:
    marked = f"#{word}#"
    return [marked[n : n + 3] for n in range(len(marked) - 2)]
