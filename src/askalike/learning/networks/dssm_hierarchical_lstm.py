"""The DSSM with hierarchical towers: an LSTM over the words of each sentence, and an LSTM over sentences."""

from typing import ClassVar

from torch import Tensor, nn

from askalike.learning.networks._recurrent import LstmLayer, pool_sentences
from askalike.learning.networks._two_towers import TwoTowerNetwork


class SentenceTower(nn.Module):
    """The last state of an LSTM over sentences, each the last state of an LSTM over its words."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.recurrent = LstmLayer(dim, hidden)
        self.over = LstmLayer(hidden, hidden)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """Encode words (batch, sentences, tokens, dim), mask (batch, sentences, tokens) as (batch, hidden)."""
        return pool_sentences(self.recurrent, self.over, words, mask)


class DssmHierarchicalLstmNetwork(TwoTowerNetwork):
    """Hierarchical towers, for long answers."""

    features: ClassVar[str] = "sentences"

    def make_tower(self) -> nn.Module:
        return SentenceTower(self.settings.dim, self.settings.hidden)
