"""Language model with Jelinek-Mercer smoothing (Zhai and Lafferty 2001; Lucene's LMJelinekMercerSimilarity)."""

import math

from numpy.typing import ArrayLike
from pydantic import Field

from askalike.core.arrays import Floats
from askalike.core.hits import Collection
from askalike.native.compiled import elementwise
from askalike.similarities import Similarity


@elementwise
def lm_jelinek_mercer(tf: float, length: float, ttf: float, total: float, lam: float) -> float:
    """ln(1 + ((1−λ)·tf/L) / (λp)), p = (F+1)/(T+1)."""
    p = (ttf + 1.0) / (total + 1.0)
    return math.log(1.0 + ((1.0 - lam) * tf / length) / (lam * p))


class LmJelinekMercerSimilarity(Similarity):
    """Language model with Jelinek-Mercer smoothing."""

    GRIDS = ({"lambda": (0.7, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.9)},)

    lam: float = Field(0.7, gt=0, lt=1, alias="lambda", description="weight of the collection's model")

    def score(self, tf: ArrayLike, length: ArrayLike, df: ArrayLike, ttf: ArrayLike, collection: Collection) -> Floats:
        return lm_jelinek_mercer(tf, length, ttf, collection.total, self.lam)
