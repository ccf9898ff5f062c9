"""Divergence from randomness (Amati and van Rijsbergen 2002; Lucene's DFRSimilarity), and its normalisations."""

import math
from typing import Literal

from numpy.typing import ArrayLike
from pydantic import Field

from askalike.core.arrays import Floats
from askalike.core.hits import Collection
from askalike.native.compiled import elementwise, inlined
from askalike.similarities import Similarity

Normalisation = Literal["none", "h1", "h2", "h3", "z"]
NORMALISATIONS = ("none", "h1", "h2", "h3", "z")

C_VALUES = (1.0, 0.25, 0.5, 2.0, 4.0, 8.0)
NORMALISATION_GRIDS = (
    {"normalisation": ("h2",), "c": C_VALUES},
    {"normalisation": ("h1",), "c": C_VALUES},
    {"normalisation": ("h3",), "mu": (800.0, 50.0, 100.0, 200.0, 400.0, 1600.0)},
    {"normalisation": ("z",), "z": (0.3, 0.1, 0.2, 0.4)},
    {"normalisation": ("none",)},
)
"""The values to try when tuning: each normalisation with values of its own parameter."""


def encode_normalisation(normalisation: Normalisation, c: float, mu: float, z: float) -> tuple[int, float]:
    """Return the first two arguments of `normalise_tf`: the normalisation's position, and its own parameter."""
    return NORMALISATIONS.index(normalisation), {"h3": mu, "z": z}.get(normalisation, c)


@inlined()
def normalise_tf(
    normalisation: int, c: float, tf: float, length: float, ttf: float, total: float, average: float
) -> float:
    """Return the frequency that the term would have in a document of average length.

    normalisation: position in NORMALISATIONS. c: its parameter (c of H1 and H2, μ of H3, z of Z).
    """
    if normalisation == 1:
        return tf * c * average / length
    if normalisation == 2:
        return tf * math.log2(1.0 + c * average / length)
    if normalisation == 3:
        return c * (tf + c * (ttf + 1.0) / (total + 1.0)) / (length + c)
    if normalisation == 4:
        return tf * (average / length) ** c
    return tf


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
