"""DSSM ("Unified sentence embedding for question answering"): φ of questions and ψ of answers, each an LSTM."""

from torch import Tensor, nn

from askalike.nn._recurrent import Recurrent, pooled
from askalike.nn._two_towers import TwoTowers


class LastState(nn.Module):
    """The last state of an LSTM over words."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.recurrent = Recurrent(dim, hidden)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """words (batch, tokens, dim), mask (batch, tokens) to (batch, hidden)."""
        return pooled("last", self.recurrent(words), mask)


class Dssm(TwoTowers):
    """LSTM towers over words: the last state, and dense layers."""

    def tower(self) -> nn.Module:
        """See TwoTowers.tower."""
        return LastState(self.settings.dim, self.settings.hidden)
