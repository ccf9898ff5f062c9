"""The ONNX graph in a folder, as an exporter wrote it.

A graph whose weights have 8 bits already multiplies bytes. Where a processor has no byte products (VNNI), sums of two
products are cut off at 16 bits, and a text has another vector. Such a graph is compared with the same sums in 32 bits
when it is opened, and read in 32 bits where they differ.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askalike.core.arrays import Floats32, Ints
from askalike.core.errors import InputError
from askalike.encoders.transformer.graph import CONTRIB, INT8_INPUT, make_tensor, onnx, open_session
from askalike.encoders.transformer.weights import BLOCK_SIZE, Bits, quantise

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
