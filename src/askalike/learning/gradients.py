"""Gradient accumulation: the mean gradient of several batches, computed here or on the workers of a Ray cluster.

Each batch has its own random numbers, and the gradients are added up in the order of the batches, so that the sum is
bitwise reproducible in either case.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from askalike.core.parallel import map_pieces
from askalike.learning.objective import TrainingBatch

Gradient = Sequence[Tensor | None]
"""One entry per trainable parameter, None if a batch does not depend on it."""


def compute_gradients(
    objective: nn.Module, batches: Iterable[tuple[TrainingBatch, int]], reduction: str
) -> Iterator[tuple[float, Gradient]]:
    """Yield the sum of each batch's losses, and its gradient, on Ray if a cluster is set. batches: each with its seed.

    reduction: whether the gradient is that of the `mean` or the `sum` of a batch's losses.
    """
    yield from map_pieces(partial(compute_gradient, objective, reduction, torch.get_num_threads()), batches)


def compute_gradient(
    objective: nn.Module, reduction: str, threads: int, piece: tuple[TrainingBatch, int]
) -> tuple[float, Gradient]:
    """Return the sum of a batch's losses, and its gradient. threads: torch's, as these may affect the last bit."""
    batch, seed = piece
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        losses = objective(batch).float()
    loss = losses.sum() if reduction == "sum" else losses.mean()
    parameters = [parameter for parameter in objective.parameters() if parameter.requires_grad]
    return float(losses.detach().sum()), torch.autograd.grad(loss, parameters, allow_unused=True)


def add_gradient(objective: nn.Module, gradient: Gradient, share: float) -> None:
    """Add a share of a batch's gradient to that of the objective's parameters."""
    parameters = (parameter for parameter in objective.parameters() if parameter.requires_grad)
    for parameter, own in zip(parameters, gradient, strict=True):
        if own is not None:
            parameter.grad = own * share if parameter.grad is None else parameter.grad + own * share
