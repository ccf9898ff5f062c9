"""Generates a text from a vector: an LSTM over words, with an adaptive softmax."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

END = 0
"""The id before the first word and after the last one: the padding id, which is not a word."""
DIV_VALUE = 4.0
"""Factor by which the projection of each group of rarer words is smaller than the previous one (Grave et al. 2017)."""

State = tuple[Tensor, Tensor]


class Continuations(NamedTuple):
    """The best continuations: log-probabilities, the hypotheses that they continue, and the ids of their next words."""

    sums: Tensor
    hypotheses: Tensor
    words: Tensor


class Decoder(nn.Module):
    """P(text | vector), one word at a time (Sutskever et al. 2014): the vector initialises the LSTM's state.

    Words are ids of a vocabulary. The softmax is adaptive and needs labels by descending frequency, which
    `set_word_counts` assigns; until then ids are labels.
    """

    label: Tensor
    word: Tensor

    def __init__(self, vocabulary_size: int, dim: int, latent: int, hidden: int, cutoffs: Sequence[int]) -> None:
        super().__init__()
        self.begin = nn.Linear(latent, 2 * hidden)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        usable = sorted({c for c in cutoffs if 0 < c < vocabulary_size}) or [max(vocabulary_size // 2, 1)]
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(hidden, vocabulary_size, usable, DIV_VALUE)
        self.register_buffer("label", torch.arange(vocabulary_size))
        self.register_buffer("word", torch.arange(vocabulary_size))

    def set_word_counts(self, counts: Tensor) -> None:
        """Assign labels by descending frequency, ties by id. counts: (size,), the frequency of each id in answers."""
        order = torch.argsort(counts, descending=True, stable=True)
        self.word.copy_(order)
        self.label.copy_(torch.argsort(order))

    def initial_state(self, vectors: Tensor) -> State:
        """Return the state before the first word: from vectors (batch, latent), two tensors (1, batch, hidden)."""
        hidden, cell = self.begin(vectors).tanh().chunk(2, -1)
        return hidden[None].contiguous(), cell[None].contiguous()

    def log_likelihood(self, words: nn.Embedding, vectors: Tensor, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return each text's log-likelihood including its end (with teacher forcing), and its length.

        vectors: (batch, latent). ids, mask: (batch, tokens), True = real token. Returns (batch,) twice.
        """
        ids = ids.where(mask, END)
        after = functional.pad(ids, (0, 1), value=END)
        before = functional.pad(ids, (1, 0), value=END)
        counted = functional.pad(mask, (1, 0), value=True)  # the words and the end
        states = self.lstm(words(before), self.initial_state(vectors))[0]
        likelihoods = self.softmax(states[counted], self.label[after[counted]]).output
        lengths = counted.sum(1)
        rows = torch.arange(len(ids), device=ids.device).repeat_interleave(lengths)
        return likelihoods.new_zeros(len(ids)).index_add(0, rows, likelihoods), lengths

    def step(self, word_embedding: nn.Embedding, last_words: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one more word, last_words (batch,); return the output for the next, (batch, hidden), and the state."""
        states, state = self.lstm(word_embedding(last_words[:, None]), state)
        return states[:, 0], state

    def find_best_continuations(
        self, states: Tensor, totals: Tensor, banned: Sequence[Sequence[int]], count: int
    ) -> Continuations:
        """Return the `count` best continuations of all texts, by the log-probability of text and next word, best first.

        states: (texts, hidden). totals: (texts,), the log-probabilities so far. banned: the ids that may not follow
        each text. No word is more likely than its group, so groups of rare words that cannot be among the best are
        skipped.
        """
        head = self.softmax.head(states).log_softmax(1) + totals[:, None]
        frequent = self.softmax.shortlist_size
        forbidden = [self.label[list(numbers)] for numbers in banned]
        best = self._merge_continuations(None, head[:, :frequent], 0, forbidden, count)
        for group, tail in enumerate(self.softmax.tail):
            group_sums = head[:, frequent + group]
            if len(best.sums) < count or group_sums.max() > best.sums[-1]:
                rare = tail(states).log_softmax(1) + group_sums[:, None]
                best = self._merge_continuations(best, rare, self.softmax.cutoffs[group], forbidden, count)
        return best._replace(words=self.word[best.words])

    def _merge_continuations(
        self, best: Continuations | None, sums: Tensor, first: int, forbidden: Sequence[Tensor], count: int
    ) -> Continuations:
        """Return the best of `best` and of a group whose labels start at `first`; sums: (texts, group)."""
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
