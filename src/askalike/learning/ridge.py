"""Ridge regression of a teacher's vectors on the n-grams of texts, and the reduction of their dimension."""

from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from askalike.core.arrays import Floats32
from askalike.core.iteration import LogCallback
from askalike.core.values import format_count
from askalike.text.features import RaggedArray

MAX_DENSE_COLUMNS = 2_048
"""Maximum number of columns for which principal directions are computed from the dense Gram matrix of columns."""
CONJUGATE_GRADIENT_STEPS = 12
"""More steps would only overfit the training texts."""
COLUMNS = 64
"""Number of vector components solved at a time, so that memory does not grow with the dimension."""


def fit_ngram_vectors(rows: RaggedArray, targets: Floats32, size: int, penalty: float | Floats32) -> Floats32:
    """Return the ridge regression of targets (texts, dim) on the n-grams of each text: (size, dim).

    Solved by conjugate gradients, preconditioned by the diagonal of the normal equations (Saad 2003, algorithm 9.1), as
    rare n-grams converge much later than frequent ones otherwise. An n-gram in no text gets zeros.
    penalty: one for all n-grams, or one per n-gram, (size,); it keeps the vectors of rare n-grams short.
    """
    penalties = np.broadcast_to(np.asarray(penalty, np.float32), size)
    ones = np.ones(len(rows.values), np.float32)
    vectors = np.zeros((size, targets.shape[1]), np.float32)
    used, columns = np.unique(rows.values, return_inverse=True)
    # copied, as repeated n-grams are summed in place
    ngrams = scipy.sparse.csr_array((ones, columns, rows.starts), (len(targets), len(used)), copy=True)
    transposed = ngrams.T.tocsr()
    penalties = penalties[used].reshape(-1, 1)
    diagonal = np.asarray(ngrams.power(2).sum(0), np.float32).reshape(-1, 1) + penalties
    for start in range(0, targets.shape[1], COLUMNS):
        own = slice(start, start + COLUMNS)
        vectors[used, own] = _solve_block(ngrams, transposed, diagonal, targets[:, own], penalties)
    return vectors


def reduce_dimension(vectors: Floats32 | scipy.sparse.csr_array, max_dim: int, log: LogCallback) -> Floats32:
    """Project onto the directions of highest variance, without centring, which preserves dot products best."""
    values, directions = _find_principal_directions(vectors, min(max_dim, min(vectors.shape) - 1))
    total = np.square(vectors.data if scipy.sparse.issparse(vectors) else vectors).sum()
    share = values.sum() / max(float(total), 1e-12)
    size = len(values)
    numbers = format_count(vectors.shape[1], "number")
    log(f"the teacher's vectors are reduced from {numbers} to {size}, which keeps {share:.1%} of their squares")
    return np.asarray(vectors @ directions, np.float32)


def _find_principal_directions(matrix: Floats32 | scipy.sparse.csr_array, size: int) -> tuple[Floats32, Floats32]:
    """Return the largest eigenvalues of the columns' Gram matrix, (size,), and their eigenvectors, (columns, size)."""
    if matrix.shape[1] <= MAX_DENSE_COLUMNS and not scipy.sparse.issparse(matrix):
        values, vectors = np.linalg.eigh((matrix.T @ matrix).astype(np.float64))
        return values[-size:], vectors[:, -size:].astype(np.float32)
    _, singular, rows = scipy.sparse.linalg.svds(matrix, k=size, random_state=0)
    return np.square(singular), rows.T


def _solve_block(ngrams: Any, transposed: Any, diagonal: Floats32, targets: Floats32, penalties: Floats32) -> Floats32:
    """Solve for some of the target columns, each independently."""
    residual = transposed @ targets
    solution = np.zeros_like(residual)
    direction = residual / diagonal
    product = (residual * direction).sum(0)
    for _ in range(CONJUGATE_GRADIENT_STEPS):
        image = transposed @ (ngrams @ direction) + penalties * direction
        step = product / np.maximum((direction * image).sum(0), 1e-12)
        solution += step * direction
        residual -= step * image
        scaled = residual / diagonal
        previous = product
        product = (residual * scaled).sum(0)
        direction = scaled + product / np.maximum(previous, 1e-12) * direction
    return solution  # type: ignore[no-any-return]
