"""Hierarchical Siamese LSTM (Lin et al. 2017): an LSTM over words for each sentence, an LSTM over sentences."""

from typing import ClassVar

from pydantic import Field
from torch import nn

from askalike.core.config import Settings
from askalike.learning.networks._network import Batch, PartVectors, WordVectorNetwork
from askalike.learning.networks._recurrent import LstmLayer, WordLstm, pool_sentences


class HierarchicalLstmNetworkSettings(Settings):
    """Sizes, which the draft does not specify."""

    dim: int = Field(300, ge=1, description="size of a word's vector")
    sentence: int = Field(128, ge=1, description="size of a sentence's vector")
    hidden: int = Field(128, ge=1, description="size of a text's vector")


class HierarchicalLstmNetwork(WordVectorNetwork):
    """The last state of an LSTM over sentences, each the last state of an LSTM over its words; cosines."""

    Settings: ClassVar[type[Settings]] = HierarchicalLstmNetworkSettings
    features: ClassVar[str] = "sentences"

    def __init__(self, settings: HierarchicalLstmNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = settings.hidden
        self.reader = WordLstm(vocabulary_size, settings.dim, settings.sentence)
        self.over = LstmLayer(settings.sentence, settings.hidden)

    @property
    def word_embedding(self) -> nn.Embedding:
        return self.reader.words

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, sentences, tokens) as one part (batch, hidden)."""
        return (pool_sentences(self.reader, self.over, batch["ids"], batch["mask"]),)
