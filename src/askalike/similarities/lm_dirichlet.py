"""Language model with Dirichlet smoothing (Zhai and Lafferty 2001; Lucene's LMDirichletSimilarity)."""

import math

from numpy.typing import ArrayLike
from pydantic import Field

from askalike.core.arrays import Floats
from askalike.core.hits import Collection
from askalike.native.compiled import elementwise
from askalike.similarities import Similarity


@elementwise
def lm_dirichlet(tf: float, length: float, ttf: float, total: float, mu: float) -> float:
    """max(0, ln(1 + tf/(μp)) + ln(μ/(L+μ))), p = (F+1)/(T+1)."""
    p = (ttf + 1.0) / (total + 1.0)
    return max(0.0, math.log(1.0 + tf / (mu * p)) + math.log(mu / (length + mu)))


class LmDirichletSimilarity(Similarity):
    """Language model with Dirichlet smoothing. A small μ suits short texts."""

    GRIDS = ({"mu": (2000.0, 25.0, 50.0, 100.0, 200.0, 300.0, 500.0, 1000.0, 1500.0, 2500.0)},)

    mu: float = Field(2000.0, gt=0, description="weight of the collection's model, in words")

    def score(self, tf: ArrayLike, length: ArrayLike, df: ArrayLike, ttf: ArrayLike, collection: Collection) -> Floats:
        return lm_dirichlet(tf, length, ttf, collection.total, self.mu)
