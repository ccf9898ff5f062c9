"""The modules of a sentence-transformers folder: which read a query or a document, and what follows the transformer.

A Router has a chain of modules for each role; `router_config.json` describes them.
"""

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from askalike.core.arrays import Floats32
from askalike.core.errors import InputError
from askalike.core.model_folders import MODULES_FILE
from askalike.encoders.transformer.weights import map_tensors, to_float32

Step = Callable[[Floats32], Floats32]
"""Maps (texts, tokens, hidden) to (texts, dim), or (texts, dim) to (texts, dim)."""

LEGACY_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Key in older folders → the pooling mode that it enables."""
POOLINGS: Mapping[str, Step] = {
    "cls": lambda states: states[:, 0],
    "max": lambda states: states.max(1),
    "mean": lambda states: states.mean(1),
    "mean_sqrt_len_tokens": lambda states: states.sum(1) / np.float32(np.sqrt(states.shape[1])),
    "weightedmean": lambda states: np.average(states, 1, np.arange(1, states.shape[1] + 1)).astype(np.float32),
    "lasttoken": lambda states: states[:, -1],
}
ACTIVATIONS: Mapping[str, Step] = {"Identity": lambda values: values, "Tanh": np.tanh}
MIN_NORM = 1e-12
ROUTERS = ("Router", "Asym")
ROUTER_FILES = ("router_config.json", "config.json")
SPARSE = ("SpladePooling", "SparseStaticEmbedding")
"""Modules whose vectors have a component for each token of the vocabulary."""


def read_json(path: Path) -> Any:
    """Return the content of a JSON file. Raises InputError if it is missing or not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a valid description of a model ({error}); copy the folder again") from None


class Module(NamedTuple):
    """A module of a folder: the name of its class, and its own folder."""

    kind: str
    place: Path


def read_modules(folder: Path, role: str) -> Sequence[Module]:
    """Return the modules that read the texts of a role, `query` or `document`, in order.

    Raises InputError if the folder does not describe them.
    """
    modules = [_to_module(of.get("type"), folder / of.get("path", "")) for of in read_json(folder / MODULES_FILE)]
    if modules and modules[0].kind in ROUTERS:
        modules[:1] = _read_route(modules[0].place, role)
    if not modules:
        raise InputError(f"{folder / MODULES_FILE}: no modules are listed; copy the folder again")
    return modules


def has_routes(folder: Path) -> bool:
    """Return whether queries and documents have modules of their own."""
    return any(_to_module(of.get("type"), folder).kind in ROUTERS for of in read_json(folder / MODULES_FILE))


def is_sparse(modules: Sequence[Module]) -> bool:
    """Return whether the vectors have a component for each token of the vocabulary, nearly all of them 0."""
    return any(module.kind in SPARSE for module in modules)


def _to_module(kind: Any, place: Path) -> Module:
    return Module(str(kind).rpartition(".")[2], place)


def _read_route(folder: Path, role: str) -> Sequence[Module]:
    """Return the modules of a Router for a role."""
    path = next((folder / name for name in ROUTER_FILES if (folder / name).exists()), folder / ROUTER_FILES[0])
    described = read_json(path)
    try:
        structure = described["structure"]
        types = described["types"]
        parameters = described.get("parameters", {})
        routes = {ast.literal_eval(key): route for key, route in (parameters.get("route_mappings") or {}).items()}
        by_task = [routes[key] for key in ((role, "text"), (role, None), (None, "text"), (None, None)) if key in routes]
        names = [*by_task, role, "text", parameters.get("default_route")]
        route = next(structure[name] for name in names if name in structure)
        return [_to_module(types[module], folder / module) for module in route]
    except (AttributeError, KeyError, TypeError, ValueError, SyntaxError, StopIteration) as error:
        raise InputError(f"{path}: not a valid description of routes ({error}); copy the folder again") from None


def read_step(module: Module, folder: Path) -> Step:
    """Return what a module after the transformer does. Raises InputError if it cannot be run without torch."""
    if module.kind == "Pooling":
        return _read_pooling(module.place / "config.json")
    if module.kind == "Dense":
        return _read_dense(module.place)
    if module.kind == "Normalize":
        return normalise
    if module.kind == "Dropout":  # inactive at inference
        return ACTIVATIONS["Identity"]
    expected = "expected Transformer, Router, StaticEmbedding, Pooling, Dense, Normalize or those of a SparseEncoder"
    raise InputError(f"{folder / MODULES_FILE}: the module {module.kind} needs torch; {expected}")


def normalise(vectors: Floats32) -> Floats32:
    """Return vectors of length 1; zeros remain zeros."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), MIN_NORM)
    unit: Floats32 = vectors / lengths.astype(np.float32)
    return unit


def _read_pooling(path: Path) -> Step:
    config = read_json(path)
    modes = config.get("pooling_mode") or [mode for key, mode in LEGACY_MODES.items() if config.get(key)] or "mean"
    modes = [modes] if isinstance(modes, str) else modes
    if unknown := [mode for mode in modes if mode not in POOLINGS]:
        raise InputError(f"{path}: pooling_mode = {unknown[0]!r}; expected one of {', '.join(POOLINGS)}")
    if len(modes) == 1:
        return POOLINGS[modes[0]]
    return lambda states: np.concatenate([POOLINGS[mode](states) for mode in modes], 1)


def _read_dense(folder: Path) -> Step:
    config = read_json(folder / "config.json")
    name = str(config.get("activation_function", "")).rpartition(".")[2]
    if name not in ACTIVATIONS:
        place = folder / "config.json"
        raise InputError(f"{place}: activation_function = {name!r}; expected one of {', '.join(ACTIVATIONS)}")
    tensors = {key: to_float32(tensor) for key, tensor in map_tensors(folder).items()}
    if "linear.weight" not in tensors:
        raise InputError(f"{folder}: the weights have no tensor linear.weight")
    weight = tensors["linear.weight"].T.copy()
    bias = tensors.get("linear.bias", np.zeros(1, np.float32))
    if not config.get("use_residual"):
        return lambda values: ACTIVATIONS[name](values @ weight + bias)
    residual = tensors.get("residual.weight", np.eye(len(weight), dtype=np.float32)).T
    return lambda values: ACTIVATIONS[name](values @ weight + bias) + values @ residual
