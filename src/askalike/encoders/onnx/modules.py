"""The modules of a sentence-transformers folder that follow the transformer: pooling, dense layers, normalisation."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import InputError
from askalike.core.model_folders import MODULES_FILE
from askalike.encoders.onnx.weights import map_tensors, to_float32

Array = NDArray[np.float32]
Step = Callable[[Array], Array]
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


def read_json(path: Path) -> Any:
    """Return the content of a JSON file. Raises InputError if it is missing or not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a valid description of a model ({error}); copy the folder again") from None


def read_steps(folder: Path) -> tuple[Path, Sequence[Step]]:
    """Return the folder of the transformer, and the steps from its last states to a text's vector.

    Raises InputError for a module that cannot be run without torch.
    """
    modules = read_json(folder / MODULES_FILE)
    kinds = [(str(module.get("type", "")).rpartition(".")[2], folder / module.get("path", "")) for module in modules]
    if not kinds or kinds[0][0] != "Transformer":
        raise InputError(f"{folder / MODULES_FILE}: expected a Transformer as the first module")
    steps = [_read_step(kind, place, folder) for kind, place in kinds[1:]]
    return kinds[0][1], steps


def _read_step(kind: str, place: Path, folder: Path) -> Step:
    if kind == "Pooling":
        return _read_pooling(place / "config.json")
    if kind == "Dense":
        return _read_dense(place)
    if kind == "Normalize":
        return normalise
    if kind == "Dropout":  # inactive at inference
        return ACTIVATIONS["Identity"]
    expected = "expected Transformer, Pooling, Dense, Normalize"
    raise InputError(f"{folder / MODULES_FILE}: the module {kind} needs torch; {expected}")


def normalise(vectors: Array) -> Array:
    """Return vectors of length 1; zeros remain zeros."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), MIN_NORM)
    unit: Array = vectors / lengths.astype(np.float32)
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


def is_mean_of_tokens(steps: Sequence[Step]) -> bool:
    """Return whether these steps compute the mean of a text's tokens' states, normalised or not."""
    pooling, *others = steps or (normalise,)
    return pooling is POOLINGS["mean"] and all(step in (normalise, ACTIVATIONS["Identity"]) for step in others)


def _read_dense(folder: Path) -> Step:
    name = str(read_json(folder / "config.json").get("activation_function", "")).rpartition(".")[2]
    if name not in ACTIVATIONS:
        place = folder / "config.json"
        raise InputError(f"{place}: activation_function = {name!r}; expected one of {', '.join(ACTIVATIONS)}")
    tensors = {key: to_float32(tensor) for key, tensor in map_tensors(folder).items()}
    if "linear.weight" not in tensors:
        raise InputError(f"{folder}: the weights have no tensor linear.weight")
    weight, bias = tensors["linear.weight"].T.copy(), tensors.get("linear.bias", np.zeros(1, np.float32))
    return lambda values: ACTIVATIONS[name](values @ weight + bias)
