"""Writes the most likely text for a vector, one word at a time: the decoder, its softmax, and its beam search."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from askalike_learning.networks import BeamSearchOptions

END = 0
"""The id before the first word and after the last one: the padding id, which is not a word."""
DIV_VALUE = 4.0
"""Factor by which the projection of each group of rarer words is smaller than the previous one (Grave et al. 2017)."""

State = tuple[Tensor, Tensor]


class Beam(NamedTuple):
    """The best texts with one more word: log-probabilities, the texts that they extend, and the ids of the words."""

    sums: Tensor
    hypotheses: Tensor
    words: Tensor


class Likelihoods(NamedTuple):
    """The log-probability of each row's label, (n,)."""

    output: Tensor


class HuffmanSoftmax(nn.Module):
    """log P(label | state) over a Huffman tree (Mikolov et al. 2013), with the names of PyTorch's adaptive softmax.

    A label's probability is the product of σ(± (w · state + b)) of the inner nodes above its leaf, which are the
    decisions on the path to it. All labels are in the first group, so `head` has their log-probabilities and there is
    no `tail`.
    """

    tail: tuple[nn.Module, ...] = ()
    cutoffs: tuple[int, ...] = ()
    parent: Tensor
    is_right: Tensor
    nodes: Tensor
    """The inner nodes above each label, (size, depth), the root repeated at the end."""
    signs: Tensor
    """The decision at each of them, (size, depth): 1 right, −1 left, 0 where the root is repeated."""

    def __init__(self, hidden: int, size: int) -> None:
        super().__init__()
        self.shortlist_size = size
        self.inner = nn.Linear(hidden, size - 1)
        self.register_buffer("parent", torch.zeros(2 * size - 1, dtype=torch.long))
        self.register_buffer("is_right", torch.zeros(2 * size - 1, dtype=torch.bool))
        self.register_buffer("nodes", torch.zeros(size, 0), persistent=False)
        self.register_buffer("signs", torch.zeros(size, 0), persistent=False)
        self.register_load_state_dict_post_hook(_find_paths)  # type: ignore[no-untyped-call]
        self.set_counts(torch.ones(size))

    def set_counts(self, counts: Tensor) -> None:
        """Build the tree of labels' frequencies, (size,). Its nodes: the labels, then the inner ones, the root last."""
        heap = [(count, label) for label, count in enumerate(counts.tolist())]
        heapq.heapify(heap)
        for node in range(len(counts), 2 * len(counts) - 1):
            (least, left), (next_least, right) = heapq.heappop(heap), heapq.heappop(heap)
            self.parent[left] = self.parent[right] = node
            self.is_right[right] = True
            self.is_right[left] = False
            heapq.heappush(heap, (least + next_least, node))
        _find_paths(self)

    def forward(self, states: Tensor, labels: Tensor) -> Likelihoods:
        """Return the log-probability of each label after its state: (n, hidden) and (n,) to (n,)."""
        nodes = self.nodes[labels]
        weights = functional.embedding(nodes, self.inner.weight)  # its gradient sums a node's rows faster than indexing
        biases = functional.embedding(nodes, self.inner.bias[:, None])
        logits = (weights @ states[:, :, None] + biases)[:, :, 0]
        return Likelihoods(_add_decisions(logits, self.signs[labels]))

    def log_prob(self, states: Tensor) -> Tensor:
        """Return the log-probability of all labels: (n, hidden) to (n, size)."""
        return _add_decisions(self.inner(states)[:, self.nodes], self.signs)

    head = log_prob


def _find_paths(softmax: HuffmanSoftmax, *_: object) -> None:
    """Set the paths of all labels by the tree: once, as each step up would make a GPU wait."""
    nodes = []
    signs = []
    root = len(softmax.parent) - 1
    at = torch.arange(softmax.shortlist_size, device=softmax.parent.device)
    while (inside := at < root).any():
        above = softmax.parent[at].where(inside, root)
        nodes.append(above - softmax.shortlist_size)
        signs.append(torch.where(inside, 2 * softmax.is_right[at].long() - 1, 0))
        at = above
    softmax.nodes, softmax.signs = torch.stack(nodes, 1), torch.stack(signs, 1)


def _add_decisions(logits: Tensor, signs: Tensor) -> Tensor:
    """Return the log-probability of paths: (…, depth) to (…,)."""
    return (functional.logsigmoid(logits * signs) * signs.abs()).sum(-1)


class Decoder(nn.Module):
    """P(text | vector), one word at a time (Sutskever et al. 2014): the vector initialises the LSTM's state.

    Words are ids of a vocabulary. The softmax is adaptive, or over a Huffman tree if there are no cutoffs. It needs
    labels by descending frequency, which `set_word_counts` assigns; until then ids are labels.
    """

    label: Tensor
    word: Tensor

    softmax: nn.AdaptiveLogSoftmaxWithLoss | HuffmanSoftmax

    def __init__(self, vocabulary_size: int, dim: int, latent: int, hidden: int, cutoffs: Sequence[int] | None) -> None:
        super().__init__()
        self.begin = nn.Linear(latent, 2 * hidden)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        if cutoffs is None:
            self.softmax = HuffmanSoftmax(hidden, vocabulary_size)
        else:
            usable = sorted({c for c in cutoffs if 0 < c < vocabulary_size}) or [max(vocabulary_size // 2, 1)]
            self.softmax = nn.AdaptiveLogSoftmaxWithLoss(hidden, vocabulary_size, usable, DIV_VALUE)
        self.register_buffer("label", torch.arange(vocabulary_size))
        self.register_buffer("word", torch.arange(vocabulary_size))

    def set_word_counts(self, counts: Tensor) -> None:
        """Assign labels by descending frequency, ties by id. counts: (size,), the frequency of each id in answers."""
        order = torch.argsort(counts, descending=True, stable=True)
        self.word.copy_(order)
        self.label.copy_(torch.argsort(order))
        if isinstance(self.softmax, HuffmanSoftmax):
            self.softmax.set_counts(counts[order])

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
        with torch.autocast(states.device.type, enabled=False):  # the softmax fails on mixed number formats
            likelihoods = self.softmax(states[counted].to(self.begin.weight), self.label[after[counted]]).output
        lengths = counted.sum(1)
        rows = torch.arange(len(ids), device=ids.device).repeat_interleave(lengths)
        return likelihoods.new_zeros(len(ids)).index_add(0, rows, likelihoods), lengths

    def step(self, word_embedding: nn.Embedding, last_words: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one more word, last_words (batch,); return the output for the next, (batch, hidden), and the state."""
        states, state = self.lstm(word_embedding(last_words[:, None]), state)
        return states[:, 0], state

    def extend_beam(self, states: Tensor, totals: Tensor, banned: Sequence[Sequence[int]], count: int) -> Beam:
        """Return the `count` best continuations of all texts, by the log-probability of text and next word, best first.

        states: (texts, hidden). totals: (texts,), the log-probabilities so far. banned: the ids that may not follow
        each text. No word is more likely than its group, so groups of rare words that cannot be among the best are
        skipped.
        """
        head = self.softmax.head(states).log_softmax(1) + totals[:, None]
        frequent = self.softmax.shortlist_size
        forbidden = [self.label[list(numbers)] for numbers in banned]
        best = self._merge_beams(None, head[:, :frequent], 0, forbidden, count)
        for group, tail in enumerate(self.softmax.tail):
            group_sums = head[:, frequent + group]
            if len(best.sums) < count or group_sums.max() > best.sums[-1]:
                rare = tail(states).log_softmax(1) + group_sums[:, None]
                best = self._merge_beams(best, rare, self.softmax.cutoffs[group], forbidden, count)
        return best._replace(words=self.word[best.words])

    def _merge_beams(
        self, best: Beam | None, sums: Tensor, first: int, forbidden: Sequence[Tensor], count: int
    ) -> Beam:
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
        return Beam(values[order], texts[order], labels[order])


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    """The beginning of a text: its words, their log-probability, and the row of its state in the beam."""

    words: tuple[int, ...]
    log_probability: float
    row: int


@torch.inference_mode()
def beam_search(
    decoder: Decoder, word_embedding: nn.Embedding, vector: Tensor, options: BeamSearchOptions
) -> tuple[list[int], float]:
    """Return the words of the best text for a vector (latent,), without the end token, and its score.

    A text without an end after `max_words` words is truncated there. A text has at least one word.
    """
    state = decoder.initial_state(vector[None])
    texts = [_Hypothesis((), 0.0, 0)]
    finished: list[_Hypothesis] = []
    for _ in range(options.max_words):
        rows = torch.tensor([text.row for text in texts])
        last = torch.tensor([text.words[-1] if text.words else END for text in texts])
        states, state = decoder.step(word_embedding, last, (state[0][:, rows], state[1][:, rows]))
        totals = torch.tensor([text.log_probability for text in texts], dtype=states.dtype)
        banned = [_find_banned_words(text.words, options.no_repeat_ngram) for text in texts]
        best = decoder.extend_beam(states, totals, banned, 2 * options.beam_size)
        texts = _extend_hypotheses(texts, best, options, finished)
        if not texts or len(finished) >= options.beam_size:
            break
    likeliest = max([*finished, *texts], key=lambda text: _normalised_score(text, options))
    return list(likeliest.words), _normalised_score(likeliest, options)


def _extend_hypotheses(
    texts: list[_Hypothesis], best: Beam, options: BeamSearchOptions, finished: list[_Hypothesis]
) -> list[_Hypothesis]:
    """Return the best texts with one more word; those that end are added to `finished`."""
    extended: list[_Hypothesis] = []
    for total, row, word in zip(*(column.tolist() for column in best), strict=True):
        if len(extended) == options.beam_size:
            break
        if word == END:
            finished.append(_Hypothesis(texts[row].words, total, row))
        else:
            extended.append(_Hypothesis((*texts[row].words, word), total, row))
    return extended


def _find_banned_words(words: tuple[int, ...], no_repeat_ngram: int) -> list[int]:
    """Return the words that must not follow: the end as the first word, and words that would repeat an n-gram."""
    return [*([] if words else [END]), *(_find_repeating_words(words, no_repeat_ngram) if no_repeat_ngram else ())]


def _find_repeating_words(words: tuple[int, ...], length: int) -> set[int]:
    """Return the words that would repeat an earlier n-gram of `length` words."""
    before = words[len(words) - length + 1 :] if length > 1 else ()
    starts = range(len(words) - length + 1)
    return {words[at + length - 1] for at in starts if words[at : at + length - 1] == before}


def _normalised_score(hypothesis: _Hypothesis, options: BeamSearchOptions) -> float:
    return float(hypothesis.log_probability / ((5 + len(hypothesis.words)) / 6) ** options.length_penalty)
