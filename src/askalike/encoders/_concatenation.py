"""The vectors of several parts as one array."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import SettingsError
from askalike.core.types import VectorPart, Vectors

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def concatenate_parts(vectors: Vectors) -> "NDArray[np.float32] | csr_array":
    """Concatenate all parts into one, whose dot products are the scores. Raises SettingsError for Euclidean parts."""
    parts = [_scale_part(part) for part in vectors.parts]
    if any(part.is_sparse for part in vectors.parts):
        from scipy.sparse import hstack  # slow to import

        return hstack(parts, format="csr")
    return np.concatenate(parts, 1)


def _scale_part(part: VectorPart) -> "NDArray[np.float32] | csr_array":
    if part.metric == "euclidean" or part.weight < 0:
        raise SettingsError("expected vectors compared by cosine or dot product, with weights above 0")
    values = part.values
    if part.metric == "cosine":
        squares = values.multiply(values) if part.is_sparse else values * values
        lengths = np.sqrt(np.asarray(squares.sum(1), np.float32)).reshape(-1, 1)
        inverse = np.where(lengths > 0, 1 / np.maximum(lengths, 1e-12), 0).astype(np.float32)
        values = values.multiply(inverse).tocsr() if part.is_sparse else values * inverse
    return values * np.float32(np.sqrt(part.weight))
