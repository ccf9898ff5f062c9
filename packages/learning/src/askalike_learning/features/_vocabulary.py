"""The words that a network knows, with their ids, and how a text is divided into words."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import numpy as np

from askalike import InputError
from askalike.plugin.features import (
    RESERVED,
    Analyzer,
    AnalyzerSettings,
    Floats32,
    write_atomically,
)
from askalike_learning.features import UNKNOWN, TextSettings


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
