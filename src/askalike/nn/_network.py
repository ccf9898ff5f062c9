"""What every network is."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple

import torch
from torch import Tensor, nn

from askalike.config import Settings
from askalike.nn._metrics import matrix, pairwise
from askalike.types import Metric

RESERVED: Final = 2
"""Numbers below this are no words: 0 is padding, 1 the unknown word."""

Batch = Mapping[str, Tensor]
"""Texts as its features made them, by name, the batch first; and `document` (batch,), True for an answer."""

Vectors = tuple[Tensor, ...]
"""One tensor (batch, dim) for each part."""


class Trace(NamedTuple):
    """Of one part of a batch's vectors: columns, what is added to them, and the token that adds it; each (batch, n).

    `side`: so many tokens on either side of it have a part in that.
    """

    columns: Tensor
    values: Tensor
    tokens: Tensor
    side: int = 0


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
    served_by: ClassVar[str] = "neural"
    """The encoder that opens it once it is trained."""

    def __init__(self, settings: Any, size: int) -> None:
        super().__init__()
        self.settings = settings
        self.size = size

    @staticmethod
    def told(settings: Any) -> Mapping[str, Any]:
        """What its features must know of its settings, as settings of theirs."""
        return {}

    @property
    def width(self) -> int:
        """Numbers in a text's vector, where it has one part; 0 where there are several."""
        return 0

    @property
    def indexable(self) -> bool:
        """Whether vectors alone give the score; else a pair must be seen together, and only candidates are ranked."""
        return True

    @property
    def writes(self) -> bool:
        """Whether it learns to write answers, too."""
        return False

    def count(self, counts: Tensor) -> None:
        """Takes how often each number is in the answers to be written, (size,), before training; only if it writes."""

    def beside(self, batch: Batch, vectors: Vectors, query: Tensor, positive: Tensor) -> Tensor | None:
        """What it learns beside the scores: a loss of each pair (n,), added to that of the scores; None for nothing.

        query, positive: (n,), the pairs' rows among the texts of the batch and their vectors.
        """
        return None

    def start(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Takes over what is known before training: pre-trained vectors (size, dim), and words' rarity (size,)."""

    def forward(self, batch: Batch) -> Vectors:
        """The vectors of a batch of texts. Only those of one call are comparable: columns may be the batch's own."""
        raise NotImplementedError

    def encode(self, batch: Batch) -> Vectors:
        """The vectors of a batch as they are kept, comparable with those of any other call.

        A part may be a sparse tensor (coalesced).
        """
        return self(batch)  # type: ignore[no-any-return]

    def trace(self, batch: Batch) -> tuple[Trace, ...] | None:
        """Which token makes each number of the vectors, part by part; None where no number is any one token's."""
        return None

    def weights(self) -> Tensor:
        """The weight of each part, (parts,)."""
        return torch.ones(len(self.metrics), device=next(self.parameters()).device)

    def pairs(self, left: Vectors, right: Vectors) -> Tensor:
        """Scores of texts side by side: parts (…, dim), which may broadcast, to (…)."""
        scores = [pairwise(m, x, y) for m, x, y in zip(self.metrics, left, right, strict=True)]
        return torch.stack(scores, -1) @ self.weights().to(scores[0])

    def matrix(self, left: Vectors, right: Vectors) -> Tensor:
        """Scores of each with each: parts (n, dim) and (m, dim) to (n, m)."""
        scores = [matrix(m, x, y) for m, x, y in zip(self.metrics, left, right, strict=True)]
        return torch.stack(scores, -1) @ self.weights().to(scores[0])
