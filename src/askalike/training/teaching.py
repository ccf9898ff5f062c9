"""Learning another encoder's vectors: each text's own, and which texts of a batch it takes to be alike."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from askalike.nn import Network, PartVectors
from askalike.training.settings import TeacherSettings


class DistillationLoss(nn.Module):
    """`cosine` · (1 − the cosine to the teacher's vector) + KL of the softmaxes over the batch's likenesses.

    The first part is left out where a text's vector has several parts.
    """

    def __init__(self, settings: TeacherSettings) -> None:
        super().__init__()
        self.settings = settings

    def forward(self, network: Network, vectors: PartVectors, targets: Tensor) -> Tensor:
        """The loss of each text, (n,). vectors: parts (n, dim). targets: (n, at most dim), the teacher's."""
        loss = self._compute_divergence(network.score_matrix(vectors, vectors), functional.normalize(targets, dim=1))
        if network.vector_dim and self.settings.cosine:
            same = functional.pad(targets, (0, vectors[0].shape[1] - targets.shape[1]))
            loss = loss + self.settings.cosine * (1 - functional.cosine_similarity(vectors[0], same, dim=1))
        return loss

    def _compute_divergence(self, scores: Tensor, targets: Tensor) -> Tensor:
        """The Kullback–Leibler divergence from the teacher's choice among the other texts to the network's, (n,)."""
        if len(scores) < 3:
            return scores.new_zeros(len(scores))
        others = ~torch.eye(len(scores), dtype=torch.bool, device=scores.device)
        taught = _log_softmax(targets @ targets.T / self.settings.temperature, others)
        learned = _log_softmax(scores / self.settings.temperature, others)
        return (taught.exp() * (taught - learned)).sum(1)


def _log_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """The logarithms of each row's softmax without the diagonal, (n, n − 1)."""
    return functional.log_softmax(scores[mask].view(len(scores), -1), 1)
