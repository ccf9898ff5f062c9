"""Curves from the features of a hit to the probability that it is right. Fitting them involves no randomness."""

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from askalike.core.arrays import Bools, Floats
from askalike.core.config import Settings

RIDGE_PENALTY = 1.0
"""The penalty on half the square of a standardised weight, in units of log loss. It keeps weights finite for classes
that are separable."""
CLIP_PERCENTILES = (0.5, 99.5)
"""The percentiles of each feature beyond which a logistic curve is constant."""
MAX_ITERATIONS = 1_000


class LogisticCurve(Settings):
    """The logistic function of a weighted sum of features (Platt 1999), clipped to the range that it was fitted on."""

    kind: Literal["logistic"] = "logistic"
    columns: tuple[int, ...] = Field(description="the columns of the features that are used")
    low: tuple[float, ...]
    high: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float

    def predict(self, features: Floats) -> Floats:
        """Return the probabilities, (hits,), of features, (hits, columns)."""
        total = np.full(len(features), self.intercept)
        for column, low, high, weight in zip(self.columns, self.low, self.high, self.weights, strict=True):
            total += weight * np.clip(features[:, column], low, high)
        return _sigmoid(total)


class IsotonicCurve(Settings):
    """An increasing curve through knots, linear between them and constant beyond them."""

    kind: Literal["isotonic"] = "isotonic"
    columns: tuple[int, ...] = Field(description="the one column that is used")
    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def predict(self, features: Floats) -> Floats:
        """Return the probabilities, (hits,), of features, (hits, columns)."""
        return np.asarray(np.interp(features[:, self.columns[0]], self.scores, self.probabilities))


class ProductCurve(Settings):
    """The product of the probabilities of several curves."""

    kind: Literal["product"] = "product"
    curves: tuple[LogisticCurve | IsotonicCurve, ...]

    def predict(self, features: Floats) -> Floats:
        """Return the probabilities, (hits,), of features, (hits, columns)."""
        product = np.ones(len(features))
        for curve in self.curves:
            product *= curve.predict(features)
        return product


Curve = LogisticCurve | IsotonicCurve | ProductCurve
CurveFitter = Callable[[Floats, Bools], LogisticCurve]


def logistic_fitter(columns: Sequence[int]) -> CurveFitter:
    """Return a function that fits a logistic curve over some columns of features, (n, columns), to labels, (n,)."""
    return lambda features, labels: _fit_logistic(features, labels, tuple(columns))


def _fit_logistic(features: Floats, labels: Bools, columns: tuple[int, ...]) -> LogisticCurve:
    selected = features[:, list(columns)]
    low, high = np.percentile(selected, CLIP_PERCENTILES, axis=0)
    clipped = np.clip(selected, low, high)
    centre = clipped.mean(axis=0)
    spread = clipped.std(axis=0)
    spread[spread < 1e-12] = 1.0
    solution = _minimise_log_loss((clipped - centre) / spread, _platt_targets(labels))
    weights = solution[1:] / spread
    intercept = float(solution[0] - weights @ centre)
    lows, highs, slopes = (tuple(values.tolist()) for values in (low, high, weights))
    return LogisticCurve(columns=columns, low=lows, high=highs, weights=slopes, intercept=intercept)


def _platt_targets(labels: Bools) -> Floats:
    """Return Platt's targets, (n,): 1 and 0 smoothed as by one more row of each label."""
    n = int(labels.sum())
    return np.where(labels, (n + 1) / (n + 2), 1 / (len(labels) - n + 2))


def _minimise_log_loss(features: Floats, targets: Floats) -> Floats:
    """Return the intercept and weights, (1 + columns,), that minimise log loss plus ridge penalty, by Newton's method.

    Steps are halved until the loss falls. Sums are not left to BLAS, whose threads would wait for each other.
    """
    design = np.column_stack([np.ones(len(features)), features])
    ridge = np.array([0.0, *[RIDGE_PENALTY] * features.shape[1]])

    def loss(weights: Floats) -> float:
        z = np.einsum("ij,j", design, weights)
        return float((np.logaddexp(0, z) - targets * z).sum() + 0.5 * (ridge * weights**2).sum())

    weights = np.zeros(design.shape[1])
    for _ in range(MAX_ITERATIONS):
        p = 1 / (1 + np.exp(-np.clip(np.einsum("ij,j", design, weights), -500, 500)))
        gradient = np.einsum("ij,i", design, p - targets) + ridge * weights
        hessian = np.einsum("ij,i,ik", design, p * (1 - p), design) + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        while loss(weights - step) > loss(weights):
            step = step / 2
        weights = weights - step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def shift_prior(probabilities: Floats, base_rate: float, target_prevalence: float) -> Floats:
    """Return probabilities fitted at `base_rate` adjusted to a prevalence, both in (0, 1) (Saerens et al. 2002)."""
    factor = target_prevalence / (1 - target_prevalence) * (1 - base_rate) / base_rate
    return np.asarray(probabilities * factor / (probabilities * factor + 1 - probabilities))


def shift_balanced_prior(probabilities: Floats, prevalence: float) -> Floats:
    """Return probabilities fitted at a prevalence of one half, adjusted to one in (0, 1]; see `shift_prior`."""
    return np.ones_like(probabilities) if prevalence == 1 else shift_prior(probabilities, 0.5, prevalence)


def _sigmoid(values: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)) for each value.

    It calls `math.exp` for each value: numpy computes exp in vector registers, but the remainder of an array with
    other instructions, which give another last bit on some processors. For the same reason the sum of the weighted
    features is not a matrix product. So a probability does not depend, to the last bit, on the rest of its batch.
    """
    return np.array([_sigmoid_of_float(value) for value in values.tolist()], np.float64)


def _sigmoid_of_float(value: float) -> float:
    """Return 1 / (1 + exp(-value)), without overflow for values far below 0."""
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    power = math.exp(value)
    return power / (1 + power)
