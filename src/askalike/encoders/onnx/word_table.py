"""Modules that look tokens up in a table: their vectors, whose mean is a text's (model2vec), or their weights."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import InputError
from askalike.encoders.onnx.modules import read_json
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


class TokenWeights:
    """Reads texts by a table with a weight for each token of the vocabulary (SparseStaticEmbedding)."""

    max_tokens: int | None = None

    def __init__(self, folder: Path, model: Path) -> None:
        """folder: the module's. model: the whole model's, which may have the table as idf.json, by tokens."""
        named = str(read_json(folder / "config.json").get("path") or "")
        if named.endswith(".json"):
            self._weights = _read_table(folder, model)
            return
        tensors = map_tensors(folder)
        if "weight" not in tensors:
            raise InputError(f"{folder}: the weights have no tensor weight; expected a weight for each token")
        self._weights = to_float32(tensors["weight"])

    def run(self, ids: NDArray[np.int64]) -> Array:
        """Return the weights of the tokens of texts, (texts, vocabulary), from ids (texts, tokens)."""
        vectors = np.zeros((len(ids), len(self._weights)), np.float32)
        np.put_along_axis(vectors, ids, self._weights[ids], 1)
        return vectors


def _read_table(folder: Path, model: Path) -> Array:
    """Return the weight of each token from a file of weights by token."""
    path = next((p for p in (folder / "idf.json", model / "idf.json") if p.exists()), folder / "idf.json")
    by_token = read_json(path)
    ids = read_json(folder / "tokenizer.json").get("model", {}).get("vocab", {})
    weights = np.zeros(max(ids.values(), default=0) + 1, np.float32)
    for token, weight in by_token.items():
        if token in ids:
            weights[ids[token]] = weight
    return weights
