"""LSTMs over padded texts, and the poolings of their hidden states."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from askalike.learning.networks._network import make_embedding

Pooling = Literal["last", "max", "mean", "mean_max"]


class LstmLayer(nn.Module):
    """A unidirectional LSTM. Padding comes after the last real step and so affects no state before it."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)

    def forward(self, steps: Tensor) -> Tensor:
        """Return the hidden state after each step: (batch, steps, dim) to (batch, steps, hidden)."""
        return self.lstm(steps)[0]  # type: ignore[no-any-return]


class WordLstm(nn.Module):
    """Word vectors, and an LSTM over them."""

    def __init__(self, vocabulary_size: int, dim: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = make_embedding(vocabulary_size, dim)
        self.recurrent = LstmLayer(dim, hidden)
        self.dropout = dropout

    def forward(self, ids: Tensor) -> Tensor:
        """Return the hidden state after each word: ids (batch, tokens) to (batch, tokens, hidden)."""
        return self.recurrent(functional.dropout(self.words(ids), self.dropout, self.training))  # type: ignore[no-any-return]


def pool_states(pooling: Pooling, states: Tensor, mask: Tensor) -> Tensor:
    """Pool states (batch, steps, hidden) to one vector: (batch, hidden), or (batch, 2 · hidden) for mean_max.

    mask: (batch, steps), True = real step. A text without real steps gets zeros.
    """
    return POOLINGS[pooling](states, mask).masked_fill(~mask.any(1, keepdim=True), 0)


def pool_sentences(reader: nn.Module, over: LstmLayer, words: Tensor, mask: Tensor) -> Tensor:
    """Return the last state of an LSTM over sentences, each being the last state of `reader` over its words.

    words: (batch, sentences, tokens, …), the input of `reader`. mask: (batch, sentences, tokens), True = real token.
    Returns (batch, hidden). No LSTM reads padding.
    """
    present = mask.any(2)
    sentences = pool_states("last", reader(words[present]), mask[present])
    steps = sentences.new_zeros(*present.shape, sentences.shape[1]).masked_scatter(present[:, :, None], sentences)
    return pool_states("last", over(steps), present)


def _pool_last(states: Tensor, mask: Tensor) -> Tensor:
    return states[torch.arange(len(states), device=states.device), (mask.sum(1) - 1).clamp_min(0)]


def _pool_max(states: Tensor, mask: Tensor) -> Tensor:
    highest = states.masked_fill(~mask[:, :, None], -torch.inf).amax(1)
    return highest.masked_fill(~mask.any(1, keepdim=True), 0)


def _pool_mean(states: Tensor, mask: Tensor) -> Tensor:
    return states.masked_fill(~mask[:, :, None], 0).sum(1) / mask.sum(1, keepdim=True).clamp_min(1)


def _pool_mean_max(states: Tensor, mask: Tensor) -> Tensor:
    return torch.cat((_pool_mean(states, mask), _pool_max(states, mask)), 1)


POOLINGS = {"last": _pool_last, "max": _pool_max, "mean": _pool_mean, "mean_max": _pool_mean_max}
