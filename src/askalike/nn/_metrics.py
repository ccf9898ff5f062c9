"""Scores of vectors: cosine, dot product, minus the Euclidean distance. Higher is better."""

import torch
from torch import Tensor
from torch.nn import functional

from askalike.types import Metric

MIN_SQUARED_DISTANCE = 1e-12
"""Under the root of a squared distance: its gradient is 0 where two vectors are equal."""


def score_pairs(metric: Metric, left: Tensor, right: Tensor) -> Tensor:
    """Scores of vectors side by side: (…, dim) each, which may broadcast, to (…). A zero vector has cosine 0."""
    if metric == "cosine":
        return functional.cosine_similarity(left, right, dim=-1)
    if metric == "dot":
        return (left * right).sum(-1)
    return -(left - right).square().sum(-1).clamp_min(MIN_SQUARED_DISTANCE).sqrt()


def score_matrix(metric: Metric, left: Tensor, right: Tensor) -> Tensor:
    """Scores of each with each: (n, dim) and (m, dim) to (n, m)."""
    if metric == "euclidean":
        return -torch.cdist(left, right)
    if metric == "cosine":
        left, right = functional.normalize(left, dim=-1, eps=1e-8), functional.normalize(right, dim=-1, eps=1e-8)
    return left @ right.T
