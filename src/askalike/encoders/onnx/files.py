"""Selects the files needed to run a sentence-transformers model: a hub has its weights in several formats."""

import json
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from askalike.encoders.onnx.architectures import ARCHITECTURES

DESCRIPTIONS = ("*.json", "*.txt", "*.md", "LICENSE*")
SAFETENSORS = ("*.safetensors",)
EXPORTED = ("*onnx/model.onnx*", "model.onnx*", "[0-9]_*/*.safetensors")
OTHER_RUNTIMES = ("onnx", "openvino", "coreml")
"""Folders with weights and configurations for other runtimes."""


def needed_files(names: Iterable[str], folder: Path) -> Sequence[str]:
    """Return the needed ones of these files, named relative to the model's folder.

    folder: where the JSON files are already; before that, only these are needed.
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
    """Yield the model_type of the folder's configurations that have one: the transformer's."""
    for path in (folder / "config.json", *sorted(folder.glob("*/config.json"))):
        try:
            described = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(described, dict) and "model_type" in described:
            yield str(described["model_type"])
