"""Vectors of tokens without a transformer (model2vec, or StaticEmbedding in a folder); a text is their mean."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import InputError
from askalike.encoders.onnx.weights import map_tensors, to_float32

Array = NDArray[np.float32]


class WordTable:
    """Reads texts by a table of vectors; model2vec may share rows among tokens, and weigh tokens."""

    max_tokens: int | None = None

    def __init__(self, folder: Path, model: Path) -> None:
        """folder: the module's. model: the whole model's. Raises InputError for weights without a table."""
        tensors = map_tensors(folder)
        vectors = tensors.get("embedding.weight", tensors.get("embeddings"))
        if vectors is None:
            raise InputError(f"{folder}: the weights have no tensor embedding.weight or embeddings")
        self._vectors, self._rows, self._weights = vectors, tensors.get("mapping"), tensors.get("weights")

    def run(self, ids: NDArray[np.int64]) -> Array:
        """Return the vectors (texts, tokens, dim) of ids (texts, tokens)."""
        vectors = to_float32(self._vectors[ids if self._rows is None else self._rows[ids]])
        return vectors if self._weights is None else vectors * to_float32(self._weights[ids])[..., None]
