"""A transformer's layers as an ONNX graph, run with ONNX Runtime: built from weights, or as an exporter wrote it.

It maps embeddings to the last layer's states. Texts of a batch have the same number of tokens, so that there is neither
padding nor an attention mask. For SPLADE (Formal et al. 2021), a graph follows that computes a weight for each token of
the vocabulary, nearly all of them 0: log(1 + max(0, logit)) of a masked language model, pooled over the positions of
the text. Importing this file without `onnx` and ONNX Runtime raises SettingsError.

An exported graph whose weights have 8 bits already multiplies bytes. Where a processor has no byte products (VNNI),
sums of two products are cut off at 16 bits, and a text has another vector. Such a graph is compared with the same sums
in 32 bits when it is opened, and read in 32 bits where they differ.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askalike.core.arrays import Array, Floats32, Ints
from askalike.core.errors import InputError, SettingsError
from askalike.encoders.transformer.architectures import (
    Affine,
    ModernBert,
    Transformer,
    make_affine,
    open_transformer,
    read_activation,
)
from askalike.encoders.transformer.modules import Step, read_json
from askalike.encoders.transformer.weights import BLOCK_SIZE, Bits, map_tensors, quantise

try:
    import onnx as onnx
    import onnxruntime
except ModuleNotFoundError as missing:
    raise SettingsError(f"{missing.name} is not installed: pip install 'askalike[onnx]'") from None

FATAL = 4
"""Minimum severity of ONNX Runtime's messages on stderr; other problems are raised."""
EMBEDDED, STATES, BIAS = "embedded", "states", "attention_bias"
CONTRIB = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""
OPSETS = (("", 20), (CONTRIB, 1))
IR_VERSION = 10
INT8_INPUT = 4
"""The accuracy_level under which MatMulNBits rounds its input to 8 bits."""

_ROBERTA = ("lm_head.dense", "lm_head.layer_norm", "lm_head")
HEADS: Mapping[str, tuple[str, str, str]] = {
    "bert": ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions"),
    "distilbert": ("vocab_transform", "vocab_layer_norm", "vocab_projector"),
    "modernbert": ("head.dense", "head.norm", "decoder"),
    **dict.fromkeys(("roberta", "xlm-roberta", "camembert", "mpnet"), _ROBERTA),
}
"""model_type → in a masked language model, the names of the linear map, the normalisation, and the map to words."""
ACTIVATION_KEYS = {"bert": "hidden_act", "distilbert": "activation", "modernbert": "classifier_activation"}
POOLINGS = {"max": "ReduceMax", "sum": "ReduceSum"}
LOGARITHMS = {"relu": 1, "log1p_relu": 2}
"""The activation of a SpladePooling → how often log(1 + x) is computed."""
STATE_OUTPUTS = ("last_hidden_state", "token_embeddings")
BYTE_PRODUCT, ROUNDING = "MatMulInteger", "QuantizeLinear"
"""Operators of graphs in 8 bits that can be read in 32 bits: a product of bytes, and a rounding around products."""
FUSED = ("QAttention", "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QLinearMatMul", "QGemm")
"""Operators of one runtime's own, whose 8-bit products cannot be read in 32 bits."""
PROBES = (
    "How do I reset my password?",
    "My bicycle was stolen last night, and the insurance asks for the receipt. What can I do?",
    "Wie storniere ich eine Bestellung, die schon bezahlt ist?",
    "ModuleNotFoundError: No module named 'numpy' after upgrading to 3.12",
)
MIN_COSINE = 0.9995
"""Of the probes' states in 8 bits with those in 32: a text's vector is then the same on every machine."""

log = logging.getLogger(__name__)


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


class GraphLayers:
    """Runs a transformer's layers with ONNX Runtime."""

    def __init__(self, transformer: Transformer | ModernBert, bits: Bits) -> None:
        self._session = open_session(build_graph(transformer, bits))

    def run(self, embedded: Floats32, bias: Floats32 | None) -> Floats32:
        """See LayerRunner.run."""
        inputs = {EMBEDDED: embedded} if bias is None else {EMBEDDED: embedded, BIAS: bias}
        states: Floats32 = self._session.run(None, inputs)[0]
        return states


def build_graph(transformer: Transformer | ModernBert, bits: Bits) -> bytes:
    """Return the graph for ONNX Runtime, from `embedded` to `states`, both (texts, tokens, hidden).

    bits: 32, or 8 for linear maps with quantised weights and inputs. A transformer with relative positions or local
    attention has a second input, `attention_bias` (1, heads or 1, tokens, tokens).
    """
    graph = GraphBuilder(bits)
    if isinstance(transformer, ModernBert):
        return _build_modern_graph(graph, transformer)
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


def _build_modern_graph(graph: "GraphBuilder", model: ModernBert) -> bytes:
    start = graph.constant(np.array([0]))
    waves = [[graph.constant(table) for table in model.waves(local, model.max_tokens)] for local in (False, True)]
    states = graph.normalise(EMBEDDED, model.embedding_norm, model.epsilon)
    layers = list(model.layers())
    for layer in layers:
        norm = layer.attention_norm
        normed = graph.normalise(states, norm, model.epsilon) if norm else states
        joined = graph.linear(normed, layer.attention)
        query, key, value = graph.add_all("Split", [joined], 3, axis=-1, num_outputs=3)
        tables = [start, *waves[layer.is_local]]
        query, key = (graph.add("RotaryEmbedding", [one, *tables], CONTRIB) for one in (query, key))
        inputs = [query, key, value, *(["", "", BIAS] if layer.is_local else [])]
        attended = graph.add("MultiHeadAttention", inputs, CONTRIB, num_heads=model.heads)
        states = graph.add("Add", [states, graph.linear(attended, layer.attention_output)])
        both = graph.linear(graph.normalise(states, layer.norm, model.epsilon), layer.intermediate)
        inner, gate = graph.add_all("Split", [both], 2, axis=-1, num_outputs=2)
        inner = graph.add("Mul", [graph.activate(inner, model.activation), gate])
        states = graph.add("Add", [states, graph.linear(inner, layer.output)])
    states = graph.normalise(states, model.final_norm, model.epsilon)
    return graph.to_bytes(states, [EMBEDDED, *([BIAS] if any(layer.is_local for layer in layers) else [])])


class GraphBuilder:
    """Nodes and constants of a graph; each method adds some and returns the name of their output."""

    def __init__(self, bits: Bits) -> None:
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
        self._nodes.append(onnx.helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names

    def constant(self, values: Array) -> str:
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
        self._nodes.append(onnx.helper.make_node("Identity", [states], [STATES]))
        described = [
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in (*inputs, STATES)
        ]
        graph = onnx.helper.make_graph(self._nodes, "transformer", described[:-1], described[-1:], self._constants)
        opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in OPSETS]
        model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        return bytes(model.SerializeToString())


def make_tensor(name: str, values: Array) -> Any:
    """Return an array as a constant of a graph."""
    kind = onnx.helper.np_dtype_to_tensor_dtype(values.dtype)
    return onnx.TensorProto(
        name=name, data_type=kind, dims=values.shape, raw_data=np.ascontiguousarray(values).tobytes()
    )


def read_splade(transformer: Path, pooling: Path, bits: Bits) -> Step:
    """Return the step from a transformer's last states to the weights of the vocabulary, (texts, vocabulary).

    transformer, pooling: the modules' folders. Raises InputError for a model without such a head.
    """
    path = pooling / "config.json"
    config = read_json(path)
    kind, activation = config.get("pooling_strategy", "max"), config.get("activation_function", "relu")
    for key, value, known in (("pooling_strategy", kind, POOLINGS), ("activation_function", activation, LOGARITHMS)):
        if value not in known:
            raise InputError(f"{path}: {key} = {value!r}; expected one of {', '.join(known)}")
    session = open_session(_build_head(transformer, kind, LOGARITHMS[activation], bits))
    return lambda states: np.concatenate([session.run(None, {EMBEDDED: text[None]})[0] for text in states])


def _build_head(folder: Path, pooling: str, logarithms: int, bits: Bits) -> bytes:
    """Return the graph from the states of a text to its weights."""
    config = read_json(folder / "config.json")
    tensors = map_tensors(folder)
    transformer = open_transformer(config, tensors, folder)
    kind = str(config["model_type"])
    dense, norm, words = HEADS[kind]
    if f"{dense}.weight" not in tensors:
        raise InputError(f"{folder}: the weights have no tensor {dense}.weight; expected a masked language model")
    vectors = _first(tensors, f"{words}.decoder.weight", f"{words}.weight")
    vectors = transformer.word_vectors if vectors is None else vectors
    to_words = make_affine(vectors, _first(tensors, f"{words}.bias", f"{words}.decoder.bias"))
    activation = read_activation(config, ACTIVATION_KEYS.get(kind), folder / "config.json")
    graph = GraphBuilder(bits)
    values = graph.activate(graph.linear(EMBEDDED, _read_affine(tensors, dense)), activation)
    values = graph.normalise(values, _read_affine(tensors, norm), transformer.epsilon)
    values = graph.add("Relu", [graph.linear(values, to_words)])
    axis, one = graph.constant(np.array([1])), graph.constant(np.ones(1, np.float32))
    if pooling == "max":  # before the logarithms, which do not change the order
        values = graph.add(POOLINGS[pooling], [values, axis], keepdims=0)
    for _ in range(logarithms):
        values = graph.add("Log", [graph.add("Add", [values, one])])
    if pooling != "max":
        values = graph.add(POOLINGS[pooling], [values, axis], keepdims=0)
    return graph.to_bytes(values, [EMBEDDED])


def _first(tensors: Mapping[str, Array], *names: str) -> Array | None:
    return next((tensors[name] for name in names if name in tensors), None)


def _read_affine(tensors: Mapping[str, Array], name: str) -> Affine:
    return make_affine(tensors[f"{name}.weight"], tensors.get(f"{name}.bias"))


class ExportedLayers:
    """The graph in the folder. One that is already quantised runs one text at a time, like any other."""

    def __init__(self, path: Path, bits: Bits, tokenize: Callable[[str], Sequence[int]]) -> None:
        """tokenize: returns the ids of a text's tokens. Raises InputError for a graph that cannot be run."""
        self.max_tokens: int | None = None
        kinds = {node.op_type for node in onnx.load(path, load_external_data=False).graph.node}
        if fused := kinds.intersection(FUSED):
            found = ", ".join(sorted(fused))
            problem = f"its 8-bit operators ({found}) differ between processors; expected a graph with 32-bit weights"
            raise InputError(f"{path}: {problem}")
        if BYTE_PRODUCT in kinds or ROUNDING in kinds:
            self._session = _open_in_32_bits(path)
            if bits == 8:
                self._choose_bits(path, [np.array([tokenize(text)], np.int64) for text in PROBES])
        else:
            self._session = open_session(str(path) if bits == 32 else round_weights(path))

    def run(self, ids: Ints) -> Floats32:
        """See Layers.run."""
        return np.concatenate([_run_text(self._session, row[None]) for row in ids])

    def _choose_bits(self, path: Path, probes: Sequence[Ints]) -> None:
        """Run the graph as it is if its results are those in 32 bits."""
        as_stored = open_session(str(path))
        if min(_cosine(_run_text(as_stored, ids), _run_text(self._session, ids)) for ids in probes) >= MIN_COSINE:
            self._session = as_stored
            return
        log.warning("%s: its 8-bit products are inexact on this processor; it is read in 32 bits, more slowly", path)


def _run_text(session: Any, ids: Ints) -> Floats32:
    """Return the states (1, tokens, hidden) of one text."""
    known = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    inputs, outputs = ([described.name for described in ends] for ends in (session.get_inputs(), session.get_outputs()))
    output = next((name for name in STATE_OUTPUTS if name in outputs), outputs[0])
    states: Floats32 = session.run([output], {name: known[name] for name in inputs})[0]
    return states


def _cosine(one: Floats32, other: Floats32) -> float:
    return float((one * other).sum() / np.maximum(np.linalg.norm(one) * np.linalg.norm(other), 1e-12))


def round_weights(path: Path) -> bytes:
    """Return a graph with the weights of its linear maps in 8 bits, as in `build_graph`."""
    model = onnx.load(path)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes = [_round_node(node, constants, model.graph.initializer) for node in model.graph.node]
    used = {name for node in nodes for name in node.input}
    kept = [tensor for tensor in model.graph.initializer if tensor.name in used]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(kept)
    if CONTRIB not in {opset.domain for opset in model.opset_import}:
        model.opset_import.append(onnx.helper.make_opsetid(CONTRIB, 1))
    return bytes(model.SerializeToString())


def _round_node(node: Any, constants: dict[str, Any], added: Any) -> Any:
    """Return a product with constant 32-bit weights as one with quantised weights; any other node unchanged."""
    weights = constants.get(node.input[1]) if node.op_type == "MatMul" else None
    if weights is None or weights.data_type != onnx.TensorProto.FLOAT or len(weights.dims) != 2:
        return node
    size, outputs = weights.dims
    blocks = quantise(onnx.numpy_helper.to_array(weights).T)
    names = [f"{weights.name}.blocks", f"{weights.name}.scales"]
    if names[0] not in constants:
        rounded = make_tensor(names[0], blocks.numbers), make_tensor(names[1], blocks.scales.ravel())
        constants |= zip(names, rounded, strict=True)
        added.extend(rounded)
    return onnx.helper.make_node(
        "MatMulNBits", [node.input[0], *names], list(node.output), name=node.name, domain=CONTRIB,
        K=size, N=outputs, bits=8, block_size=BLOCK_SIZE, accuracy_level=INT8_INPUT,
    )  # fmt: skip


def _open_in_32_bits(path: Path) -> Any:
    """Open a graph in 8 bits with its products computed in 32-bit numbers: exactly, on every processor."""
    model = onnx.load(path)
    nodes = [new for node in model.graph.node for new in _widen_node(node)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return open_session(bytes(model.SerializeToString()), {"session.disable_quant_qdq": "1"})


def _widen_node(node: Any) -> Sequence[Any]:
    """Return a product of bytes as one of 32-bit numbers without their zero points; any other node unchanged."""
    if node.op_type != BYTE_PRODUCT:
        return [node]
    out = node.output[0]
    nodes = []
    factors = []
    for place in (0, 1):
        factor = f"{out}.{place}"
        nodes.append(onnx.helper.make_node("Cast", [node.input[place]], [factor], to=onnx.TensorProto.FLOAT))
        if len(node.input) > place + 2 and node.input[place + 2]:
            names = f"{factor}.zero", f"{factor}.centred"
            nodes.append(onnx.helper.make_node("Cast", [node.input[place + 2]], names[:1], to=onnx.TensorProto.FLOAT))
            nodes.append(onnx.helper.make_node("Sub", [factor, names[0]], names[1:]))
            factor = names[1]
        factors.append(factor)
    return [*nodes, onnx.helper.make_node("MatMul", factors, [out])]
