"""LSTM with pooled states (SemEval-2017 Task 3 B): a classifier of pairs, or a cosine that can be indexed."""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from askalike.config import Settings
from askalike.nn._layers import fill
from askalike.nn._network import Batch, Network, Vectors
from askalike.nn._recurrent import Pooling, WordReader, pooled


class LstmSettings(Settings):
    """Sizes (the paper's), which states make the vector, and what compares two of them."""

    dim: int = Field(300, ge=1, description="numbers in a word's vector")
    hidden: int = Field(400, ge=1, description="numbers in a hidden state")
    pooling: Pooling = Field("mean_max", description="which states make the vector: last, max, mean, mean_max")
    head: Literal["pair", "cosine"] = Field(
        "cosine", description="pair: a classifier of [u; v; |u − v|; u ∘ v], which ranks candidates only"
    )
    dense: int = Field(200, ge=1, description="units between a pair and its score")
    dropout: float = Field(0.3, ge=0, lt=1, description="of word vectors, while it learns")


class Lstm(Network):
    """Scores are log odds that two texts belong together: w · cosine + b, or the pair classifier's."""

    Settings: ClassVar[type[Settings]] = LstmSettings

    def __init__(self, settings: LstmSettings, size: int) -> None:
        super().__init__(settings, size)
        self.reader = WordReader(size, settings.dim, settings.hidden, settings.dropout)
        if settings.head == "pair":
            self.first, self.second = nn.Linear(4 * self.width, settings.dense), nn.Linear(settings.dense, 1)
        else:
            self.log_scale, self.bias = nn.Parameter(torch.tensor([1.5])), nn.Parameter(torch.tensor(-2.0))

    @property
    def width(self) -> int:
        """Numbers in a text's vector."""
        return int(self.settings.hidden) * (2 if self.settings.pooling == "mean_max" else 1)

    @property
    def indexable(self) -> bool:
        """Whether vectors alone give the score."""
        return bool(self.settings.head == "cosine")

    def start(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Word vectors begin as the pre-trained ones."""
        fill(self.reader.words, vectors)

    def forward(self, batch: Batch) -> Vectors:
        """ids, mask (batch, tokens) to one part (batch, width)."""
        return (pooled(self.settings.pooling, self.reader(batch["ids"]), batch["mask"]),)

    def weights(self) -> Tensor:
        """w, above 0, (1,); of the pair classifier 1."""
        return self.log_scale.exp() if self.indexable else super().weights()

    def pairs(self, left: Vectors, right: Vectors) -> Tensor:
        """Scores of texts side by side: (…, width), which may broadcast, to (…)."""
        if self.indexable:
            return super().pairs(left, right) + self.bias
        u, v = torch.broadcast_tensors(left[0], right[0])  # type: ignore[no-untyped-call]
        both = torch.cat((u, v, (u - v).abs(), u * v), -1)
        return self.second(functional.relu(self.first(both)))[..., 0]  # type: ignore[no-any-return]

    def matrix(self, left: Vectors, right: Vectors) -> Tensor:
        """Scores of each with each: (n, width) and (m, width) to (n, m)."""
        if self.indexable:
            return super().matrix(left, right) + self.bias
        return self.pairs(tuple(p[:, None] for p in left), tuple(p[None] for p in right))
