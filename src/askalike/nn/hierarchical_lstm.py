"""Hierarchical Siamese LSTM (Lin et al. 2017): words make sentences, sentences make the text."""

from typing import ClassVar

from pydantic import Field
from torch import Tensor

from askalike.config import Settings
from askalike.nn._layers import copy_pretrained_vectors
from askalike.nn._network import Batch, Network, PartVectors
from askalike.nn._recurrent import LstmLayer, WordLstm, pool_states


class HierarchicalLstmNetworkSettings(Settings):
    """Sizes; the draft leaves them open."""

    dim: int = Field(300, ge=1, description="numbers in a word's vector")
    sentence: int = Field(128, ge=1, description="numbers in a sentence's vector")
    hidden: int = Field(128, ge=1, description="numbers in a text's vector")


class HierarchicalLstmNetwork(Network):
    """The last state of an LSTM over sentences, each the last state of an LSTM over its words; cosines."""

    Settings: ClassVar[type[Settings]] = HierarchicalLstmNetworkSettings
    features: ClassVar[str] = "sentences"

    def __init__(self, settings: HierarchicalLstmNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.reader = WordLstm(vocabulary_size, settings.dim, settings.sentence)
        self.over = LstmLayer(settings.sentence, settings.hidden)

    @property
    def vector_dim(self) -> int:
        """Numbers in a text's vector."""
        return int(self.settings.hidden)

    def initialise(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Word vectors begin as the pre-trained ones."""
        copy_pretrained_vectors(self.reader.words, vectors)

    def forward(self, batch: Batch) -> PartVectors:
        """ids, mask (batch, sentences, tokens) to one part (batch, hidden). Padding is read by no LSTM."""
        ids, mask = batch["ids"], batch["mask"]
        there = mask.any(2)
        sentences = pool_states("last", self.reader(ids[there]), mask[there])
        steps = sentences.new_zeros(*there.shape, sentences.shape[1]).masked_scatter(there[:, :, None], sentences)
        return (pool_states("last", self.over(steps), there),)
