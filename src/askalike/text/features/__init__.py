"""Features: texts as token ids for networks, one file per kind. A network specifies the kind that it reads."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar, Final, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.core.arrays import Floats32, Ints, Ints32
from askalike.core.errors import InputError
from askalike.core.files import write_atomically
from askalike.core.records import Answer, Question
from askalike.text.analyzer import Analyzer, AnalyzerSettings
from askalike.text.clean import CodeRule
from askalike.text.words import Tokenizer

RESERVED: Final = 2
"""Token ids below this are reserved: 0 for padding, 1 for the unknown word."""
UNKNOWN: Final = 1
"""The id of every word that is not in the vocabulary."""
Text = Question | Answer
FeatureArrays = Mapping[str, NDArray[np.generic]]
"""A network's input arrays for a batch, by name; the first axis of each is the batch."""


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


@dataclass(frozen=True, slots=True)
class RaggedArray:
    """Concatenated rows of token ids of different lengths: row n is `values[starts[n] : starts[n + 1]]`."""

    values: Ints32
    starts: Ints

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[int]]) -> Self:
        """Return lists of ids as rows."""
        lists = list(rows)
        starts = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(row) for row in lists], out=starts[1:])
        return cls(np.fromiter(chain.from_iterable(lists), np.int32, int(starts[-1])), starts)

    @property
    def lengths(self) -> Ints:
        """The length of each row."""
        return np.diff(self.starts)

    def batch(self, indices: Ints) -> FeatureArrays:
        """Return ids int64 (batch, tokens), 0 after a row's end, and mask bool (batch, tokens), True = real token."""
        starts = self.starts[indices]
        lengths = self.starts[indices + 1] - starts
        places = np.arange(max(int(lengths.max(initial=0)), 1))
        mask = places < lengths[:, None]
        ids = np.zeros(mask.shape, np.int64)
        ids[mask] = self.values[(starts[:, None] + places)[mask]]
        return {"ids": ids, "mask": mask}


def make_analyzer(settings: TextSettings) -> Analyzer:
    """Return the analyzer for the settings."""
    return Analyzer(AnalyzerSettings(**{key: getattr(settings, key) for key in AnalyzerSettings.model_fields}))


class Vocabulary:
    """The words that a network knows, and their ids, most frequent first.

    tokens: the word of each id. ids: the id of each word. text_counts: the number of texts that contain each word.
    """

    def __init__(self, tokens: Sequence[str], text_counts: Sequence[int], total_texts: int) -> None:
        self.tokens: Sequence[str] = ("", "", *tokens)
        self.text_counts: Sequence[int] = (0, 0, *text_counts)
        self.total_texts = total_texts
        self.ids = {token: n for n, token in enumerate(self.tokens) if n >= RESERVED}

    @classmethod
    def from_texts(cls, texts: Iterable[Iterable[str]], min_texts: int = 1, size: int | None = None) -> Self:
        """Return the vocabulary of words in at least `min_texts` of these tokenised texts, of at most `size` words."""
        counts: Counter[str] = Counter()
        total = 0
        for tokens in texts:
            counts.update(set(tokens))
            total += 1
        common = sorted((-n, token) for token, n in counts.items() if n >= min_texts)[:size]
        return cls([token for _, token in common], [-n for n, _ in common], total)

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the id of each word, UNKNOWN for a word that is not in the vocabulary."""
        return [self.ids.get(token, UNKNOWN) for token in tokens]

    @property
    def idf(self) -> Floats32:
        """log(texts / texts with the word), float32 (len,); 0 for padding and the unknown word."""
        return np.array([math.log(self.total_texts / n) if n else 0.0 for n in self.text_counts], np.float32)

    def save(self, path: Path) -> None:
        """Write the number of texts, then a line per word: the word, a tab, the number of texts that contain it."""
        rows = zip(self.tokens[RESERVED:], self.text_counts[RESERVED:], strict=True)
        lines = [str(self.total_texts), *(f"{token}\t{n}" for token, n in rows)]
        write_atomically(path, "\n".join(lines) + "\n")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file from `save`. Raises InputError with the first invalid line."""
        try:
            total, *lines = path.read_bytes().decode().removesuffix("\n").split("\n")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}; expected a model's vocabulary") from None
        except UnicodeDecodeError:
            raise InputError(f"{path}: not UTF-8; train the model again") from None
        rows = [line.split("\t") for line in lines]
        for number, row in enumerate(rows, 2):
            if len(row) != 2 or not row[1].isdecimal():
                raise InputError(f"{path}:{number}: expected a word, a tab and a number; train the model again")
        if not total.isdecimal():
            raise InputError(f"{path}:1: expected the number of texts; train the model again")
        return cls([token for token, _ in rows], [int(n) for _, n in rows], int(total))
