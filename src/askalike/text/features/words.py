"""Texts as rows of word numbers."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.text.features._features import Text, TextSettings, extract_text, make_analyzer
from askalike.text.features._ragged import RaggedArray
from askalike.text.vocabulary import Vocabulary

VOCABULARY_FILE = "vocabulary.txt"


class WordSettings(TextSettings):
    """Which words are known, and how much of a text is read."""

    min_texts: int = Field(2, ge=1, description="a word that fewer texts hold is unknown")
    vocabulary: int = Field(200_000, ge=1, description="the commonest words are known, at most so many")
    longest: int = Field(300, ge=1, description="a text is read up to this word")


class WordFeatures:
    """Words by their numbers in a vocabulary, in the text's order."""

    Settings: ClassVar[type[WordSettings]] = WordSettings

    def __init__(self, settings: WordSettings, vocabulary: Vocabulary) -> None:
        self.settings = settings
        self.vocabulary = vocabulary
        self._analyzer = make_analyzer(settings)

    @classmethod
    def from_texts(cls, settings: WordSettings, texts: Iterable[Text]) -> Self:
        """Knows the words of these texts."""
        reader = cls(settings, Vocabulary((), (), 0))
        words = (reader.split_words(text) for text in texts)
        return cls(settings, Vocabulary.from_texts(words, settings.min_texts, settings.vocabulary))

    @classmethod
    def load(cls, settings: WordSettings, directory: Path) -> Self:
        """Knows the words of a model's vocabulary."""
        return cls(settings, Vocabulary.load(directory / VOCABULARY_FILE))

    def save(self, directory: Path) -> None:
        """Writes `vocabulary.txt`."""
        self.vocabulary.save(directory / VOCABULARY_FILE)

    @property
    def tokens(self) -> Sequence[str]:
        """The words by number."""
        return self.vocabulary.tokens

    @property
    def idf(self) -> NDArray[np.float32]:
        """log(texts / texts with the word) of each number."""
        return self.vocabulary.idf

    def split_words(self, text: Text) -> list[str]:
        """The words of one text, unknown ones too, up to the longest that is read."""
        language = getattr(text, "language", None)
        return self._analyzer.analyze(extract_text(text, self.settings, self._analyzer), language)[
            : self.settings.longest
        ]

    def spans(self, text: Text) -> tuple[str, list[tuple[int, int]]]:
        """The plain text that is read, and where each of the words of `words` stands in it."""
        language, read = getattr(text, "language", None), extract_text(text, self.settings, self._analyzer)
        return read, [(start, end) for _, start, end in self._analyzer.analyze_with_spans(read, language)][
            : self.settings.longest
        ]

    def encode(self, texts: Iterable[Text]) -> RaggedArray:
        """The texts as numbers, in their order."""
        return RaggedArray.from_rows(self.vocabulary.encode(self.split_words(text)) for text in texts)
