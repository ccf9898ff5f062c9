"""Layers that several networks share."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from askalike.errors import SettingsError
from askalike.nn._network import RESERVED, TokenTrace


def make_embedding(vocabulary_size: int, dim: int) -> nn.Embedding:
    """Random word vectors (normal, deviation 0.1); padding's is 0 and stays so."""
    table = nn.Embedding(vocabulary_size, dim, padding_idx=0)
    nn.init.normal_(table.weight, std=0.1)
    with torch.no_grad():
        table.weight[0] = 0
    return table


def copy_pretrained_vectors(table: nn.Embedding, vectors: Tensor | None) -> None:
    """Puts pre-trained vectors (size, dim) in; a row that is not finite keeps its random one."""
    if vectors is None:
        return
    if vectors.shape != table.weight.shape:
        raise SettingsError(
            f"pre-trained vectors have {vectors.shape[1]} numbers, network.dim is {table.embedding_dim}; "
            f"set network.dim={vectors.shape[1]}"
        )
    with torch.no_grad():
        given = vectors.isfinite().all(1)
        given[0] = False
        table.weight[given] = vectors[given].to(table.weight)


class WindowMax(nn.Module):
    """tanh of the max over word windows (dos Santos et al. 2015, eq. 2).

    W1 z is the sum over the window's places of one matrix per place times one word's vector. So each distinct word
    of a batch is multiplied once, however often it occurs, and the windows are sums of rows looked up.
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
        """ids, mask (batch, tokens) to (batch, units); zeros for a text without words."""
        highest = self._windows(ids, mask).max(1).values
        return highest.masked_fill(~mask.any(1, keepdim=True), 0).tanh()

    def trace(self, ids: Tensor, mask: Tensor) -> TokenTrace:
        """Each unit with its value and the middle of the window that it is of, (batch, units): see Network.trace."""
        highest, middle = self._windows(ids, mask).max(1)
        values = highest.masked_fill(~mask.any(1, keepdim=True), 0).tanh()
        columns = torch.arange(self.units, device=values.device).expand_as(values)
        return TokenTrace(columns, values, middle, self.window // 2)

    def _windows(self, ids: Tensor, mask: Tensor) -> Tensor:
        """W1 z + b of each window, (batch, tokens, units); -inf where its middle is padding."""
        tokens, side = ids.shape[1], self.window // 2
        words, places = torch.unique(functional.pad(ids.where(mask, 0), (side, side)), return_inverse=True)
        products = (self.words(words) @ self.weight).view(len(words), self.window, self.units)
        windows = self.bias + sum(
            functional.embedding(places[:, j : j + tokens], products[:, j]) for j in range(self.window)
        )
        return windows.masked_fill(~mask[:, :, None], -torch.inf)


class WeightedBag(nn.Module):
    """A weighted bag of words (dos Santos et al. 2015, eq. 1): each word's frequency times its weight t."""

    def __init__(self, vocabulary_size: int, trained: bool) -> None:
        super().__init__()
        self.t = nn.Parameter(torch.ones(vocabulary_size), requires_grad=trained)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """ids, mask (batch, tokens) to (batch, distinct words of the batch). An unknown word counts nothing."""
        return self._bags(ids, mask)[1]

    def sparse_bags(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The same as a sparse tensor, a column for each word of the vocabulary: (batch, size)."""
        words, bags = self._bags(ids, mask)
        row, column = bags.nonzero(as_tuple=True)
        places, values = torch.stack((row, words[column])), bags[row, column]
        shape = (len(ids), len(self.t))
        return torch.sparse_coo_tensor(places, values, shape, is_coalesced=True, check_invariants=False)

    def trace(self, ids: Tensor, mask: Tensor) -> TokenTrace:
        """Each token's word with its weight, (batch, tokens): see Network.trace."""
        known = (mask & (ids >= RESERVED)).to(self.t)
        return TokenTrace(ids, self.t[ids] * known, torch.arange(ids.shape[1], device=ids.device).expand_as(ids))

    def _bags(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        words, places = torch.unique(ids, return_inverse=True)
        counts = torch.zeros(len(ids), len(words), dtype=self.t.dtype, device=ids.device)
        counts.scatter_add_(1, places, (mask & (ids >= RESERVED)).to(counts))
        return words, counts * self.t[words]
