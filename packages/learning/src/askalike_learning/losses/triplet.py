"""Triplet loss: a negative should score at least a margin below the positive."""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from askalike_learning.losses import Loss, Scores, masked_mean


class TripletLoss(Loss):
    """The mean of max(0, margin − s(q, p) + s(q, x)) over some of a pair's negatives x.

    With a Euclidean metric the scores are negative distances and this is [ρ(q, p) − ρ(q, x) + margin]+. Most negatives
    of a trained network are far away: over all of them, the mean and its gradient vanish long before it ranks well.
    Semi-hard (Schroff et al. 2015): the nearest of the negatives that are farther away than the positive. The hardest
    from the start draws all vectors to one point, where the loss stays at the margin.
    """

    margin: float = Field(
        10.0,
        gt=0,
        description="margin between positive and negative: 10 for distances (the DSSM's), less than 2 for cosines",
    )
    over: Literal["violated", "all", "semi_hard", "hardest"] = Field(
        "semi_hard",
        description="a pair's negatives that count: those within the margin (violated), all, or one of them: the "
        "hardest that scores below the positive (semi_hard; the easiest if none does), or the hardest, with which a "
        "network that has learned nothing yet collapses to one vector for all texts",
    )

    def __call__(self, scores: Scores) -> Tensor:
        violation = (self.margin - scores.positive[:, None] + scores.negative).clamp_min(0)
        return masked_mean(violation, self._select_negatives(scores))

    @torch.no_grad()
    def _select_negatives(self, scores: Scores) -> Tensor:
        """Return which negatives count, (n, m)."""
        positive = scores.positive[:, None]
        negative = scores.negative
        mask = scores.mask
        if self.over == "all" or not mask.shape[1]:
            return mask
        if self.over == "violated":
            return mask & (negative > positive - self.margin)
        below = mask & (negative < positive)
        if self.over == "hardest":
            chosen = _mask_out(negative, mask).argmax(1)
        else:
            easiest = _mask_out(-negative, mask).argmax(1)
            chosen = _mask_out(negative, below).argmax(1).where(below.any(1), easiest)
        return mask & (torch.arange(mask.shape[1], device=mask.device) == chosen[:, None])


def _mask_out(values: Tensor, mask: Tensor) -> Tensor:
    return values.masked_fill(~mask, -torch.inf)
