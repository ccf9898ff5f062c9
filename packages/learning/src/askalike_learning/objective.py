"""The loss of one batch: encode its texts, score its pairs and their negatives, apply the loss."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from askalike.plugin.features import Ints
from askalike_learning.examples import ANSWER, Examples, get_pair_clusters
from askalike_learning.losses import Loss, Scores
from askalike_learning.networks import Batch, Network, PartVectors
from askalike_learning.recipes import NegativesSettings


class TrainingBatch(NamedTuple):
    """A batch of n pairs: the features of its distinct texts, and the rows of each pair's texts in these.

    query, positive: (n,). clusters: (n, 2), of both. negatives, mask: (n, m), True where there is a negative. relevant:
    (n,), see Examples.
    """

    texts: Batch
    query: Tensor
    positive: Tensor
    clusters: Tensor
    negatives: Tensor
    mask: Tensor
    relevant: Tensor | None = None


def make_training_batch(examples: Examples, pairs: Ints, device: torch.device | str = "cpu") -> TrainingBatch:
    """Return the batch of these pairs on a device."""
    query, positive, negatives = examples.query[pairs], examples.positive[pairs], examples.negatives[pairs]
    mask = negatives >= 0
    needed = np.concatenate((query, positive, negatives[mask]))
    texts, rows = np.unique(needed, return_inverse=True)
    negative_rows = np.zeros(negatives.shape, np.int64)
    negative_rows[mask] = rows[2 * len(pairs) :]
    arrays = {**examples.rows.batch(texts), "document": examples.kinds[texts] == ANSWER}

    def to_device(array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device, non_blocking=True)

    batch = {name: to_device(array) for name, array in arrays.items()}
    n = len(pairs)
    columns = map(to_device, (rows[:n], rows[n : 2 * n], get_pair_clusters(examples, pairs), negative_rows, mask))
    relevant = None if examples.relevant is None else to_device(examples.relevant[pairs])
    return TrainingBatch._make((batch, *columns, relevant))


class Objective(nn.Module):
    """A network with its loss, as one module, so that several devices can train it."""

    def __init__(self, network: Network, loss: Loss, negatives: NegativesSettings) -> None:
        super().__init__()
        self.network = network
        self.loss = loss
        self.negatives = negatives

    def forward(self, batch: TrainingBatch) -> Tensor:
        """Return the loss of each pair, (n,)."""
        if self.negatives.hardest and batch.negatives.shape[1] > 1:
            batch = self._keep_hardest_negatives(batch)
        vectors = self.network(batch.texts)
        loss: Tensor = self.loss(self._compute_scores(batch, vectors))
        auxiliary_loss = self.network.auxiliary_loss(batch.texts, vectors, batch.query, batch.positive)
        return loss if auxiliary_loss is None else loss + auxiliary_loss

    @torch.no_grad()
    def _keep_hardest_negatives(self, batch: TrainingBatch) -> TrainingBatch:
        """Return the batch with only the highest-scoring negative of each side: the same gradient with fewer texts."""
        vectors = self.network(batch.texts)
        scores = [self._score_negatives(vectors, side, batch.negatives) for side in self._select_sides(batch)]
        hardest = torch.stack(scores, 1).masked_fill(~batch.mask[:, None], -torch.inf).argmax(2)
        needed = torch.cat((batch.query, batch.positive, batch.negatives.gather(1, hardest).flatten()))
        old_rows, new_rows = torch.unique(needed, return_inverse=True)
        query, positive, negatives = new_rows.tensor_split((len(batch.query), 2 * len(batch.query)))
        texts = {name: array[old_rows] for name, array in batch.texts.items()}
        return TrainingBatch(
            texts, query, positive, batch.clusters, negatives.view(hardest.shape), batch.mask.gather(1, hardest)
        )

    def _compute_scores(self, batch: TrainingBatch, vectors: PartVectors) -> Scores:
        query, positive = _select_rows(vectors, batch.query), _select_rows(vectors, batch.positive)
        forward = []  # type: ignore[var-annotated]
        backward = []
        masks = ([], [])
        if self.negatives.in_batch:
            forward.append(self.network.score_matrix(query, positive))
            backward.append(forward[0].T)
            masks[0].append(_is_of_neither_cluster(batch.clusters[:, 1], batch.clusters))
            masks[1].append(_is_of_neither_cluster(batch.clusters[:, 0], batch.clusters))
        if batch.negatives.shape[1]:
            blocks = zip((forward, backward), masks, self._select_sides(batch), strict=False)
            for block, mask, side in blocks:
                block.append(self._score_negatives(vectors, side, batch.negatives))
                mask.append(batch.mask)
        scores = self.network.score_pairs(query, positive)
        if batch.relevant is not None:  # −log(1 − σ(s)) = −log σ(−s)
            scores = torch.where(batch.relevant, scores, -scores)
        return Scores(scores, *_join_blocks(scores, forward, masks[0]), *_join_blocks(scores, backward, masks[1]))

    def _select_sides(self, batch: TrainingBatch) -> tuple[Tensor, ...]:
        return (batch.query, batch.positive) if self.negatives.sides == "both" else (batch.query,)

    def _score_negatives(self, vectors: PartVectors, side: Tensor, negatives: Tensor) -> Tensor:
        """Return the scores of one side of each pair with the pair's negatives, (n, m). side: (n,), rows of texts."""
        return self.network.score_pairs(_select_rows(vectors, side[:, None]), _select_rows(vectors, negatives))


def _is_of_neither_cluster(clusters: Tensor, pairs: Tensor) -> Tensor:
    """Return for each pair, (n, 2), whether each cluster, (m,), is neither its query's nor its positive's: (n, m)."""
    return (pairs[:, None] != clusters[:, None]).all(2)


def _select_rows(vectors: PartVectors, rows: Tensor) -> PartVectors:
    return tuple(part[rows] for part in vectors)


def _join_blocks(scores: Tensor, blocks: list[Tensor], masks: list[Tensor]) -> tuple[Tensor, Tensor]:
    if not blocks:
        return scores.new_zeros(len(scores), 0), torch.zeros(len(scores), 0, dtype=torch.bool, device=scores.device)
    return torch.cat(blocks, 1), torch.cat(masks, 1)
