"""Cross-entropy on labelled pairs: the score is the log odds that two texts belong together."""

from torch import Tensor
from torch.nn import functional

from askalike.training.loss import Loss, Scores, masked_mean


class CrossEntropyLoss(Loss):
    """−log σ(s) for the positive, and the mean of −log(1 − σ(s)) over its negatives.

    A softmax over two outputs is the sigmoid of their difference, so that this is the papers' two-class form too.
    """

    def __call__(self, scores: Scores) -> Tensor:
        """See Loss.__call__."""
        return functional.softplus(-scores.positive) + masked_mean(functional.softplus(scores.negative), scores.mask)
