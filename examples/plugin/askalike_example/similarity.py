"""A term-weighting formula: how rare a word is counts, and not how often a document has it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

import askalike


class BinarySimilarity(askalike.Similarity):
    """The inverse document frequency of each word that a document shares with the query."""

    smoothing: float = Field(0.5, gt=0, description="added to both counts before they are divided")

    def score(
        self, tf: ArrayLike, length: ArrayLike, df: ArrayLike, ttf: ArrayLike, collection: askalike.Collection
    ) -> NDArray[np.float64]:
        """ln(1 + (N − n + s) / (n + s)) for a word that n of N documents have; 0 for a document without it."""
        n = np.asarray(df, np.float64)
        idf = np.log1p((collection.documents - n + self.smoothing) / (n + self.smoothing))
        present, idf, _ = np.broadcast_arrays(np.asarray(tf) > 0, idf, length)
        return np.where(present, idf, 0.0)
