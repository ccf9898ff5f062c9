"""Siamese LSTM over words (Lin et al. 2017): the cosine of two texts' last hidden states."""

from typing import ClassVar

from pydantic import Field
from torch import Tensor

from askalike.config import Settings
from askalike.nn._layers import copy_pretrained_vectors
from askalike.nn._network import Batch, Network, PartVectors
from askalike.nn._recurrent import Pooling, WordLstm, pool_states


class SiameseLstmNetworkSettings(Settings):
    """Sizes; the draft leaves them open."""

    dim: int = Field(300, ge=1, description="numbers in a word's vector")
    hidden: int = Field(128, ge=1, description="numbers in a hidden state, and in a text's vector")
    pooling: Pooling = Field("last", description="which states make the vector: last, max, mean, mean_max")


class SiameseLstmNetwork(Network):
    """Questions and answers go through the same LSTM."""

    Settings: ClassVar[type[Settings]] = SiameseLstmNetworkSettings

    def __init__(self, settings: SiameseLstmNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.reader = WordLstm(vocabulary_size, settings.dim, settings.hidden)

    @property
    def vector_dim(self) -> int:
        """Numbers in a text's vector."""
        return int(self.settings.hidden) * (2 if self.settings.pooling == "mean_max" else 1)

    def initialise(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Word vectors begin as the pre-trained ones."""
        copy_pretrained_vectors(self.reader.words, vectors)

    def forward(self, batch: Batch) -> PartVectors:
        """ids, mask (batch, tokens) to one part (batch, width)."""
        return (pool_states(self.settings.pooling, self.reader(batch["ids"]), batch["mask"]),)
