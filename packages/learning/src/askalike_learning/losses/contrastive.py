"""Contrastive loss over scores (Das et al. 2016): positives towards 1, negatives below a margin."""

from pydantic import Field
from torch import Tensor

from askalike_learning.losses import Loss, Scores, masked_mean


class ContrastiveLoss(Loss):
    """1 − s for the positive, and the mean of max(0, s − margin) over its negatives; s is a cosine in the papers."""

    margin: float = Field(0.0, ge=-1, le=1, description="maximum score of a negative that costs nothing")

    def __call__(self, scores: Scores) -> Tensor:
        return 1 - scores.positive + masked_mean((scores.negative - self.margin).clamp_min(0), scores.mask)
