"""Losses, one file each: settings, and a formula over the scores of positives and negatives."""

from abc import abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from askalike import Settings


class Scores(NamedTuple):
    """The scores of n pairs (q, p) and of any number of negatives x; masks are True where there is a negative."""

    positive: Tensor
    """s(q, p), (n,); −s(q, p) if the pair was judged irrelevant."""
    forward: Tensor
    """s(q, x), (n, m)."""
    forward_mask: Tensor
    """(n, m)."""
    backward: Tensor
    """s(p, x), (n, m')."""
    backward_mask: Tensor
    """(n, m')."""

    @property
    def negative(self) -> Tensor:
        """Both blocks, (n, m + m')."""
        return torch.cat((self.forward, self.backward), 1)

    @property
    def mask(self) -> Tensor:
        """Both masks, (n, m + m')."""
        return torch.cat((self.forward_mask, self.backward_mask), 1)


class Loss(Settings):
    """A loss of training pairs. Every loss works with all kinds of negatives."""

    @abstractmethod
    def __call__(self, scores: Scores) -> Tensor:
        """Return the loss of each pair, (n,); 0 for a pair without negatives if the formula needs one."""


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of each row over the True entries of its mask, (n, m) to (n,); 0 if there are none."""
    return values.where(mask, 0).sum(1) / mask.sum(1).clamp_min(1)
