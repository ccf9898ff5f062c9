"""Texts as rows of word numbers."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.text.features._features import Text, TextSettings, analyzer_of, plain
from askalike.text.features._ragged import Ragged
from askalike.text.vocabulary import Vocabulary

FILE = "vocabulary.txt"


class WordSettings(TextSettings):
    """Which words are known, and how much of a text is read."""

    min_texts: int = Field(2, ge=1, description="a word that fewer texts hold is unknown")
    vocabulary: int = Field(200_000, ge=1, description="the commonest words are known, at most so many")
    longest: int = Field(300, ge=1, description="a text is read up to this word")


class Words:
    """Words by their numbers in a vocabulary, in the text's order."""

    Settings: ClassVar[type[WordSettings]] = WordSettings

    def __init__(self, settings: WordSettings, vocabulary: Vocabulary) -> None:
        self.settings = settings
        self.vocabulary = vocabulary
        self._analyzer = analyzer_of(settings)

    @classmethod
    def learn(cls, settings: WordSettings, texts: Iterable[Text]) -> Self:
        """Knows the words of these texts."""
        reader = cls(settings, Vocabulary((), (), 0))
        words = (reader.words(text) for text in texts)
        return cls(settings, Vocabulary.of(words, settings.min_texts, settings.vocabulary))

    @classmethod
    def load(cls, settings: WordSettings, directory: Path) -> Self:
        """Knows the words of a model's vocabulary."""
        return cls(settings, Vocabulary.load(directory / FILE))

    def save(self, directory: Path) -> None:
        """Writes `vocabulary.txt`."""
        self.vocabulary.save(directory / FILE)

    @property
    def tokens(self) -> Sequence[str]:
        """The words by number."""
        return self.vocabulary.tokens

    @property
    def idf(self) -> NDArray[np.float32]:
        """log(texts / texts with the word) of each number."""
        return self.vocabulary.idf

    def words(self, text: Text) -> list[str]:
        """The words of one text, unknown ones too, up to the longest that is read."""
        language = getattr(text, "language", None)
        return self._analyzer.tokens(plain(text, self.settings, self._analyzer), language)[: self.settings.longest]

    def spans(self, text: Text) -> tuple[str, list[tuple[int, int]]]:
        """The plain text that is read, and where each of the words of `words` stands in it."""
        language, read = getattr(text, "language", None), plain(text, self.settings, self._analyzer)
        return read, [(start, end) for _, start, end in self._analyzer.spans(read, language)][: self.settings.longest]

    def rows(self, texts: Iterable[Text]) -> Ragged:
        """The texts as numbers, in their order."""
        return Ragged.of(self.vocabulary.numbers(self.words(text)) for text in texts)
