"""Writes a text from a vector: an LSTM over words, and a softmax that spends little on rare ones."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

END = 0
"""What follows the last word, and stands before the first: the number of padding, which is no word."""
DIV_VALUE = 4.0
"""Each group of rarer words is told apart by so many times fewer numbers than the group before (Grave et al. 2017)."""

State = tuple[Tensor, Tensor]


class Continuations(NamedTuple):
    """The best continuations: their sums of logarithms, which text each continues, and the number of its next word."""

    sums: Tensor
    hypotheses: Tensor
    words: Tensor


class Decoder(nn.Module):
    """P(text | vector), a word at a time (Sutskever et al. 2014): the vector is the LSTM's first state.

    Words are numbers of a vocabulary. The softmax is adaptive: it wants labels by falling frequency, which `count`
    gives them; until then numbers are labels.
    """

    label: Tensor
    word: Tensor

    def __init__(self, vocabulary_size: int, dim: int, latent: int, hidden: int, cutoffs: Sequence[int]) -> None:
        super().__init__()
        self.begin = nn.Linear(latent, 2 * hidden)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(
            hidden, vocabulary_size, _usable_cutoffs(cutoffs, vocabulary_size), DIV_VALUE
        )
        self.register_buffer("label", torch.arange(vocabulary_size))
        self.register_buffer("word", torch.arange(vocabulary_size))

    def set_word_counts(self, counts: Tensor) -> None:
        """Labels by falling frequency, ties by number. counts: (size,), how often each number is to be written."""
        order = torch.argsort(counts, descending=True, stable=True)
        self.word.copy_(order)
        self.label.copy_(torch.argsort(order))

    def initial_state(self, vectors: Tensor) -> State:
        """vectors (batch, latent) to the state before the first word, (1, batch, hidden) twice."""
        hidden, cell = self.begin(vectors).tanh().chunk(2, -1)
        return hidden[None].contiguous(), cell[None].contiguous()

    def log_likelihood(
        self, word_embedding: nn.Embedding, vectors: Tensor, ids: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The log-likelihood of each text with its end, given the true words before (teacher forcing), and its length.

        vectors: (batch, latent). ids, mask: (batch, tokens), True = real token. Returns (batch,) twice.
        """
        ids = ids.where(mask, END)
        after = functional.pad(ids, (0, 1), value=END)
        before = functional.pad(ids, (1, 0), value=END)
        counted = functional.pad(mask, (1, 0), value=True)  # as many as words, and the end
        states = self.lstm(word_embedding(before), self.initial_state(vectors))[0]
        found = self.softmax(states[counted], self.label[after[counted]]).output
        lengths = counted.sum(1)
        rows = torch.arange(len(ids), device=ids.device).repeat_interleave(lengths)
        return found.new_zeros(len(ids)).index_add(0, rows, found), lengths

    def step(self, word_embedding: nn.Embedding, last_words: Tensor, state: State) -> tuple[Tensor, State]:
        """Reads one word more: last (batch,), numbers. Returns what the next is told from, (batch, hidden)."""
        states, state = self.lstm(word_embedding(last_words[:, None]), state)
        return states[:, 0], state

    def next_word_log_probabilities(self, states: Tensor) -> Tensor:
        """The logarithms of the probabilities of the next word, by number: (batch, hidden) to (batch, size)."""
        return self.softmax.log_prob(states)[:, self.label]

    def find_best_continuations(
        self, states: Tensor, totals: Tensor, banned: Sequence[Sequence[int]], count: int
    ) -> Continuations:
        """The best continuations of some texts: `count` of all, by the texts' totals and the next word together.

        states: (texts, hidden). totals: (texts,), the logarithms so far. banned: of each text the numbers that may not
        follow. Returns sums, texts and numbers of the next word, the best first. No word of a group is likelier than
        its group, so that groups of rare words which cannot be among the best are never looked into.
        """
        head = self.softmax.head(states).log_softmax(1) + totals[:, None]
        frequent = self.softmax.shortlist_size
        forbidden = [self.label[list(numbers)] for numbers in banned]
        best = self._merge_continuations(None, head[:, :frequent], 0, forbidden, count)
        for group, tail in enumerate(self.softmax.tail):
            own = head[:, frequent + group]
            if len(best.sums) < count or own.max() > best.sums[-1]:
                rare = tail(states).log_softmax(1) + own[:, None]
                best = self._merge_continuations(best, rare, self.softmax.cutoffs[group], forbidden, count)
        return best._replace(words=self.word[best.words])

    def _merge_continuations(
        self, best: Continuations | None, sums: Tensor, first: int, forbidden: Sequence[Tensor], count: int
    ) -> Continuations:
        """The best of those known and of a group whose labels begin at `first`, sums (texts, group); words by label."""
        for text, labels in enumerate(forbidden):
            inside = labels[(labels >= first) & (labels < first + sums.shape[1])]
            sums[text, inside - first] = -torch.inf
        values, places = sums.flatten().topk(min(count, sums.numel()))
        texts, labels = places // sums.shape[1], places % sums.shape[1] + first
        if best is not None:
            values, texts = torch.cat((best.sums, values)), torch.cat((best.hypotheses, texts))
            labels = torch.cat((best.words, labels))
        order = values.argsort(descending=True, stable=True)[:count]
        order = order[values[order] > -torch.inf]
        return Continuations(values[order], texts[order], labels[order])


def _usable_cutoffs(cutoffs: Sequence[int], vocabulary_size: int) -> list[int]:
    """The bounds of frequency groups that a vocabulary of this size has."""
    return sorted({c for c in cutoffs if 0 < c < vocabulary_size}) or [max(vocabulary_size // 2, 1)]
