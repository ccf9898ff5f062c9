"""Triplet loss: a negative should score at least a margin below the positive."""

from pydantic import Field
from torch import Tensor

from askalike.learning.loss import Loss, Scores, masked_mean


class TripletLoss(Loss):
    """The mean of max(0, margin − s(q, p) + s(q, x)).

    With a Euclidean metric the scores are negative distances and this is [ρ(q, p) − ρ(q, x) + margin]+.
    """

    margin: float = Field(
        10.0,
        gt=0,
        description="margin between positive and negative: 10 for distances (the DSSM's), less than 2 for cosines",
    )

    def __call__(self, scores: Scores) -> Tensor:
        return masked_mean((self.margin - scores.positive[:, None] + scores.negative).clamp_min(0), scores.mask)
