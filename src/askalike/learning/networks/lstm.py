"""LSTM with pooled states (SemEval-2017 Task 3 B): a classifier of pairs, or a cosine that can be indexed."""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from askalike.core.config import Settings
from askalike.learning.networks._network import Batch, PartVectors, WordVectorNetwork
from askalike.learning.networks._recurrent import Pooling, WordLstm, pool_states


class LstmNetworkSettings(Settings):
    """Sizes (the paper's), the pooling of states into a vector, and the comparison of two vectors."""

    dim: int = Field(300, ge=1, description="size of a word's vector")
    hidden: int = Field(400, ge=1, description="size of a hidden state")
    pooling: Pooling = Field("mean_max", description="how hidden states are pooled into the vector")
    head: Literal["pair", "cosine"] = Field(
        "cosine",
        description="a pair's score: cosine, or pair, a classifier of [u; v; |u − v|; u ∘ v] that only re-ranks",
    )
    dense: int = Field(200, ge=1, description="number of units of the classifier's dense layer")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout of word vectors in training")


class LstmNetwork(WordVectorNetwork):
    """Scores are log odds that two texts belong together: w · cosine + b, or the pair classifier's."""

    Settings: ClassVar[type[Settings]] = LstmNetworkSettings

    def __init__(self, settings: LstmNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = settings.hidden * (2 if settings.pooling == "mean_max" else 1)
        self.reader = WordLstm(vocabulary_size, settings.dim, settings.hidden, settings.dropout)
        if settings.head == "pair":
            self.first, self.second = nn.Linear(4 * self.vector_dim, settings.dense), nn.Linear(settings.dense, 1)
        else:
            self.log_scale, self.bias = nn.Parameter(torch.tensor([1.5])), nn.Parameter(torch.tensor(-2.0))

    @staticmethod
    def has_indexable_vectors(settings: LstmNetworkSettings) -> bool:
        return settings.head == "cosine"

    @property
    def word_embedding(self) -> nn.Embedding:
        return self.reader.words

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, tokens) as one part (batch, vector_dim)."""
        return (pool_states(self.settings.pooling, self.reader(batch["ids"]), batch["mask"]),)

    def part_weights(self) -> Tensor:
        """Return w, above 0, (1,); 1 for the pair classifier."""
        return self.log_scale.exp() if self.indexable else super().part_weights()

    def score_pairs(self, left: PartVectors, right: PartVectors) -> Tensor:
        """Return the scores of pairs of texts: (…, vector_dim), which may broadcast, to (…)."""
        if self.indexable:
            return super().score_pairs(left, right) + self.bias
        u, v = torch.broadcast_tensors(left[0], right[0])  # type: ignore[no-untyped-call]
        features = torch.cat((u, v, (u - v).abs(), u * v), -1)
        return self.second(functional.relu(self.first(features)))[..., 0]  # type: ignore[no-any-return]

    def score_matrix(self, left: PartVectors, right: PartVectors) -> Tensor:
        """Return the scores of all pairs of texts: (n, vector_dim) and (m, vector_dim) to (n, m)."""
        if self.indexable:
            return super().score_matrix(left, right) + self.bias
        return self.score_pairs(tuple(p[:, None] for p in left), tuple(p[None] for p in right))
