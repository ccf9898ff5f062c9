"""Hierarchical softmax (Morin and Bengio 2005) over a Huffman tree (Mikolov et al. 2013): a word is a path."""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from askalike.papers.generator import Beam, Decoder


class Paths(NamedTuple):
    """The decisions on the way to each word, one word after another.

    nodes: (decisions,), inner nodes from the root. signs: (decisions,), 1 or −1. starts: (words + 1,), where a word's
    decisions begin.
    """

    nodes: Tensor
    signs: Tensor
    starts: Tensor


class HuffmanSoftmax(nn.Module):
    """P(word | state): the product over its path of σ(± the node's weights · state). Frequent words have short paths.

    Until `set_word_counts`, the tree is that of equal counts. The time of a word grows with its path, not with the
    vocabulary; only to find the likeliest word, all nodes are computed.
    """

    parent: Tensor
    _known: tuple[int, int, Paths] | None = None

    def __init__(self, hidden: int, vocabulary_size: int) -> None:
        super().__init__()
        self.size = vocabulary_size
        self.nodes = nn.Linear(hidden, max(vocabulary_size - 1, 1))
        self.register_buffer("parent", torch.zeros(2 * vocabulary_size - 1, dtype=torch.long))
        self.set_word_counts(torch.ones(vocabulary_size))

    def set_word_counts(self, counts: Tensor) -> None:
        """Build the tree. counts: (size,), the frequency of each word."""
        self.parent.copy_(torch.tensor(build_tree(counts.tolist())))

    def log_likelihood(self, states: Tensor, words: Tensor) -> Tensor:
        """Return the log-probability of a word for each state: (n, hidden), (n,) to (n,)."""
        paths = self.paths
        lengths = (paths.starts[1:] - paths.starts[:-1])[words]
        row = torch.arange(len(words), device=words.device).repeat_interleave(lengths)
        offset = torch.arange(len(row), device=words.device) - (lengths.cumsum(0) - lengths)[row]
        place = paths.starts[words][row] + offset
        node = paths.nodes[place]
        scores = (functional.embedding(node, self.nodes.weight) * states[row]).sum(1) + self.nodes.bias[node]
        return states.new_zeros(len(words)).index_add(0, row, functional.logsigmoid(scores * paths.signs[place]))

    def log_probabilities(self, states: Tensor) -> Tensor:
        """Return the log-probability of every word for each state: (n, hidden) to (n, size)."""
        scores, paths = self.nodes(states), self.paths
        steps = functional.logsigmoid(scores[:, paths.nodes] * paths.signs)
        lengths = paths.starts[1:] - paths.starts[:-1]
        word = torch.arange(self.size, device=states.device).repeat_interleave(lengths)
        return steps.new_zeros(len(states), self.size).index_add(1, word, steps)

    @property
    def paths(self) -> Paths:
        """The paths of the tree in `parent`, which is saved with the weights; found again if it has changed."""
        key = id(self.parent), self.parent._version
        if self._known is None or self._known[:2] != key:
            self._known = (*key, self._find_paths())
        return self._known[2]

    def _find_paths(self) -> Paths:
        parent = self.parent.tolist()
        nodes, signs, starts = [], [], [0]
        for word in range(self.size):
            path = []
            while (up := parent[word]) >= 0:
                path.append((up // 2, 1.0 - 2.0 * (up % 2)))
                word = up // 2 + self.size
            nodes += [node for node, _ in reversed(path)]
            signs += [sign for _, sign in reversed(path)]
            starts.append(len(nodes))
        device, dtype = self.nodes.weight.device, self.nodes.weight.dtype
        return Paths(
            torch.tensor(nodes, dtype=torch.long, device=device), torch.tensor(signs, dtype=dtype, device=device),
            torch.tensor(starts, device=device),
        )  # fmt: skip


def build_tree(counts: Sequence[float]) -> list[int]:
    """Return, for each word and then for each inner node, 2 · its parent's number + its side; −1 for the root.

    The two rarest trees are joined until one is left; of equally rare ones, the earliest.
    """
    parent = [-1] * (2 * len(counts) - 1)
    trees = [(count, n) for n, count in enumerate(counts)]
    heapq.heapify(trees)
    for node in range(len(counts) - 1):
        (left_count, left), (right_count, right) = heapq.heappop(trees), heapq.heappop(trees)
        parent[left], parent[right] = 2 * node, 2 * node + 1
        heapq.heappush(trees, (left_count + right_count, len(counts) + node))
    return parent


class HuffmanDecoder(Decoder):
    """A generator with a hierarchical softmax; cutoffs are not used."""

    @staticmethod
    def make_softmax(vocabulary_size: int, hidden: int, cutoffs: Sequence[int]) -> nn.Module:
        return HuffmanSoftmax(hidden, vocabulary_size)

    def set_word_counts(self, counts: Tensor) -> None:
        self.softmax.set_word_counts(counts)

    def word_likelihoods(self, states: Tensor, ids: Tensor) -> Tensor:
        return self.softmax.log_likelihood(states, ids)  # type: ignore[no-any-return]

    def extend_beam(self, states: Tensor, totals: Tensor, banned: Sequence[Sequence[int]], count: int) -> Beam:
        sums = self.softmax.log_probabilities(states) + totals[:, None]
        return self.merge_beams(None, sums, 0, [torch.tensor(list(ids), dtype=torch.long) for ids in banned], count)
