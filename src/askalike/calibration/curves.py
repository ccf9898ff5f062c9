"""Curves from the features of a hit to the probability that it is right: applied here, fitted in `fitting`."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.config import Settings

Floats = NDArray[np.float64]


class LogisticCurve(Settings):
    """The logistic function of a weighted sum of features (Platt 1999, for several features).

    Features beyond what was seen in fitting count as the least or the most that was: nothing is extrapolated.
    """

    kind: Literal["logistic"] = "logistic"
    columns: tuple[int, ...] = Field(description="which columns of the features count")
    low: tuple[float, ...]
    high: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float

    def predict(self, features: Floats) -> Floats:
        """features: (hits, columns). Returns the probabilities, (hits,)."""
        seen = np.clip(features[:, list(self.columns)], self.low, self.high)
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + np.exp(-(self.intercept + seen @ np.array(self.weights)))))


class IsotonicCurve(Settings):
    """A rising curve through knots, straight between them and level beyond them (Zadrozny and Elkan 2002)."""

    kind: Literal["isotonic"] = "isotonic"
    columns: tuple[int, ...] = Field(description="the one column that counts")
    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def predict(self, features: Floats) -> Floats:
        """features: (hits, columns). Returns the probabilities, (hits,)."""
        return np.asarray(np.interp(features[:, self.columns[0]], self.scores, self.probabilities))


class ProductCurve(Settings):
    """Curves that must all agree: the product of their probabilities."""

    kind: Literal["product"] = "product"
    curves: tuple[LogisticCurve | IsotonicCurve, ...]

    def predict(self, features: Floats) -> Floats:
        """features: (hits, columns). Returns the probabilities, (hits,)."""
        return np.asarray(np.prod([curve.predict(features) for curve in self.curves], axis=0))


Curve = LogisticCurve | IsotonicCurve | ProductCurve
