"""Siamese LSTM over words (Lin et al. 2017): the cosine of two texts' last hidden states."""

from typing import ClassVar

from pydantic import Field
from torch import nn

from askalike.core.config import Settings
from askalike.learning.networks._network import Batch, PartVectors, WordVectorNetwork
from askalike.learning.networks._recurrent import Pooling, WordLstm, pool_states


class SiameseLstmNetworkSettings(Settings):
    """Sizes, which the draft does not specify."""

    dim: int = Field(300, ge=1, description="size of a word's vector")
    hidden: int = Field(128, ge=1, description="size of a hidden state, and of a text's vector")
    pooling: Pooling = Field("last", description="how hidden states are pooled into the vector")


class SiameseLstmNetwork(WordVectorNetwork):
    """Questions and answers are encoded by the same LSTM."""

    Settings: ClassVar[type[Settings]] = SiameseLstmNetworkSettings

    def __init__(self, settings: SiameseLstmNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = settings.hidden * (2 if settings.pooling == "mean_max" else 1)
        self.reader = WordLstm(vocabulary_size, settings.dim, settings.hidden)

    @property
    def word_embedding(self) -> nn.Embedding:
        return self.reader.words

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, tokens) as one part (batch, vector_dim)."""
        return (pool_states(self.settings.pooling, self.reader(batch["ids"]), batch["mask"]),)
