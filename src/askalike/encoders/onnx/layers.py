"""Runs a transformer's layers: as compiled code if the processor has byte products, else with ONNX Runtime."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from askalike.core.errors import InputError
from askalike.encoders.onnx.architectures import MODERN_BERT, Transformer
from askalike.encoders.onnx.compiled_layers import CompiledLayers, fits
from askalike.encoders.onnx.compiled_modern_bert import CompiledModernBert
from askalike.encoders.onnx.graph import BIAS, EMBEDDED, build_graph
from askalike.encoders.onnx.modern_bert import ModernBert
from askalike.encoders.onnx.weights import Tensor

FATAL = 4
"""Minimum severity of ONNX Runtime's messages on stderr; other problems are raised."""

Array = NDArray[np.float32]
Bits = Literal[8, 32]


class LayerRunner(Protocol):
    """Computes the last layer's states from the embeddings of texts of equal length."""

    def run(self, embedded: Array, bias: Array | None) -> Array:
        """Return states (texts, tokens, hidden) from embeddings of that shape. bias: for relative positions, if any."""


class GraphLayers:
    """Runs a transformer's layers with ONNX Runtime."""

    def __init__(self, transformer: Transformer | ModernBert, bits: Bits) -> None:
        own = transformer.build_graph(bits) if isinstance(transformer, ModernBert) else build_graph(transformer, bits)
        self._session = open_session(own)

    def run(self, embedded: Array, bias: Array | None) -> Array:
        """See LayerRunner.run."""
        inputs = {EMBEDDED: embedded} if bias is None else {EMBEDDED: embedded, BIAS: bias}
        states: Array = self._session.run(None, inputs)[0]
        return states


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
    """Return the fastest runner of a transformer's layers on this machine; bits as in `build_graph`."""
    if bits == 32 or not fits(transformer):
        return GraphLayers(transformer, bits)
    return CompiledModernBert(transformer) if isinstance(transformer, ModernBert) else CompiledLayers(transformer)


def open_session(graph: bytes | str, entries: Mapping[str, str] | None = None) -> Any:
    """Open a graph, or its file, for one thread. Raises InputError if ONNX Runtime cannot run it.

    entries: the session's configuration.
    """
    options = onnxruntime.SessionOptions()
    for name, value in (entries or {}).items():
        options.add_session_config_entry(name, value)
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises nothing more specific
        problem = " ".join(str(error).split())
        raise InputError(f"ONNX Runtime cannot run this model ({problem}); try --set precision=32") from None
