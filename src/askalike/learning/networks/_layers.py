"""Layers that several networks share."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from askalike.core.types import RESERVED
from askalike.learning.networks._network import TokenTrace, make_embedding


class WindowMax(nn.Module):
    """tanh of the max over word windows (dos Santos et al. 2015, eq. 2).

    W1 z is the sum over the window's positions of a position's matrix times a word's vector. So each distinct word
    of a batch is multiplied only once, and the windows are sums of looked-up rows.
    """

    def __init__(self, vocabulary_size: int, dim: int, window: int, units: int) -> None:
        super().__init__()
        self.window, self.units = window, units
        self.words = make_embedding(vocabulary_size, dim)
        self.weight = nn.Parameter(torch.empty(dim, window * units))
        self.bias = nn.Parameter(torch.zeros(units))
        bound = (6 / (dim * window + units)) ** 0.5  # Glorot's, for the matrix as the paper writes it
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode ids, mask (batch, tokens) as (batch, units); zeros for a text without words."""
        highest = self._windows(ids, mask).amax(1) + self.bias
        return highest.masked_fill(~mask.any(1, keepdim=True), 0).tanh()

    def trace(self, ids: Tensor, mask: Tensor) -> TokenTrace:
        """Return each unit with its value and the middle of its window, (batch, units): see Network.trace."""
        highest, middle = self._windows(ids, mask).max(1)
        values = (highest + self.bias).masked_fill(~mask.any(1, keepdim=True), 0).tanh()
        columns = torch.arange(self.units, device=values.device).expand_as(values)
        return TokenTrace(columns, values, middle, self.window // 2)

    def _windows(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return W1 z of each window, (batch, tokens, units); −inf if its middle is padding.

        Sums are computed in place, since memory access dominates the time.
        """
        tokens, side = ids.shape[1], self.window // 2
        words, places = torch.unique(functional.pad(ids.where(mask, 0), (side, side)), return_inverse=True)
        products = (self.words(words) @ self.weight).view(len(words), self.window, self.units)
        windows = functional.embedding(places[:, :tokens], products[:, 0])
        for j in range(1, self.window):
            windows += functional.embedding(places[:, j : j + tokens], products[:, j])
        return windows.masked_fill_(~mask[:, :, None], -torch.inf)


class WeightedBag(nn.Module):
    """A weighted bag of words (dos Santos et al. 2015, eq. 1): each word's frequency times its weight t."""

    def __init__(self, vocabulary_size: int, trained: bool) -> None:
        super().__init__()
        self.t = nn.Parameter(torch.ones(vocabulary_size), requires_grad=trained)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode ids, mask (batch, tokens) as (batch, distinct words of the batch). An unknown word has weight 0."""
        return self._bags(ids, mask)[1]

    def sparse_bags(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode the same as a sparse tensor with a column per word of the vocabulary: (batch, size)."""
        words, bags = self._bags(ids, mask)
        row, column = bags.nonzero(as_tuple=True)
        places, values = torch.stack((row, words[column])), bags[row, column]
        shape = (len(ids), len(self.t))
        return torch.sparse_coo_tensor(places, values, shape, is_coalesced=True, check_invariants=False)

    def trace(self, ids: Tensor, mask: Tensor) -> TokenTrace:
        """Return each token's word with its weight, (batch, tokens): see Network.trace."""
        known = (mask & (ids >= RESERVED)).to(self.t)
        return TokenTrace(ids, self.t[ids] * known, torch.arange(ids.shape[1], device=ids.device).expand_as(ids))

    def _bags(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        words, places = torch.unique(ids, return_inverse=True)
        counts = torch.zeros(len(ids), len(words), dtype=self.t.dtype, device=ids.device)
        counts.scatter_add_(1, places, (mask & (ids >= RESERVED)).to(counts))
        return words, counts * self.t[words]
