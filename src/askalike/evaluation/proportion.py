"""A proportion with its 95 % confidence interval (Wilson 1927)."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

NORMAL_QUANTILE_975 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""


@dataclass(frozen=True, slots=True)
class BinomialProportion:
    """`count` successes in `n` trials."""

    count: int
    n: int

    @property
    def value(self) -> float:
        """The proportion; 0 if there are no trials."""
        return self.count / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of the 95 % Wilson interval."""
        return wilson_interval(self.count, self.n)

    def as_dict(self) -> Mapping[str, Any]:
        """Return the proportion with its interval and counts, for JSON."""
        return {"value": self.value, "interval": self.interval, "count": self.count, "n": self.n}


def wilson_interval(count: int, n: int) -> tuple[float, float]:
    """Return the bounds of the 95 % Wilson interval of count / n; (0, 1) if n is 0."""
    if not n:
        return 0.0, 1.0
    share, z2 = count / n, NORMAL_QUANTILE_975**2
    centre = (2 * n * share + z2) / (2 * (n + z2))
    margin = NORMAL_QUANTILE_975 * sqrt(4 * n * share * (1 - share) + z2) / (2 * (n + z2))
    return (centre - margin if count else 0.0), (centre + margin if count < n else 1.0)
