"""Features of texts that networks read: words, stems, letter trigrams, sentences, word pieces; one file each."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Final, Literal, Protocol, Self

from pydantic import Field

from askalike.plugin.features import AnalyzerSettings, CodeRule, FeatureArrays, Floats32, Ints, Text, Tokenizer

UNKNOWN: Final = 1
"""The id of every word that is not in the vocabulary."""


class TextSettings(AnalyzerSettings):
    """The words that a network reads. The defaults are those of the papers: PTB tokens, not stemmed, no code."""

    tokenizer: Tokenizer = "ptb"
    stem: bool = False
    code: CodeRule = "drop"
    fields: Literal["title", "body", "text"] = Field("text", description="the fields that are read (text: both)")


class FeatureRows(Protocol):
    """Many texts as token ids."""

    @property
    def lengths(self) -> Ints:
        """The length of each text, (texts,), to form batches of similar lengths."""

    def batch(self, indices: Ints) -> FeatureArrays:
        """Return the texts at these indices, padded to the longest."""


class TextFeatures(Protocol):
    """Encodes texts as token ids. Created by `from_texts` from an archive's texts, by `load` from a model's folder."""

    Settings: ClassVar[type[TextSettings]]

    @classmethod
    def from_texts(cls, settings: TextSettings, texts: Iterable[Text]) -> Self:
        """Return features with a vocabulary of these texts."""

    @classmethod
    def load(cls, settings: TextSettings, directory: Path) -> Self:
        """Return the features that were saved in a directory."""

    def save(self, directory: Path) -> None:
        """Write the vocabulary as text."""

    @property
    def tokens(self) -> Sequence[str]:
        """The token of each id; ids below RESERVED have none."""

    @property
    def idf(self) -> Floats32:
        """The idf of each id, (len(tokens),)."""

    def split_words(self, text: Text) -> list[str]:
        """Return the words of a text, for training skip-gram vectors."""

    def encode(self, texts: Iterable[Text]) -> FeatureRows:
        """Return the texts as token ids, in their order."""
