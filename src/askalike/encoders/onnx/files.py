"""Selects the files that a sentence-transformers folder needs to run: a hub has its weights several times."""

import json
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from askalike.encoders.onnx.architectures import ARCHITECTURES

DESCRIPTIONS = ("*.json", "*.txt", "*.md", "LICENSE*")
SAFETENSORS = ("*.safetensors",)
EXPORTED = ("*onnx/model.onnx*", "model.onnx*", "[0-9]_*/*.safetensors")
OTHER_RUNTIMES = ("onnx", "openvino", "coreml")
"""Folders with weights for other ways to run a model, and with descriptions of those."""


def needed_files(names: Iterable[str], folder: Path) -> Sequence[str]:
    """Return the files that are needed of those with these names, relative to the model's folder.

    folder: where at least the JSON files lie already; before that, these are what is needed.
    """
    names = list(names)
    described = [name for name in names if _matches(name, DESCRIPTIONS) and name.split("/")[0] not in OTHER_RUNTIMES]
    kinds = list(_model_types(folder))
    if not kinds:
        return described
    weights = [name for name in names if _matches(name, SAFETENSORS) and name.split("/")[0] not in OTHER_RUNTIMES]
    if weights and any(kind in ARCHITECTURES for kind in kinds):
        return [*described, *weights]
    return [*described, *(name for name in names if _matches(name, EXPORTED))]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _model_types(folder: Path) -> Iterator[str]:
    """Yield the model_type of the folder's descriptions that have one: the transformer's."""
    for path in (folder / "config.json", *sorted(folder.glob("*/config.json"))):
        try:
            described = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(described, dict) and "model_type" in described:
            yield str(described["model_type"])
