"""A transformer's layers as an ONNX graph that is built from weights: embeddings in, last states out.

Texts of a batch have the same number of tokens, so that there is neither padding nor an attention mask.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from askalike.encoders.onnx.architectures import Affine, Transformer
from askalike.encoders.onnx.weights import BLOCK_SIZE, quantise

EMBEDDED, STATES, BIAS = "embedded", "states", "attention_bias"
CONTRIB = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""
OPSETS = (("", 20), (CONTRIB, 1))
IR_VERSION = 10
INT8_INPUT = 4
"""The accuracy_level under which MatMulNBits rounds its input to 8 bits."""


def build_graph(transformer: Transformer, bits: int) -> bytes:
    """Return the graph for ONNX Runtime, from `embedded` to `states`, both (texts, tokens, hidden).

    bits: 32, or 8 for linear maps with quantised weights and inputs. A transformer with relative positions has a second
    input, `attention_bias` (1, heads, tokens, tokens).
    """
    graph = GraphBuilder(bits)
    bias = BIAS if transformer.has_relative_positions else ""
    states = graph.normalise(EMBEDDED, transformer.embedding_norm, transformer.epsilon)
    for layer in transformer.layers():
        joined = graph.linear(states, layer.attention)
        query, key, value = graph.add_all("Split", [joined], 3, axis=-1, num_outputs=3)
        inputs = [query, key, value, "", "", bias] if bias else [query, key, value]
        attended = graph.add("MultiHeadAttention", inputs, CONTRIB, num_heads=transformer.heads)
        attended = graph.linear(attended, layer.attention_output)
        states = graph.add_and_normalise(states, attended, layer.attention_norm, transformer.epsilon)
        inner = graph.activate(graph.linear(states, layer.intermediate), transformer.activation)
        states = graph.add_and_normalise(
            states, graph.linear(inner, layer.output), layer.output_norm, transformer.epsilon
        )
    return graph.to_bytes(states, [EMBEDDED, *([BIAS] if bias else [])])


class GraphBuilder:
    """Nodes and constants of a graph; each method adds some and returns the name of their output."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def add(self, operator: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        """Add a node with one output."""
        return self.add_all(operator, inputs, 1, domain, **attributes)[0]

    def add_all(
        self, operator: str, inputs: Sequence[str], outputs: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Add a node with a number of outputs."""
        names = [f"n{len(self._nodes)}.{place}" for place in range(outputs)]
        self._nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names

    def constant(self, values: NDArray[Any]) -> str:
        """Add a constant."""
        name = f"c{len(self._constants)}"
        self._constants.append(make_tensor(name, values))
        return name

    def norm(self, norm: Affine) -> list[str]:
        """Add the scales and biases of a normalisation."""
        return [self.constant(norm.weight), self.constant(norm.bias)]

    def normalise(self, values: str, norm: Affine, epsilon: float) -> str:
        """Add layer normalisation."""
        return self.add("LayerNormalization", [values, *self.norm(norm)], epsilon=epsilon)

    def linear(self, values: str, linear: Affine) -> str:
        """Add a linear map."""
        if self._bits == 32:
            product = self.add("MatMul", [values, self.constant(linear.weight.T)])
            return self.add("Add", [product, self.constant(linear.bias)])
        blocks = quantise(linear.weight)
        inputs = [values, self.constant(blocks.numbers), self.constant(blocks.scales.ravel()), "", ""]
        outputs, size = linear.weight.shape
        return self.add(
            "MatMulNBits", [*inputs, self.constant(linear.bias)], CONTRIB,
            K=size, N=outputs, bits=8, block_size=BLOCK_SIZE, accuracy_level=INT8_INPUT,
        )  # fmt: skip

    def activate(self, values: str, activation: str) -> str:
        """Add the activation between a layer's two linear maps."""
        if activation == "relu":
            return self.add("Relu", [values])
        return self.add("Gelu", [values], approximate="tanh" if activation == "gelu_tanh" else "none")

    def add_and_normalise(self, states: str, change: str, norm: Affine, epsilon: float) -> str:
        """Add a residual connection with layer normalisation."""
        return self.add("SkipLayerNormalization", [states, change, *self.norm(norm)], CONTRIB, epsilon=epsilon)

    def to_bytes(self, states: str, inputs: Sequence[str]) -> bytes:
        """Return the whole graph as bytes."""
        self._nodes.append(helper.make_node("Identity", [states], [STATES]))
        described = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in (*inputs, STATES)]
        graph = helper.make_graph(self._nodes, "transformer", described[:-1], described[-1:], self._constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        return bytes(model.SerializeToString())


def make_tensor(name: str, values: NDArray[Any]) -> Any:
    """Return an array as a constant of a graph."""
    kind = helper.np_dtype_to_tensor_dtype(values.dtype)
    return onnx.TensorProto(
        name=name, data_type=kind, dims=values.shape, raw_data=np.ascontiguousarray(values).tobytes()
    )
