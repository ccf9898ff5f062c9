"""The ONNX graph of a folder that contains `onnx/model*.onnx`, for architectures that are not built here."""

from pathlib import Path
from typing import Any

import onnx
from onnx import helper, numpy_helper

from askalike.encoders.onnx.blocks import BLOCK_SIZE, quantise
from askalike.encoders.onnx.graph import CONTRIB, INT8_INPUT, make_tensor

EXPORTED_FILES = ("onnx/model.onnx", "onnx/model*.onnx", "model.onnx")


def find_exported(folder: Path) -> Path | None:
    """Return the folder's graph: the one in 32 bits if there are several; None if there is none."""
    files = (path for pattern in EXPORTED_FILES for path in sorted(folder.glob(pattern)))
    return next(files, None)


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
        model.opset_import.append(helper.make_opsetid(CONTRIB, 1))
    return bytes(model.SerializeToString())


def _round_node(node: Any, constants: dict[str, Any], added: Any) -> Any:
    """Return a product with constant 32-bit weights as one with quantised weights; any other node unchanged."""
    weights = constants.get(node.input[1]) if node.op_type == "MatMul" else None
    if weights is None or weights.data_type != onnx.TensorProto.FLOAT or len(weights.dims) != 2:
        return node
    size, outputs = weights.dims
    blocks = quantise(numpy_helper.to_array(weights).T)
    names = [f"{weights.name}.blocks", f"{weights.name}.scales"]
    if names[0] not in constants:
        rounded = make_tensor(names[0], blocks.numbers), make_tensor(names[1], blocks.scales.ravel())
        constants |= zip(names, rounded, strict=True)
        added.extend(rounded)
    return helper.make_node(
        "MatMulNBits", [node.input[0], *names], list(node.output), name=node.name, domain=CONTRIB,
        K=size, N=outputs, bits=8, block_size=BLOCK_SIZE, accuracy_level=INT8_INPUT,
    )  # fmt: skip
