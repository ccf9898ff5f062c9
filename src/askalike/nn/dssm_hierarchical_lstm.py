"""The DSSM with hierarchical towers: an LSTM over words for each sentence, an LSTM over sentences."""

from typing import ClassVar

from torch import Tensor, nn

from askalike.nn._recurrent import LstmLayer, pool_states
from askalike.nn._two_towers import TwoTowerNetwork


class SentenceTower(nn.Module):
    """The last state of an LSTM over sentences, each the last state of an LSTM over its words."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.recurrent = LstmLayer(dim, hidden)
        self.over = LstmLayer(hidden, hidden)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """words (batch, sentences, tokens, dim), mask (batch, sentences, tokens) to (batch, hidden)."""
        there = mask.any(2)
        sentences = pool_states("last", self.recurrent(words[there]), mask[there])
        steps = sentences.new_zeros(*there.shape, sentences.shape[1]).masked_scatter(there[:, :, None], sentences)
        return pool_states("last", self.over(steps), there)


class DssmHierarchicalLstmNetwork(TwoTowerNetwork):
    """Towers for long answers."""

    features: ClassVar[str] = "sentences"

    def make_tower(self) -> nn.Module:
        """See TwoTowers.tower."""
        return SentenceTower(self.settings.dim, self.settings.hidden)
