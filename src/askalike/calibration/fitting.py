"""Fits curves from features to probabilities. Nothing is drawn at random: the same rows give the same curve."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from askalike.calibration.curves import Curve, Floats, IsotonicCurve, LogisticCurve

Bools = NDArray[np.bool_]
RARE_SHARE = 0.05
"""The share of rows that a curve of how usual something is takes to be unusual."""
CurveFitter = Callable[[Floats, Bools], Curve]

RIDGE_PENALTY = 1.0
"""What half the square of a standardised weight costs, in units of log loss: curves stay finite where classes part."""
CLIP_PERCENTILES = (0.5, 99.5)
"""The percentiles of each feature beyond which a logistic curve does not follow."""


def logistic_fitter(columns: Sequence[int]) -> Callable[[Floats, Bools], LogisticCurve]:
    """Fits a logistic curve over these columns."""
    return lambda features, right: _fit_logistic(features, right, tuple(columns))


def isotonic_fitter(column: int) -> CurveFitter:
    """Fits a rising curve over one column."""
    return lambda features, right: _fit_isotonic(features[:, column], right, column)


def fit_typicality(features: Floats, column: int) -> IsotonicCurve:
    """How usual a row's value is: 1 where RARE of these rows have no greater one, less where still fewer have.

    One row more, as Laplace counts, keeps it above 0 for what is less than anything seen.
    """
    values, counts = np.unique(features[:, column], return_counts=True)
    share = (np.cumsum(counts) - counts + 1) / (len(features) + 1) / RARE_SHARE
    knots = slice(0, int(np.searchsorted(share, 1.0)) + 1)
    return IsotonicCurve(
        columns=(column,),
        scores=tuple(values[knots].tolist()),
        probabilities=tuple(np.minimum(share[knots], 1.0).tolist()),
    )


def _fit_logistic(features: Floats, labels: Bools, columns: tuple[int, ...]) -> LogisticCurve:
    own = features[:, list(columns)]
    low, high = np.percentile(own, CLIP_PERCENTILES, axis=0)
    seen = np.clip(own, low, high)
    centre, spread = seen.mean(axis=0), seen.std(axis=0)
    spread[spread < 1e-12] = 1.0
    solution = _minimise_log_loss((seen - centre) / spread, _platt_targets(labels))
    weights = solution[1:] / spread
    return LogisticCurve(
        columns=columns,
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        weights=tuple(weights.tolist()),
        intercept=float(solution[0] - weights @ centre),
    )


def _platt_targets(labels: Bools) -> Floats:
    """Platt's targets: not 0 and 1 but what one more row of each kind would leave of them."""
    n = int(labels.sum())
    return np.where(labels, (n + 1) / (n + 2), 1 / (len(labels) - n + 2))


def _minimise_log_loss(features: Floats, targets: Floats) -> Floats:
    """The intercept and weights of least log loss plus the weights' ridge."""
    from scipy.optimize import minimize  # slow to import, and most who import this file fit nothing

    design = np.column_stack([np.ones(len(features)), features])
    ridge = np.array([0.0, *[RIDGE_PENALTY] * features.shape[1]])

    def loss(weights: Floats) -> tuple[float, Floats]:
        z = design @ weights
        value = np.logaddexp(0, z).sum() - targets @ z + 0.5 * ridge @ weights**2
        gradient = design.T @ (1 / (1 + np.exp(-np.clip(z, -500, 500))) - targets) + ridge * weights
        return float(value), gradient

    return np.asarray(minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B").x)


def _fit_isotonic(scores: Floats, labels: Bools, column: int) -> IsotonicCurve:
    """Rows of one score count together. Probabilities keep away from 0 and 1 by what one more row could change."""
    from scipy.optimize import isotonic_regression

    values, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    share = np.bincount(place, labels) / counts
    fitted = isotonic_regression(share, weights=counts).x
    edge = 1 / (len(scores) + 2)
    turns = np.diff(fitted) != 0
    knots = np.append(turns, True) | np.insert(turns, 0, True)  # the ends of level stretches say it all
    return IsotonicCurve(
        columns=(column,),
        scores=tuple(values[knots].tolist()),
        probabilities=tuple(np.clip(fitted[knots], edge, 1 - edge).tolist()),
    )
