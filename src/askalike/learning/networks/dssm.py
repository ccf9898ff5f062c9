"""DSSM ("Unified sentence embedding for question answering"): φ of questions and ψ of answers, each an LSTM."""

from torch import Tensor, nn

from askalike.learning.networks._recurrent import LstmLayer, pool_states
from askalike.learning.networks._two_towers import TwoTowerNetwork


class LastStateTower(nn.Module):
    """The last state of an LSTM over words."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.recurrent = LstmLayer(dim, hidden)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """Encode words (batch, tokens, dim), mask (batch, tokens) as (batch, hidden)."""
        return pool_states("last", self.recurrent(words), mask)


class DssmNetwork(TwoTowerNetwork):
    """LSTM towers over words: the last state, and dense layers."""

    def make_tower(self) -> nn.Module:
        return LastStateTower(self.settings.dim, self.settings.hidden)
