"""Divergence from randomness (Amati and van Rijsbergen 2002; Lucene's DFRSimilarity)."""

import math
from typing import Literal

from numpy.typing import ArrayLike
from pydantic import Field

from askalike.core.arrays import Floats
from askalike.core.hits import Collection
from askalike.native.compiled import elementwise, inlined
from askalike.similarities import Similarity
from askalike.similarities._normalisation import NORMALISATION_GRIDS, Normalisation, encode_normalisation, normalise_tf

BASIC_MODELS = ("g", "in", "if", "ine")


@inlined()
def information_content(model: int, df: float, ttf: float, documents: float) -> float:
    """Return the information of one occurrence under the models In, IF and Ine, in bits."""
    if model == 1:
        return math.log2((documents + 1.0) / (df + 0.5))
    if model == 2:
        return math.log2(1.0 + (documents + 1.0) / (ttf + 0.5))
    expected = documents * (1.0 - ((documents - 1.0) / documents) ** ttf)
    return math.log2((documents + 1.0) / (expected + 0.5))


@elementwise
def dfr(
    tf: float, length: float, df: float, ttf: float, documents: float, total: float,
    model: float, bernoulli: float, normalisation: float, c: float,
) -> float:  # fmt: skip
    """Return the information of the normalised frequency times its after-effect, in Lucene 9's algebra."""
    tfn = normalise_tf(int(normalisation), c, tf, length, ttf, total, total / documents)
    effect = (ttf + 2.0) / (df + 1.0) if bernoulli else 1.0
    if model == 0.0:
        lam = (ttf + 1.0) / (documents + ttf + 1.0)
        b, g = math.log2(lam + 1.0), math.log2((1.0 + lam) / lam)
        return effect * (g - (g - b) / (1.0 + tfn))
    return information_content(int(model), df, ttf, documents) * effect * (1.0 - 1.0 / (1.0 + tfn))


class DfrSimilarity(Similarity):
    """Divergence from randomness: a basic model, an after-effect, a normalisation."""

    GRIDS = tuple({"basic_model": BASIC_MODELS, "after_effect": ("l", "b"), **grid} for grid in NORMALISATION_GRIDS)

    basic_model: Literal["g", "in", "if", "ine"] = Field("g", description="geometric, or inverse df, ttf, expected df")
    after_effect: Literal["b", "l"] = Field("l", description="Bernoulli, or Laplace")
    normalisation: Normalisation = Field("h2", description="term frequency normalisation")
    c: float = Field(1.0, gt=0, description="parameter of h1 and h2")
    mu: float = Field(800.0, gt=0, description="parameter of h3")
    z: float = Field(0.3, gt=0, lt=0.5, description="parameter of z")

    def score(self, tf: ArrayLike, length: ArrayLike, df: ArrayLike, ttf: ArrayLike, collection: Collection) -> Floats:
        normalisation = encode_normalisation(self.normalisation, self.c, self.mu, self.z)
        variant = BASIC_MODELS.index(self.basic_model), self.after_effect == "b", *normalisation
        return dfr(tf, length, df, ttf, collection.documents, collection.total, *variant)
