"""One step's loss: encode a batch's texts, score its pairs and their negatives, apply the loss."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from askalike.nn._network import Batch, Network, Vectors
from askalike.training.examples import Examples, Numbers
from askalike.training.losses._loss import Loss, Scores
from askalike.training.settings import NegativesSettings, TeacherSettings
from askalike.training.teaching import Teaching


class Step(NamedTuple):
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


def step_of(examples: Examples, pairs: Numbers, device: torch.device | str = "cpu") -> Step:
    """The step of these pairs."""
    query, positive, negatives = examples.query[pairs], examples.positive[pairs], examples.negatives[pairs]
    mask = negatives >= 0
    needed = np.concatenate((query, positive, negatives[mask]))
    texts, places = np.unique(needed, return_inverse=True)
    filled = np.zeros(negatives.shape, np.int64)
    filled[mask] = places[2 * len(pairs) :]
    arrays = {**examples.rows.batch(texts), "document": examples.documents[texts]}

    def there(array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device, non_blocking=True)

    return Step(
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
        self.teaching = Teaching(teacher or TeacherSettings())

    def forward(self, step: Step) -> Tensor:
        """The loss of each pair, (n,)."""
        if step.targets is not None:
            return self.teaching(self.network, _rows(self.network(step.texts), step.query), step.targets)  # type: ignore[no-any-return]
        if self.negatives.hardest and step.negatives.shape[1] > 1:
            step = self._with_hardest(step)
        vectors = self.network(step.texts)
        loss: Tensor = self.loss(self._scores(step, vectors))
        beside = self.network.beside(step.texts, vectors, step.query, step.positive)
        return loss if beside is None else loss + beside

    @torch.no_grad()
    def _with_hardest(self, step: Step) -> Step:
        """The step with one negative a pair, the one that scores highest; only what is left is encoded once more.

        The gradient of a maximum is that of the largest alone: learning from all of them would change nothing.
        """
        vectors = self.network(step.texts)
        against = [self._against(vectors, side, step.negatives) for side in self._sides(step)]
        highest = torch.stack(against).amax(0).masked_fill(~step.mask, -torch.inf)
        best = highest.argmax(1, keepdim=True)
        kept = torch.cat((step.query, step.positive, step.negatives.gather(1, best)[:, 0]))
        rows, places = torch.unique(kept, return_inverse=True)
        query, positive, negative = places.chunk(3)
        texts = {name: array[rows] for name, array in step.texts.items()}
        return Step(texts, query, positive, step.clusters, negative[:, None], step.mask.gather(1, best))

    def _scores(self, step: Step, vectors: Vectors) -> Scores:
        query, positive = _rows(vectors, step.query), _rows(vectors, step.positive)
        forward, backward, masks = [], [], ([], [])  # type: ignore[var-annotated]
        if self.negatives.in_batch:
            forward.append(self.network.matrix(query, positive))
            backward.append(forward[0].T)
            others = step.clusters[:, None] != step.clusters
            masks[0].append(others)
            masks[1].append(others)
        if step.negatives.shape[1]:
            blocks = zip((forward, backward), masks, self._sides(step), strict=False)
            for block, mask, side in blocks:
                block.append(self._against(vectors, side, step.negatives))
                mask.append(step.mask)
        scores = self.network.pairs(query, positive)
        return Scores(scores, *_joined(scores, forward, masks[0]), *_joined(scores, backward, masks[1]))

    def _sides(self, step: Step) -> tuple[Tensor, ...]:
        return (step.query, step.positive) if self.negatives.sides == "both" else (step.query,)

    def _against(self, vectors: Vectors, side: Tensor, negatives: Tensor) -> Tensor:
        """Scores (n, m) of one side of each pair with its negatives."""
        return self.network.pairs(_rows(vectors, side[:, None]), _rows(vectors, negatives))


def _rows(vectors: Vectors, rows: Tensor) -> Vectors:
    return tuple(part[rows] for part in vectors)


def _joined(scores: Tensor, blocks: list[Tensor], masks: list[Tensor]) -> tuple[Tensor, Tensor]:
    if not blocks:
        return scores.new_zeros(len(scores), 0), torch.zeros(len(scores), 0, dtype=torch.bool, device=scores.device)
    return torch.cat(blocks, 1), torch.cat(masks, 1)
