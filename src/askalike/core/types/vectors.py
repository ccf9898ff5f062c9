"""Vectors of texts, in parts that are compared each in its own way."""

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

RESERVED: Final = 2
"""Token ids below this are reserved: 0 for padding, 1 for the unknown word."""

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

    def select(self, row: int) -> "Vectors":
        """Return the vectors of one text."""
        return Vectors(tuple(replace(part, values=part.values[row : row + 1]) for part in self.parts))
