"""Runs a transformer's layers: as compiled code in 8 bits, with ONNX Runtime in 32 or if their sizes do not fit."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from askalike.encoders.onnx.architectures import MODERN_BERT, Transformer
from askalike.encoders.onnx.compiled_layers import CompiledLayers, fits
from askalike.encoders.onnx.compiled_modern_bert import CompiledModernBert
from askalike.encoders.onnx.modern_bert import ModernBert
from askalike.encoders.onnx.weights import Bits, Tensor

Array = NDArray[np.float32]


class LayerRunner(Protocol):
    """Computes the last layer's states from the embeddings of texts of equal length."""

    def run(self, embedded: Array, bias: Array | None) -> Array:
        """Return states (texts, tokens, hidden) from embeddings of that shape. bias: for relative positions, if any."""


class BuiltLayers:
    """Runs a transformer from token ids."""

    def __init__(self, transformer: Transformer | ModernBert, bits: Bits) -> None:
        self.max_tokens: int | None = transformer.max_tokens
        self._transformer = transformer
        self._runner = open_runner(transformer, bits)

    def run(self, ids: NDArray[np.int64], types: NDArray[np.int64] | None = None) -> Array:
        """Return the states (texts, tokens, hidden) of ids (texts, tokens). types: see Transformer.embed."""
        transformer = self._transformer
        return self._runner.run(transformer.embed(ids, types), transformer.attention_bias(ids.shape[1]))


def open_transformer(
    config: Mapping[str, Any], tensors: Mapping[str, Tensor], folder: Path
) -> Transformer | ModernBert:
    """Return a transformer of its architecture. config: the content of config.json. Raises InputError."""
    kind = ModernBert if config.get("model_type") == MODERN_BERT else Transformer
    return kind(config, tensors, folder)


def open_runner(transformer: Transformer | ModernBert, bits: Bits) -> LayerRunner:
    """Return the fastest runner of a transformer's layers. Raises SettingsError if it needs the extra `onnx`."""
    if bits == 32 or not fits(transformer):
        from askalike.encoders.onnx.graph import GraphLayers

        return GraphLayers(transformer, bits)
    return CompiledModernBert(transformer) if isinstance(transformer, ModernBert) else CompiledLayers(transformer)
