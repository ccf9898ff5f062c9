"""Texts as rows of word ids and of the ids of their stems: a sequence of words, and a bag of stems."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field

from askalike.plugin.features import Analyzer, FeatureArrays, Ints, RaggedArray, Text
from askalike_learning.features._vocabulary import Vocabulary, make_analyzer
from askalike_learning.features.words import VOCABULARY_FILE, WordFeatures, WordSettings

STEMS_FILE = "words_and_stems.txt"


class StemmedWordSettings(WordSettings):
    """The known words, and whether a bag counts words or stems."""

    bag: Literal["stems", "words"] = Field(
        "stems", description="whether the bag counts stems, as an index does, or words"
    )


@dataclass(frozen=True, slots=True)
class StemmedRows:
    """Many texts as the ids of their words and of their stems; both rows of a text have the same length."""

    words: RaggedArray
    stems: RaggedArray

    @property
    def lengths(self) -> Ints:
        """The length of each text."""
        return self.words.lengths

    def batch(self, indices: Ints) -> FeatureArrays:
        """Return ids and stems int64 (batch, tokens), 0 after a row's end, and mask bool, True = real token."""
        return {**self.words.batch(indices), "stems": self.stems.batch(indices)["ids"]}


class StemmedWordFeatures(WordFeatures):
    """Words by their ids, each with the id of its stem, from one vocabulary."""

    Settings: ClassVar[type[WordSettings]] = StemmedWordSettings

    def __init__(self, settings: StemmedWordSettings, vocabulary: Vocabulary) -> None:
        super().__init__(settings, vocabulary)
        stems = settings.bag == "stems"
        self._stemmer: Analyzer = make_analyzer(settings.model_copy(update={"stem": True})) if stems else self._analyzer

    @classmethod
    def load(cls, settings: WordSettings, directory: Path) -> Self:
        """Return the features of a model. A model without a file of stems was trained with a bag of words."""
        if (directory / STEMS_FILE).exists():
            return cls(settings, Vocabulary.load(directory / STEMS_FILE))  # type: ignore[arg-type] # its Settings
        words = settings.model_copy(update={"bag": "words"})
        return cls(words, Vocabulary.load(directory / VOCABULARY_FILE))  # type: ignore[arg-type]

    def save(self, directory: Path) -> None:
        """Write `words_and_stems.txt`, or `vocabulary.txt` if the bag is of words."""
        self.vocabulary.save(directory / (VOCABULARY_FILE if self._stemmer is self._analyzer else STEMS_FILE))

    def vocabulary_tokens(self, text: Text) -> list[str]:
        """Return the words of one text and their stems."""
        return self.split_words(text) + self.split_stems(text)

    def split_stems(self, text: Text) -> list[str]:
        """Return the stems of one text, one per word."""
        plain = self.extract_text(text)
        language = getattr(text, "language", None)
        return self._stemmer.analyze(plain, language)[: self.settings.longest]

    def encode(self, texts: Iterable[Text]) -> StemmedRows:  # type: ignore[override] # rows with more in them
        """Return the texts as the ids of their words and stems, in their order."""
        ids = self.vocabulary.encode
        rows = [(ids(self.split_words(text)), ids(self.split_stems(text))) for text in texts]
        return StemmedRows(*(RaggedArray.from_rows(row[n] for row in rows) for n in (0, 1)))
