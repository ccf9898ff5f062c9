"""Term-frequency normalisations of the IB and DFR families (Amati and van Rijsbergen 2002; Lucene's Normalization*)."""

import math
from typing import Literal

from askalike.native.compiled import inlined

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
