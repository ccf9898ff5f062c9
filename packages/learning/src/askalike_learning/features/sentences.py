"""Texts as sentences of words, for hierarchical networks."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np
from pydantic import Field

from askalike.plugin.features import FeatureArrays, Ints, RaggedArray, Text, split_sentences
from askalike_learning.features.words import WordFeatures, WordSettings


class SentenceSettings(WordSettings):
    """The known words, and the limits of a text."""

    longest: int = Field(60, ge=1, description="maximum number of words read from a sentence")
    most: int = Field(20, ge=1, description="maximum number of sentences read from a text")


@dataclass(frozen=True, slots=True)
class NestedRaggedArray:
    """Text n has the sentences `starts[n]` up to `starts[n + 1]`."""

    sentences: RaggedArray
    starts: Ints

    @property
    def lengths(self) -> Ints:
        """The number of words of each text."""
        return np.diff(self.sentences.starts[self.starts])

    def batch(self, indices: Ints) -> FeatureArrays:
        """Return ids int64, mask bool (batch, sentences, tokens): 0 and False after a sentence's and a text's end."""
        counts = self.starts[indices + 1] - self.starts[indices]
        present = np.arange(max(int(counts.max(initial=0)), 1)) < counts[:, None]
        rows = [np.arange(self.starts[n], self.starts[n + 1]) for n in indices.tolist()]
        flat = self.sentences.batch(np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int64))
        padded = {}
        for name, array in flat.items():
            padded[name] = np.zeros((*present.shape, array.shape[1]), array.dtype)
            padded[name][present] = array
        return padded


class SentenceFeatures(WordFeatures):
    """Words by their ids in a vocabulary, sentence by sentence."""

    Settings: ClassVar[type[SentenceSettings]] = SentenceSettings
    settings: SentenceSettings

    def split_sentences(self, text: Text) -> list[list[str]]:
        """Return the words of each sentence of one text; no sentence is empty."""
        language = getattr(text, "language", None)
        sentences = split_sentences(self.extract_text(text))
        analyzed = (self._analyzer.analyze(sentence, language)[: self.settings.longest] for sentence in sentences)
        return [words for words in analyzed if words][: self.settings.most]

    def split_words(self, text: Text) -> list[str]:
        """Return the words of one text, including unknown ones."""
        return list(chain.from_iterable(self.split_sentences(text)))

    def encode(self, texts: Iterable[Text]) -> NestedRaggedArray:  # type: ignore[override] # rows all the same
        """Return the texts as word ids, in their order."""
        nested = [[self.vocabulary.encode(words) for words in self.split_sentences(text)] for text in texts]
        starts = np.zeros(len(nested) + 1, np.int64)
        np.cumsum([len(text) for text in nested], out=starts[1:])
        return NestedRaggedArray(RaggedArray.from_rows(chain.from_iterable(nested)), starts)
