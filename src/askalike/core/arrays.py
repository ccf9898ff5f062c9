"""Arrays by the numbers in them, and the vectors of texts."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of any type of numbers. In the names below, numbers have 64 bits where none is given, as Python's have."""
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Floats16 = NDArray[np.float16]
Docids = Ints
"""The numbers of documents in an archive."""
Scores = Floats
"""The scores of documents; higher is better."""
Metric = Literal["cosine", "dot", "euclidean"]


@dataclass(frozen=True, slots=True)
class VectorPart:
    """One part of the vectors of n texts.

    values: float32 (n, dim), a dense array or a scipy CSR array. metric: the part's score of two texts: their cosine,
    their dot product, or minus their Euclidean distance. weight: the factor of the part's score.
    """

    values: Any
    metric: Metric = "cosine"
    weight: float = 1.0

    @property
    def is_sparse(self) -> bool:
        """Whether the values are a CSR array."""
        return not isinstance(self.values, np.ndarray)

    def __len__(self) -> int:
        return int(self.values.shape[0])


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of n texts, in one or more parts of n rows each; a score is the weighted sum over the parts."""

    parts: tuple[VectorPart, ...]

    def __len__(self) -> int:
        return len(self.parts[0])
