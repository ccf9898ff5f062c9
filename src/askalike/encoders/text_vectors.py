"""Encodes plain strings to one array with any encoder, for notebooks, and for users without an archive."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askalike import encoders
from askalike.core.errors import InputError, SettingsError
from askalike.core.types import Question, VectorPart, Vectors
from askalike.encoders import Encoder, Role

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def encode_texts(
    texts: Sequence[str],
    encoder: str | Path | Encoder = "static",
    role: Role = "document",
    settings: Mapping[str, Any] | None = None,
) -> NDArray[np.float32]:
    """Return the vectors of n texts, float32 (n, dim), whose dot products are the encoder's scores.

    encoder: a registered name, the folder of a trained model (`DIR/models/NAME`), or an Encoder. role: some encoders
    encode queries and documents differently. A text without words gets zeros. Raises SettingsError for an encoder that
    is unknown or whose vectors are compared by Euclidean distance, InputError for values that are not text.
    """
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise InputError("encode_texts: expected a list of strings, as in encode_texts(['how do I reset my password'])")
    if not isinstance(encoder, str | Path):
        found = encoder
    elif Path(encoder).is_dir():
        found = encoders.open_encoder(Path(encoder), settings)
    else:
        found = encoders.build(str(encoder), settings)
    joined = concatenate_parts(found.encode([Question(str(n), text) for n, text in enumerate(texts)], role))
    return joined if isinstance(joined, np.ndarray) else np.asarray(joined.toarray(), np.float32)


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
