"""What every kind of features does, and the text that all of them begin with."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.text.analyzer import Analyzer, AnalyzerSettings
from askalike.text.words import Tokenizer
from askalike.types import Answer, Question

Text = Question | Answer
FeatureArrays = Mapping[str, NDArray[np.generic]]
"""What a network reads of a batch, by name; every array's first axis is the batch."""


class TextSettings(AnalyzerSettings):
    """Which words a network reads. The papers' words: PTB tokens, not stemmed."""

    tokenizer: Tokenizer = "ptb"
    stem: bool = False
    fields: Literal["title", "body", "title,body"] = Field("title,body", description="what of a question is read")


class FeatureRows(Protocol):
    """Many texts as numbers."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How long each text is, (texts,): what batches of like lengths are made by."""

    def batch(self, indices: NDArray[np.int64]) -> FeatureArrays:
        """The texts of these numbers, padded to the longest of them."""


class TextFeatures(Protocol):
    """Turns texts into rows of numbers; `learn` makes one from an archive's texts, `load` from a model's directory."""

    Settings: ClassVar[type[TextSettings]]

    @classmethod
    def from_texts(cls, settings: TextSettings, texts: Iterable[Text]) -> Self:
        """Features that know the words of these texts."""

    @classmethod
    def load(cls, settings: TextSettings, directory: Path) -> Self:
        """What `save` left in a directory."""

    def save(self, directory: Path) -> None:
        """Keeps what was learned, as text."""

    @property
    def tokens(self) -> Sequence[str]:
        """What each number stands for; numbers below RESERVED stand for none."""

    @property
    def idf(self) -> NDArray[np.float32]:
        """How rare each number is, (len(tokens),)."""

    def split_words(self, text: Text) -> list[str]:
        """The words of one text, as skip-gram learns from them."""

    def encode(self, texts: Iterable[Text]) -> FeatureRows:
        """The texts as numbers, in their order."""


def extract_text(text: Text, settings: TextSettings, analyzer: Analyzer) -> str:
    """The plain text of a question's chosen fields (a line each), or of an answer."""
    if isinstance(text, Answer):
        return analyzer.plain_text(text.body, text.markup)
    parts = []
    if "title" in settings.fields:
        parts.append(analyzer.plain_text(text.title, "text"))
    if "body" in settings.fields and text.body:
        parts.append(analyzer.plain_text(text.body, text.markup))
    return "\n".join(parts)


def make_analyzer(settings: TextSettings) -> Analyzer:
    """The analyzer that the settings describe."""
    return Analyzer(AnalyzerSettings(**{key: getattr(settings, key) for key in AnalyzerSettings.model_fields}))
