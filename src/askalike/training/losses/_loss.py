"""What every loss is: settings, and one formula over scores."""

from abc import abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from askalike.config import Settings


class Scores(NamedTuple):
    """The scores of n training pairs (q, p) and of their negatives x, higher for more alike.

    `negatives` are in two blocks: s(q, x) (n, m), and s(p, x) (n, m'), either of which may be empty. A block's mask
    is True where there is a negative.
    """

    positive: Tensor
    forward: Tensor
    forward_mask: Tensor
    backward: Tensor
    backward_mask: Tensor

    @property
    def negative(self) -> Tensor:
        """Both blocks, (n, m + m')."""
        return torch.cat((self.forward, self.backward), 1)

    @property
    def mask(self) -> Tensor:
        """Both masks, (n, m + m')."""
        return torch.cat((self.forward_mask, self.backward_mask), 1)


class Loss(Settings):
    """A loss of training pairs. Every one works with every kind of negatives."""

    @abstractmethod
    def __call__(self, scores: Scores) -> Tensor:
        """The loss of each pair, (n,); 0 for what has no negative where the formula needs one."""


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Each row's mean over what the mask lets through, (n, m) to (n,); 0 for a row with nothing."""
    return values.where(mask, 0).sum(1) / mask.sum(1).clamp_min(1)
