"""Multiple negatives ranking (Henderson et al. 2017): softmax over the positive and all negatives."""

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from askalike_learning.losses import Loss, Scores


class MultipleNegativesLoss(Loss):
    """−log softmax(scale · s) of the positive among itself and the negatives; symmetric: for q and for p."""

    scale: float = Field(20.0, gt=0, description="factor of the scores before the softmax; 20 suits cosines")
    symmetric: bool = Field(True, description="whether the positive is also trained to find the query")

    def __call__(self, scores: Scores) -> Tensor:
        forward = self._softmax_loss(scores.positive, scores.forward, scores.forward_mask)
        if not self.symmetric:
            return forward
        return (forward + self._softmax_loss(scores.positive, scores.backward, scores.backward_mask)) / 2

    def _softmax_loss(self, positive: Tensor, negative: Tensor, mask: Tensor) -> Tensor:
        choices = torch.cat((positive[:, None], negative.masked_fill(~mask, -torch.inf)), 1)
        return -functional.log_softmax(self.scale * choices, 1)[:, 0]
