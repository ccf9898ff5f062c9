"""Texts as rows of word ids."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field

from askalike.plugin.features import Floats32, RaggedArray, Text, plain_fields
from askalike_learning.features._vocabulary import TextSettings, Vocabulary, make_analyzer

VOCABULARY_FILE = "vocabulary.txt"


class WordSettings(TextSettings):
    """The known words, and the limit of a text."""

    min_texts: int = Field(2, ge=1, description="minimum number of texts with a word; rarer words are unknown")
    vocabulary: int = Field(200_000, ge=1, description="maximum number of known words; the most frequent are kept")
    longest: int = Field(300, ge=1, description="maximum number of words read from a text")


class WordFeatures:
    """Words by their ids in a vocabulary, in text order."""

    Settings: ClassVar[type[WordSettings]] = WordSettings

    def __init__(self, settings: WordSettings, vocabulary: Vocabulary) -> None:
        self.settings = settings
        self.vocabulary = vocabulary
        self._analyzer = make_analyzer(settings)

    @classmethod
    def from_texts(cls, settings: WordSettings, texts: Iterable[Text]) -> Self:
        """Return features with a vocabulary of these texts."""
        untrained = cls(settings, Vocabulary((), (), 0))
        words = (untrained.vocabulary_tokens(text) for text in texts)
        return cls(settings, Vocabulary.from_texts(words, settings.min_texts, settings.vocabulary))

    @classmethod
    def load(cls, settings: WordSettings, directory: Path) -> Self:
        """Return features with a model's vocabulary."""
        return cls(settings, Vocabulary.load(directory / VOCABULARY_FILE))

    def save(self, directory: Path) -> None:
        """Write `vocabulary.txt`."""
        self.vocabulary.save(directory / VOCABULARY_FILE)

    @property
    def tokens(self) -> Sequence[str]:
        """The words by id."""
        return self.vocabulary.tokens

    @property
    def idf(self) -> Floats32:
        """log(texts / texts with the word) of each id."""
        return self.vocabulary.idf

    def split_words(self, text: Text) -> list[str]:
        """Return the words of one text, including unknown ones, at most `longest`."""
        return self._analyzer.analyze(self.extract_text(text), getattr(text, "language", None))[: self.settings.longest]

    def vocabulary_tokens(self, text: Text) -> list[str]:
        """Return the tokens of one text for the vocabulary's counts."""
        return self.split_words(text)

    def extract_text(self, text: Text) -> str:
        """Return the plain text of a question's chosen fields, one per line, or of an answer."""
        return "\n".join(plain_fields(text, self.settings.fields, self._analyzer.plain_text))

    def encode(self, texts: Iterable[Text]) -> RaggedArray:
        """Return the texts as word ids, in their order."""
        return RaggedArray.from_rows(self.vocabulary.encode(self.split_words(text)) for text in texts)
