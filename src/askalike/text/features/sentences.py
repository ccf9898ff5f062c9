"""Texts as sentences of words: what hierarchical networks read."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.text.features._features import FeatureArrays, Text, extract_text
from askalike.text.features._ragged import RaggedArray
from askalike.text.features.words import WordFeatures, WordSettings
from askalike.text.sentences import split_sentences


class SentenceSettings(WordSettings):
    """Which words are known, and how much of a text is read."""

    longest: int = Field(60, ge=1, description="a sentence is read up to this word")
    most: int = Field(20, ge=1, description="a text is read up to this sentence")


@dataclass(frozen=True, slots=True)
class NestedRaggedArray:
    """Text n has the sentences `starts[n]` up to `starts[n + 1]`."""

    sentences: RaggedArray
    starts: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many words each text has."""
        return np.diff(self.sentences.starts[self.starts])

    def batch(self, indices: NDArray[np.int64]) -> FeatureArrays:
        """ids int64, mask bool (batch, sentences, tokens): 0 and False after a sentence's and after a text's end."""
        counts = self.starts[indices + 1] - self.starts[indices]
        there = np.arange(max(int(counts.max(initial=0)), 1)) < counts[:, None]
        rows = [np.arange(self.starts[n], self.starts[n + 1]) for n in indices.tolist()]
        flat = self.sentences.batch(np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int64))
        found = {}
        for name, array in flat.items():
            found[name] = np.zeros((*there.shape, array.shape[1]), array.dtype)
            found[name][there] = array
        return found


class SentenceFeatures(WordFeatures):
    """Words by their numbers in a vocabulary, sentence by sentence."""

    Settings: ClassVar[type[SentenceSettings]] = SentenceSettings
    settings: SentenceSettings

    def split_sentences(self, text: Text) -> list[list[str]]:
        """The words of each sentence of one text; none is empty."""
        language = getattr(text, "language", None)
        split = split_sentences(extract_text(text, self.settings, self._analyzer))
        found = (self._analyzer.analyze(sentence, language)[: self.settings.longest] for sentence in split)
        return [words for words in found if words][: self.settings.most]

    def split_words(self, text: Text) -> list[str]:
        """The words of one text, unknown ones too."""
        return list(chain.from_iterable(self.split_sentences(text)))

    def encode(self, texts: Iterable[Text]) -> NestedRaggedArray:  # type: ignore[override] # rows all the same
        """The texts as numbers, in their order."""
        nested = [[self.vocabulary.encode(words) for words in self.split_sentences(text)] for text in texts]
        starts = np.zeros(len(nested) + 1, np.int64)
        np.cumsum([len(text) for text in nested], out=starts[1:])
        return NestedRaggedArray(RaggedArray.from_rows(chain.from_iterable(nested)), starts)
