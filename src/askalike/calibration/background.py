"""The similarity of a query to everyday questions that have nothing to do with the archive, by the ranker's encoder.

With an encoder, short or vague texts, and all texts in some languages, are similar to many others. The similarity of a
query to everyday questions shows what its score would be with nothing in common.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from askalike.calibration.curves import Bools
from askalike.core.types import Floats
from askalike.encoders import concatenate_parts
from askalike.rankers import Retrieved

NEAREST = 3
"""Number of nearest everyday questions with which a query is compared."""


class BackgroundSimilarity:
    """Everyday questions as vectors, (questions, dim); no rows for a ranker without an encoder."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self.vectors = vectors

    @classmethod
    def from_queries(cls, retrieved: Retrieved) -> "BackgroundSimilarity":
        """Return the everyday questions that were the queries of a search."""
        return cls(_read_vectors(retrieved))

    def select(self, mask: Bools) -> "BackgroundSimilarity":
        """Return some of the questions."""
        return BackgroundSimilarity(self.vectors[mask] if len(self.vectors) else self.vectors)

    def measure(self, retrieved: Retrieved) -> Floats:
        """Return the mean similarity of each query to the everyday questions nearest to it; 0 without an encoder."""
        vectors = _read_vectors(retrieved)
        if not len(self.vectors) or not len(vectors):
            return np.zeros(len(retrieved.queries))
        return _mean_of_nearest(vectors @ self.vectors.T)

    def measure_across_topics(self, topics: Sequence[str]) -> Floats:
        """Return the same for the everyday questions themselves, each compared with those on other topics."""
        if not len(self.vectors):
            return np.zeros(len(topics))
        names = np.array(topics)
        return _mean_of_nearest(np.where(names[:, None] == names, 0, self.vectors @ self.vectors.T))


def _read_vectors(retrieved: Retrieved) -> NDArray[np.float32]:
    """Return the queries' vectors, whose dot products are similarities; no rows if the ranker has no such vectors."""
    vectors = retrieved.vectors
    if vectors is None or any(part.is_sparse or part.metric != "cosine" for part in vectors.parts):
        return np.empty((0, 0), np.float32)
    return np.asarray(concatenate_parts(vectors), np.float32)


def _mean_of_nearest(similarities: NDArray[np.float32]) -> Floats:
    nearest = min(NEAREST, similarities.shape[1])
    return np.asarray(np.partition(similarities, -nearest, axis=1)[:, -nearest:].mean(1), np.float64)
