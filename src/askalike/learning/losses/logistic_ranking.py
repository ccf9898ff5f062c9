"""Logistic ranking loss (dos Santos et al. 2015, section 2.5): the positive should beat its hardest negative."""

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from askalike.learning.losses import Loss, Scores


class LogisticRankingLoss(Loss):
    """log(1 + exp(−γ·Δ)), Δ the smallest difference of the positive's and a negative's score."""

    gamma: float = Field(10.0, gt=0, description="γ, the scale of score differences")

    def __call__(self, scores: Scores) -> Tensor:
        hardest = scores.negative.masked_fill(~scores.mask, -torch.inf).amax(1)
        has_negative = scores.mask.any(1)
        difference = scores.positive - hardest.where(has_negative, scores.positive)
        return functional.softplus(-self.gamma * difference).where(has_negative, 0)
