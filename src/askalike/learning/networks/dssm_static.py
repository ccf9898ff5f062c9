"""The DSSM with weighted means of word vectors as towers: many times faster than LSTMs."""

from torch import Tensor, nn

from askalike.learning.networks._two_towers import TwoTowerNetwork


class MeanTower(nn.Module):
    """The mean of word vectors, each with a weight computed from the vector, and a dense layer."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Linear(dim, 1)
        self.dense = nn.Linear(dim, hidden)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """Encode words (batch, tokens, dim), mask (batch, tokens) as (batch, hidden)."""
        weights = self.weight(words)[..., 0].sigmoid() * mask
        mean = (weights[:, :, None] * words).sum(1) / weights.sum(1, keepdim=True).clamp_min(1e-6)
        return self.dense(mean).tanh()  # type: ignore[no-any-return]


class DssmStaticNetwork(TwoTowerNetwork):
    """Towers that ignore the order of words."""

    def make_tower(self) -> nn.Module:
        return MeanTower(self.settings.dim, self.settings.hidden)
