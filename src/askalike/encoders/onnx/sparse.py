"""Vectors with a weight for each token of the vocabulary, nearly all of them 0 (SPLADE, Formal et al. 2021).

The weights come from a masked language model: for each token of the vocabulary, log(1 + max(0, logit)), pooled over the
positions of the text.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from askalike.core.errors import InputError
from askalike.encoders.onnx.architectures import Affine, make_affine, read_activation
from askalike.encoders.onnx.graph import EMBEDDED, GraphBuilder
from askalike.encoders.onnx.layers import open_transformer
from askalike.encoders.onnx.modules import Step, read_json
from askalike.encoders.onnx.runtime import open_session
from askalike.encoders.onnx.weights import Bits, Tensor, map_tensors

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
    config, tensors = read_json(folder / "config.json"), map_tensors(folder)
    transformer, kind = open_transformer(config, tensors, folder), str(config["model_type"])
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


def _first(tensors: Mapping[str, Tensor], *names: str) -> Tensor | None:
    return next((tensors[name] for name in names if name in tensors), None)


def _read_affine(tensors: Mapping[str, Tensor], name: str) -> Affine:
    return make_affine(tensors[f"{name}.weight"], tensors.get(f"{name}.bias"))
