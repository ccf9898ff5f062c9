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
    nodes, signs, root = [], [], len(softmax.parent) - 1
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
