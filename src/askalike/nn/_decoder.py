"""Writes a text from a vector: an LSTM over words, and a softmax that spends little on rare ones."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

END = 0
"""What follows the last word, and stands before the first: the number of padding, which is no word."""
NARROWER = 4.0
"""Each group of rarer words is told apart by so many times fewer numbers than the group before (Grave et al. 2017)."""

State = tuple[Tensor, Tensor]


class Decoder(nn.Module):
    """P(text | vector), a word at a time (Sutskever et al. 2014): the vector is the LSTM's first state.

    Words are numbers of a vocabulary. The softmax is adaptive: it wants labels by falling frequency, which `count`
    gives them; until then numbers are labels.
    """

    label: Tensor
    word: Tensor

    def __init__(self, size: int, dim: int, latent: int, hidden: int, cutoffs: Sequence[int]) -> None:
        super().__init__()
        self.begin = nn.Linear(latent, 2 * hidden)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(hidden, size, _within(cutoffs, size), NARROWER)
        self.register_buffer("label", torch.arange(size))
        self.register_buffer("word", torch.arange(size))

    def count(self, counts: Tensor) -> None:
        """Labels by falling frequency, ties by number. counts: (size,), how often each number is to be written."""
        order = torch.argsort(counts, descending=True, stable=True)
        self.word.copy_(order)
        self.label.copy_(torch.argsort(order))

    def start(self, vectors: Tensor) -> State:
        """vectors (batch, latent) to the state before the first word, (1, batch, hidden) twice."""
        hidden, cell = self.begin(vectors).tanh().chunk(2, -1)
        return hidden[None].contiguous(), cell[None].contiguous()

    def log_likelihood(self, words: nn.Embedding, vectors: Tensor, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The log-likelihood of each text with its end, given the true words before (teacher forcing), and its length.

        vectors: (batch, latent). ids, mask: (batch, tokens), True = real token. Returns (batch,) twice.
        """
        ids = ids.where(mask, END)
        after = functional.pad(ids, (0, 1), value=END)
        before = functional.pad(ids, (1, 0), value=END)
        counted = functional.pad(mask, (1, 0), value=True)  # as many as words, and the end
        states = self.lstm(words(before), self.start(vectors))[0]
        found = self.softmax(states[counted], self.label[after[counted]]).output
        lengths = counted.sum(1)
        rows = torch.arange(len(ids), device=ids.device).repeat_interleave(lengths)
        return found.new_zeros(len(ids)).index_add(0, rows, found), lengths

    def step(self, words: nn.Embedding, last: Tensor, state: State) -> tuple[Tensor, State]:
        """The logarithms of the probabilities of the next word: last (batch,), numbers; returns (batch, size)."""
        states, state = self.lstm(words(last[:, None]), state)
        return self.softmax.log_prob(states[:, 0])[:, self.label], state


def _within(cutoffs: Sequence[int], size: int) -> list[int]:
    """The bounds of frequency groups that a vocabulary of this size has."""
    return sorted({c for c in cutoffs if 0 < c < size}) or [max(size // 2, 1)]
