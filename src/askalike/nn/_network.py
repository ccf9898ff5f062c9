"""What every network is."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple

import torch
from torch import Tensor, nn

from askalike.config import Settings
from askalike.nn._metrics import score_matrix, score_pairs
from askalike.types import Metric

RESERVED: Final = 2
"""Numbers below this are no words: 0 is padding, 1 the unknown word."""

Batch = Mapping[str, Tensor]
"""Texts as its features made them, by name, the batch first; and `document` (batch,), True for an answer."""

PartVectors = tuple[Tensor, ...]
"""One tensor (batch, dim) for each part."""


class TokenTrace(NamedTuple):
    """Of one part of a batch's vectors: columns, what is added to them, and the token that adds it; each (batch, n).

    `side`: so many tokens on either side of it have a part in that.
    """

    columns: Tensor
    values: Tensor
    tokens: Tensor
    context_size: int = 0


class Network(nn.Module):
    """Turns texts into vectors of one or more parts; two texts' score is the weighted sum of their parts' scores.

    A network is one file in this folder. It takes its settings and the number of its features' tokens, draws its
    parameters from torch's generator, and writes `forward`; the rest has defaults.
    """

    Settings: ClassVar[type[Settings]] = Settings
    features: ClassVar[str] = "words"
    """The kind of features that it reads."""
    metrics: tuple[Metric, ...] = ("cosine",)
    """How the vectors of each part are compared."""
    encoder_name: ClassVar[str] = "neural"
    """The encoder that opens it once it is trained."""

    def __init__(self, settings: Any, vocabulary_size: int) -> None:
        super().__init__()
        self.settings = settings
        self.vocabulary_size = vocabulary_size

    @staticmethod
    def feature_settings(settings: Any) -> Mapping[str, Any]:
        """What its features must know of its settings, as settings of theirs."""
        return {}

    @property
    def vector_dim(self) -> int:
        """Numbers in a text's vector, where it has one part; 0 where there are several."""
        return 0

    @property
    def indexable(self) -> bool:
        """Whether vectors alone give the score; else a pair must be seen together, and only candidates are ranked."""
        return True

    @property
    def generates_answers(self) -> bool:
        """Whether it learns to write answers, too."""
        return False

    def set_word_counts(self, counts: Tensor) -> None:
        """Takes how often each number is in the answers to be written, (size,), before training; only if it writes."""

    def auxiliary_loss(
        self, batch: Batch, vectors: PartVectors, query_rows: Tensor, positive_rows: Tensor
    ) -> Tensor | None:
        """What it learns beside the scores: a loss of each pair (n,), added to that of the scores; None for nothing.

        query, positive: (n,), the pairs' rows among the texts of the batch and their vectors.
        """
        return None

    def initialise(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Takes over what is known before training: pre-trained vectors (size, dim), and words' rarity (size,)."""

    def forward(self, batch: Batch) -> PartVectors:
        """The vectors of a batch of texts. Only those of one call are comparable: columns may be the batch's own."""
        raise NotImplementedError

    def encode(self, batch: Batch) -> PartVectors:
        """The vectors of a batch as they are kept, comparable with those of any other call.

        A part may be a sparse tensor (coalesced).
        """
        return self(batch)  # type: ignore[no-any-return]

    def trace(self, batch: Batch) -> tuple[TokenTrace, ...] | None:
        """Which token makes each number of the vectors, part by part; None where no number is any one token's."""
        return None

    def part_weights(self) -> Tensor:
        """The weight of each part, (parts,)."""
        return torch.ones(len(self.metrics), device=next(self.parameters()).device)

    def score_pairs(self, left: PartVectors, right: PartVectors) -> Tensor:
        """Scores of texts side by side: parts (…, dim), which may broadcast, to (…)."""
        scores = [score_pairs(m, x, y) for m, x, y in zip(self.metrics, left, right, strict=True)]
        return torch.stack(scores, -1) @ self.part_weights().to(scores[0])

    def score_matrix(self, left: PartVectors, right: PartVectors) -> Tensor:
        """Scores of each with each: parts (n, dim) and (m, dim) to (n, m)."""
        scores = [score_matrix(m, x, y) for m, x, y in zip(self.metrics, left, right, strict=True)]
        return torch.stack(scores, -1) @ self.part_weights().to(scores[0])
