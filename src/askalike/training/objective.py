"""One step's loss: encode a batch's texts, score its pairs and their negatives, apply the loss."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from askalike.nn import Batch, Network, PartVectors
from askalike.training.examples import Examples, Indices
from askalike.training.losses._loss import Loss, Scores
from askalike.training.settings import NegativesSettings, TeacherSettings
from askalike.training.teaching import DistillationLoss


class TrainingBatch(NamedTuple):
    """A batch of n pairs. `texts` holds each distinct text once; the numbers below are its rows.

    query, positive, clusters (n,); negatives (n, m), its mask True where there is one; targets (n, dim), a teacher's
    vectors of the queries, where there is one.
    """

    texts: Batch
    query: Tensor
    positive: Tensor
    clusters: Tensor
    negatives: Tensor
    mask: Tensor
    targets: Tensor | None = None


def make_training_batch(examples: Examples, pairs: Indices, device: torch.device | str = "cpu") -> TrainingBatch:
    """The step of these pairs."""
    query, positive, negatives = examples.query[pairs], examples.positive[pairs], examples.negatives[pairs]
    mask = negatives >= 0
    needed = np.concatenate((query, positive, negatives[mask]))
    texts, places = np.unique(needed, return_inverse=True)
    filled = np.zeros(negatives.shape, np.int64)
    filled[mask] = places[2 * len(pairs) :]
    arrays = {**examples.rows.batch(texts), "document": examples.is_answer[texts]}

    def there(array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device, non_blocking=True)

    return TrainingBatch(
        {name: there(array) for name, array in arrays.items()},
        there(places[: len(pairs)]),
        there(places[len(pairs) : 2 * len(pairs)]),
        there(examples.clusters[pairs]),
        there(filled),
        there(mask),
        None if examples.targets is None else there(examples.targets[query]),
    )


class Objective(nn.Module):
    """A network with its loss: a step in, the loss of each pair out. All of it is one module for several devices."""

    def __init__(
        self, network: Network, loss: Loss, negatives: NegativesSettings, teacher: TeacherSettings | None = None
    ) -> None:
        super().__init__()
        self.network = network
        self.loss = loss
        self.negatives = negatives
        self.distillation_loss = DistillationLoss(teacher or TeacherSettings())

    def forward(self, batch: TrainingBatch) -> Tensor:
        """The loss of each pair, (n,)."""
        if batch.targets is not None:
            vectors = _select_rows(self.network(batch.texts), batch.query)
            return self.distillation_loss(self.network, vectors, batch.targets)  # type: ignore[no-any-return]
        if self.negatives.hardest and batch.negatives.shape[1] > 1:
            batch = self._keep_hardest_negatives(batch)
        vectors = self.network(batch.texts)
        loss: Tensor = self.loss(self._compute_scores(batch, vectors))
        beside = self.network.auxiliary_loss(batch.texts, vectors, batch.query, batch.positive)
        return loss if beside is None else loss + beside

    @torch.no_grad()
    def _keep_hardest_negatives(self, batch: TrainingBatch) -> TrainingBatch:
        """The step with one negative a pair, the one that scores highest; only what is left is encoded once more.

        The gradient of a maximum is that of the largest alone: learning from all of them would change nothing.
        """
        vectors = self.network(batch.texts)
        against = [self._score_negatives(vectors, side, batch.negatives) for side in self._select_sides(batch)]
        highest = torch.stack(against).amax(0).masked_fill(~batch.mask, -torch.inf)
        best = highest.argmax(1, keepdim=True)
        kept = torch.cat((batch.query, batch.positive, batch.negatives.gather(1, best)[:, 0]))
        rows, places = torch.unique(kept, return_inverse=True)
        query, positive, negative = places.chunk(3)
        texts = {name: array[rows] for name, array in batch.texts.items()}
        return TrainingBatch(texts, query, positive, batch.clusters, negative[:, None], batch.mask.gather(1, best))

    def _compute_scores(self, batch: TrainingBatch, vectors: PartVectors) -> Scores:
        query, positive = _select_rows(vectors, batch.query), _select_rows(vectors, batch.positive)
        forward, backward, masks = [], [], ([], [])  # type: ignore[var-annotated]
        if self.negatives.in_batch:
            forward.append(self.network.score_matrix(query, positive))
            backward.append(forward[0].T)
            others = batch.clusters[:, None] != batch.clusters
            masks[0].append(others)
            masks[1].append(others)
        if batch.negatives.shape[1]:
            blocks = zip((forward, backward), masks, self._select_sides(batch), strict=False)
            for block, mask, side in blocks:
                block.append(self._score_negatives(vectors, side, batch.negatives))
                mask.append(batch.mask)
        scores = self.network.score_pairs(query, positive)
        return Scores(scores, *_join_blocks(scores, forward, masks[0]), *_join_blocks(scores, backward, masks[1]))

    def _select_sides(self, batch: TrainingBatch) -> tuple[Tensor, ...]:
        return (batch.query, batch.positive) if self.negatives.sides == "both" else (batch.query,)

    def _score_negatives(self, vectors: PartVectors, side: Tensor, negatives: Tensor) -> Tensor:
        """Scores (n, m) of one side of each pair with its negatives."""
        return self.network.score_pairs(_select_rows(vectors, side[:, None]), _select_rows(vectors, negatives))


def _select_rows(vectors: PartVectors, rows: Tensor) -> PartVectors:
    return tuple(part[rows] for part in vectors)


def _join_blocks(scores: Tensor, blocks: list[Tensor], masks: list[Tensor]) -> tuple[Tensor, Tensor]:
    if not blocks:
        return scores.new_zeros(len(scores), 0), torch.zeros(len(scores), 0, dtype=torch.bool, device=scores.device)
    return torch.cat(blocks, 1), torch.cat(masks, 1)
