"""BM25 (Robertson and Zaragoza 2009) as Lucene computes it since version 8: without the constant factor k1 + 1."""

import math

from numpy.typing import ArrayLike
from pydantic import Field

from askalike.core.arrays import Floats
from askalike.core.hits import Collection
from askalike.native.compiled import elementwise
from askalike.similarities import Similarity


@elementwise
def bm25(tf: float, length: float, df: float, documents: float, average: float, k1: float, b: float) -> float:
    """ln(1 + (N−n+½)/(n+½)) · tf / (tf + k1·(1−b+b·L/avg))."""
    idf = math.log(1.0 + (documents - df + 0.5) / (df + 0.5))
    return idf * tf / (tf + k1 * (1.0 - b + b * length / average))


class Bm25Similarity(Similarity):
    """BM25 with Lucene's defaults; other systems use other values (Anserini 0.9/0.4, bm25s 1.5/0.75)."""

    GRIDS = ({"k1": (1.2, 0.3, 0.6, 0.9, 1.5, 2.0), "b": (0.75, 0.0, 0.15, 0.3, 0.45, 0.6, 0.9)},)

    k1: float = Field(1.2, ge=0, description="how slowly repeated words saturate")
    b: float = Field(0.75, ge=0, le=1, description="how much long texts are discounted")

    def score(self, tf: ArrayLike, length: ArrayLike, df: ArrayLike, ttf: ArrayLike, collection: Collection) -> Floats:
        return bm25(tf, length, df, collection.documents, collection.average, self.k1, self.b)
