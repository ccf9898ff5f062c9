"""Logistic ranking loss (dos Santos et al. 2015, section 2.5): the positive should beat its hardest negative."""

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from askalike_learning.losses import Loss, Scores


class LogisticRankingLoss(Loss):
    """log(1 + exp(−γ·Δ)), Δ the smallest difference of the positive's and a negative's score.

    (q, x) and (p, x) are two negative pairs: with negatives of both sides, the sum over them.
    """

    gamma: float = Field(10.0, gt=0, description="γ, the scale of score differences")

    def __call__(self, scores: Scores) -> Tensor:
        forward = self._side_loss(scores.positive, scores.forward, scores.forward_mask)
        return forward + self._side_loss(scores.positive, scores.backward, scores.backward_mask)

    def _side_loss(self, positive: Tensor, negative: Tensor, mask: Tensor) -> Tensor:
        if not mask.shape[1]:
            return torch.zeros_like(positive)
        hardest = negative.masked_fill(~mask, -torch.inf).amax(1)
        has_negative = mask.any(1)
        difference = positive - hardest.where(has_negative, positive)
        return functional.softplus(-self.gamma * difference).where(has_negative, 0)
