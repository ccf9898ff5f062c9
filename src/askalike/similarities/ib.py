"""Information-based models (Clinchant and Gaussier 2010; Lucene's IBSimilarity)."""

import math
from typing import Literal

from numpy.typing import ArrayLike
from pydantic import Field

from askalike.core.arrays import Floats
from askalike.core.hits import Collection
from askalike.native.compiled import elementwise
from askalike.similarities import Similarity
from askalike.similarities.dfr import NORMALISATION_GRIDS, Normalisation, encode_normalisation, normalise_tf

BELOW_ONE = 1.0 - 2.0**-24  # the largest 32-bit float below 1, which Lucene uses if λ would be 1


@elementwise
def ib(
    tf: float, length: float, df: float, ttf: float, documents: float, total: float,
    spl: float, by_ttf: float, normalisation: float, c: float,
) -> float:  # fmt: skip
    """Return −ln of the probability of a frequency at least as high: log-logistic, or smoothed power law."""
    lam = ((ttf if by_ttf else df) + 1.0) / (documents + 1.0)
    if lam == 1.0:
        lam = BELOW_ONE
    tfn = normalise_tf(int(normalisation), c, tf, length, ttf, total, total / documents)
    if spl:
        return -math.log((lam ** (tfn / (tfn + 1.0)) - lam) / (1.0 - lam))
    return -math.log(lam / (tfn + lam))


class IbSimilarity(Similarity):
    """Information-based model: a distribution, the statistic that its λ comes from, a normalisation."""

    GRIDS = tuple({"distribution": ("ll", "spl"), "lambda": ("df", "ttf"), **grid} for grid in NORMALISATION_GRIDS)

    distribution: Literal["ll", "spl"] = Field("ll", description="log-logistic, or smoothed power law")
    lam: Literal["df", "ttf"] = Field("df", alias="lambda", description="λ from document or total frequency")
    normalisation: Normalisation = Field("h2", description="term frequency normalisation")
    c: float = Field(1.0, gt=0, description="parameter of h1 and h2")
    mu: float = Field(800.0, gt=0, description="parameter of h3")
    z: float = Field(0.3, gt=0, lt=0.5, description="parameter of z")

    def score(self, tf: ArrayLike, length: ArrayLike, df: ArrayLike, ttf: ArrayLike, collection: Collection) -> Floats:
        normalisation = encode_normalisation(self.normalisation, self.c, self.mu, self.z)
        variant = self.distribution == "spl", self.lam == "ttf", *normalisation
        return ib(tf, length, df, ttf, collection.documents, collection.total, *variant)
