"""Where a teacher's pupil begins: vectors of pieces whose sums come as near to the teacher's as sums can."""

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from askalike.text.features._ragged import RaggedArray

RIDGE_PENALTY = 3.0
"""What a piece's squared length costs: a piece that few texts have stays short."""
STEPS = 10
"""Of conjugate gradients; more of them fit the texts at hand and nothing else."""

Array = NDArray[np.float32]


def fit_piece_vectors(rows: RaggedArray, targets: Array, size: int, known_vectors: Array | None = None) -> Array:
    """The ridge regression of targets (texts, dim) on the pieces of each text: (size, dim), 0 for pieces in no text.

    known: vectors of some pieces (size, any dim), rows of NaN for the others. They are first turned towards the targets
    by one linear map, so that pieces in no text begin where their likes do.
    """
    pieces = scipy.sparse.csr_array(
        (np.ones(len(rows.values), np.float32), rows.values, rows.starts), (len(targets), size)
    )
    if known_vectors is None:
        return _solve_ridge(pieces, targets)
    filled = np.where(np.isfinite(known_vectors), known_vectors, 0).astype(np.float32)
    sums = pieces @ filled
    turned = np.linalg.solve(sums.T @ sums + RIDGE_PENALTY * np.eye(filled.shape[1]), sums.T @ targets)
    first = (filled @ turned).astype(np.float32)
    return first + _solve_ridge(pieces, targets - pieces @ first)


def _solve_ridge(pieces: Any, targets: Array) -> Array:
    """Conjugate gradients on the normal equations, each column of the targets by itself."""
    missing = pieces.T @ targets
    found, move = np.zeros_like(missing), missing.copy()
    left = np.square(missing).sum(0)
    for _ in range(STEPS):
        image = pieces.T @ (pieces @ move) + RIDGE_PENALTY * move
        far = left / np.maximum((move * image).sum(0), 1e-12)
        found += far * move
        missing -= far * image
        before, left = left, np.square(missing).sum(0)
        move = missing + left / np.maximum(before, 1e-12) * move
    return found  # type: ignore[no-any-return]
