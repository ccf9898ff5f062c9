"""Writes an answer to a question with a trained model. Imports torch."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from pydantic import Field

from askalike import Answer, Question, Settings
from askalike_learning.features import UNKNOWN
from askalike_learning.features.words import WordFeatures
from askalike_learning.networks import BeamSearchOptions, Network

CHUNK = 64
COPY_OPEN, COPY_CLOSE = "⟨", "⟩"
"""Marks around a word copied from the question; empty marks if there was no word to copy."""
_SPACE_BEFORE = re.compile(r"\s+([.,;:!?%)\]}’”]|n['’]t\b|['’](?:s|m|d|re|ve|ll)\b)")
_SPACE_AFTER = re.compile(r"([(\[{“])\s+")


class WritingSettings(Settings):
    """Settings of the beam search for an answer."""

    beam: int = Field(4, ge=1, description="beam size; 1 is greedy search")
    longest: int = Field(60, ge=1, description="maximum number of words of an answer")
    penalty: float = Field(0.6, ge=0, description="length penalty: higher values favour longer answers")
    repeat: int = Field(3, ge=0, description="length of a word sequence that may not be repeated; 0: all may")


class Generator(NamedTuple):
    """A network that writes answers; it is in evaluation mode."""

    features: WordFeatures
    network: Network

    def write(self, question: Question, settings: WritingSettings | None = None) -> str:
        """Return an answer, with unknown words between ⟨ and ⟩; empty if the model knows no word of the question."""
        asked = [word for word in dict.fromkeys(self.features.split_words(question)) if any(c.isalnum() for c in word)]
        unknown = [word for word in asked if word not in self.features.vocabulary.ids]
        if len(unknown) == len(asked):
            return ""
        chosen = settings or WritingSettings()
        search = BeamSearchOptions(chosen.beam, chosen.longest, chosen.penalty, chosen.repeat)
        vector = self._encode([question])[0]
        numbers = self.network.generate(vector, search)
        words = [None if n == UNKNOWN else self.features.tokens[n] for n in numbers]
        return join_words(fill_unknown_words(words, unknown))

    @torch.inference_mode()
    def perplexity(self, pairs: Sequence[tuple[Question, Answer]]) -> float:
        """Return exp of the mean negative log-likelihood per word of these answers, with ends and unknown words."""
        total, length = 0.0, 0
        for start in range(0, len(pairs), CHUNK):
            questions, answers = zip(*pairs[start : start + CHUNK], strict=True)
            batch = self.features.encode(answers).batch(np.arange(len(answers)))
            tensors = {name: torch.from_numpy(np.asarray(batch[name])) for name in ("ids", "mask")}
            found, lengths = self.network.answer_log_likelihood(self._encode(questions), tensors)
            total, length = total + float(found.sum()), length + int(lengths.sum())
        return math.exp(-total / length)

    @torch.inference_mode()
    def _encode(self, questions: Sequence[Question]) -> torch.Tensor:
        batch = self.features.encode(questions).batch(np.arange(len(questions)))
        tensors = {name: torch.from_numpy(np.asarray(array)) for name, array in batch.items()}
        return self.network({**tensors, "document": torch.zeros(len(questions), dtype=torch.bool)})[0]  # type: ignore[no-any-return]


def fill_unknown_words(words: Sequence[str | None], unknown: Sequence[str]) -> list[str]:
    """Return the words with each None replaced by the question's next unknown word, marked; ⟨…⟩ if none is left."""
    rest = iter(unknown)
    return [word if word is not None else f"{COPY_OPEN}{next(rest, '…')}{COPY_CLOSE}" for word in words]


def join_words(words: Sequence[str]) -> str:
    """Return the words as one text."""
    return _SPACE_AFTER.sub(r"\1", _SPACE_BEFORE.sub(r"\1", " ".join(words)))
