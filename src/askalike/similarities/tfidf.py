"""TF-IDF as in Lucene's ClassicSimilarity since version 7 (the idf counts once, no coordination factor)."""

import math

from numpy.typing import ArrayLike
from pydantic import Field

from askalike.core.arrays import Floats
from askalike.core.hits import Collection
from askalike.native.compiled import elementwise
from askalike.similarities import Similarity


@elementwise
def tfidf(tf: float, length: float, df: float, documents: float, idf_power: float) -> float:
    """√tf · idf^power / √length, idf = ln((N+1)/(n+1)) + 1."""
    idf = math.log((documents + 1.0) / (df + 1.0)) + 1.0
    return math.sqrt(tf) * idf**idf_power / math.sqrt(length)


class TfidfSimilarity(Similarity):
    """TF-IDF with Lucene's length normalisation."""

    GRIDS = ({"idf_power": (1.0, 0.5, 1.5, 2.0, 3.0)},)

    idf_power: float = Field(1.0, ge=0, description="exponent of the idf; Lucene 4 and before counted it twice (2)")

    def score(self, tf: ArrayLike, length: ArrayLike, df: ArrayLike, ttf: ArrayLike, collection: Collection) -> Floats:
        return tfidf(tf, length, df, collection.documents, self.idf_power)
