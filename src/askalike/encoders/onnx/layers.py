"""Runs a transformer's layers: as compiled code if the processor has byte products, else with ONNX Runtime."""

from typing import Any, Literal, Protocol

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from askalike.core.errors import InputError
from askalike.encoders.onnx.architectures import Transformer
from askalike.encoders.onnx.compiled_layers import CompiledLayers, fits
from askalike.encoders.onnx.graph import BIAS, EMBEDDED, build_graph

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

    def __init__(self, transformer: Transformer, bits: Bits) -> None:
        self._session = open_session(build_graph(transformer, bits))

    def run(self, embedded: Array, bias: Array | None) -> Array:
        """See LayerRunner.run."""
        inputs = {EMBEDDED: embedded} if bias is None else {EMBEDDED: embedded, BIAS: bias}
        states: Array = self._session.run(None, inputs)[0]
        return states


class BuiltLayers:
    """Runs a transformer from token ids."""

    def __init__(self, transformer: Transformer, bits: Bits) -> None:
        self.max_tokens: int | None = transformer.max_tokens
        self._transformer = transformer
        self._runner = open_runner(transformer, bits)

    def run(self, ids: NDArray[np.int64], types: NDArray[np.int64] | None = None) -> Array:
        """Return the states (texts, tokens, hidden) of ids (texts, tokens). types: see Transformer.embed."""
        transformer = self._transformer
        bias = transformer.relative_bias(ids.shape[1]) if transformer.has_relative_positions else None
        return self._runner.run(transformer.embed(ids, types), bias)


def open_runner(transformer: Transformer, bits: Bits) -> LayerRunner:
    """Return the fastest runner of a transformer's layers on this machine; bits as in `build_graph`."""
    return CompiledLayers(transformer) if bits == 8 and fits(transformer) else GraphLayers(transformer, bits)


def open_session(graph: bytes | str) -> Any:
    """Open a graph, or its file, for one thread. Raises InputError if ONNX Runtime cannot run it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises nothing more specific
        problem = " ".join(str(error).split())
        raise InputError(f"ONNX Runtime cannot run this model ({problem}); try --set precision=32") from None
