"""Cross-entropy on labelled pairs: the score is the log odds that two texts belong together."""

from torch import Tensor
from torch.nn import functional

from askalike_learning.losses import Loss, Scores, masked_mean


class CrossEntropyLoss(Loss):
    """−log σ(s) for the positive, and the mean of −log(1 − σ(s)) over negatives; equal to a two-class softmax."""

    def __call__(self, scores: Scores) -> Tensor:
        return functional.softplus(-scores.positive) + masked_mean(functional.softplus(scores.negative), scores.mask)
