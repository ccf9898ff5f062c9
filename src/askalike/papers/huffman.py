"""The hierarchical softmax: a word's probability as that of the decisions on the path to it in a Huffman tree."""

import heapq
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class Likelihoods(NamedTuple):
    """The log-probability of each row's label, (n,)."""

    output: Tensor


class HuffmanSoftmax(nn.Module):
    """log P(label | state) over a Huffman tree (Mikolov et al. 2013), with the names of PyTorch's adaptive softmax.

    A label's probability is the product of σ(± (w · state + b)) of the inner nodes above its leaf. All labels are in
    the first group, so `head` has their log-probabilities and there is no `tail`.
    """

    tail: tuple[nn.Module, ...] = ()
    cutoffs: tuple[int, ...] = ()
    parent: Tensor
    is_right: Tensor

    def __init__(self, hidden: int, size: int) -> None:
        super().__init__()
        self.shortlist_size = size
        self.inner = nn.Linear(hidden, size - 1)
        self.register_buffer("parent", torch.zeros(2 * size - 1, dtype=torch.long))
        self.register_buffer("is_right", torch.zeros(2 * size - 1, dtype=torch.bool))
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

    def forward(self, states: Tensor, labels: Tensor) -> Likelihoods:
        """Return the log-probability of each label after its state: (n, hidden) and (n,) to (n,)."""
        nodes, signs = self._find_paths(labels)
        logits = (self.inner.weight[nodes] * states[:, None]).sum(2) + self.inner.bias[nodes]
        return Likelihoods(_add_decisions(logits, signs))

    def log_prob(self, states: Tensor) -> Tensor:
        """Return the log-probability of all labels: (n, hidden) to (n, size)."""
        nodes, signs = self._find_paths(torch.arange(self.shortlist_size, device=states.device))
        return _add_decisions(self.inner(states)[:, nodes], signs)

    head = log_prob

    def _find_paths(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the inner nodes above labels, (n, depth), and each decision: 1 right, −1 left, 0 above the root."""
        nodes, signs, root = [], [], len(self.parent) - 1
        at = labels
        while (inside := at < root).any():
            above = self.parent[at].where(inside, root)
            nodes.append(above - self.shortlist_size)
            signs.append(torch.where(inside, 2 * self.is_right[at].long() - 1, 0))
            at = above
        return torch.stack(nodes, 1), torch.stack(signs, 1)


def _add_decisions(logits: Tensor, signs: Tensor) -> Tensor:
    """Return the log-probability of paths: (…, depth) to (…,)."""
    return (functional.logsigmoid(logits * signs) * signs.abs()).sum(-1)
