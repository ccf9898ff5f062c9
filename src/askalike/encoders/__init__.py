"""Encoders, one per file: texts in, vectors out. `recipes` declares the training of networks, `learning` does it."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askalike.core import registry
from askalike.core.errors import InputError, SettingsError
from askalike.encoders._encoder import Encoder, Role, TextWords, TracedText, VectorContributions
from askalike.encoders._vector_cache import VectorCache

__all__ = ["Encoder", "Role", "TextWords", "TracedText", "VectorCache", "VectorContributions"]
__all__ += ["MODEL_FILE", "NEURAL_EXTRA_MODULES", "build", "open_encoder", "read_model_file"]

MODEL_FILE = "model.toml"
NEURAL_EXTRA_MODULES = ("torch", "lightning_fabric", "safetensors", "gensim")
"""The modules that the extra `neural` installs."""


def build(name: str, settings: Mapping[str, Any] | None = None) -> Encoder:
    """Return a registered encoder with these settings. Raises SettingsError if it is unknown or not installed."""
    return _load_encoder_class(name).from_settings(settings or {})  # type: ignore[no-any-return]


def open_encoder(folder: Path, settings: Mapping[str, Any] | None = None) -> Encoder:
    """Open the trained encoder in a folder, with settings for its use. Raises InputError if there is no model."""
    name = read_model_file(folder).get("encoder")
    if not isinstance(name, str):
        raise InputError(f"{folder / MODEL_FILE}: expected encoder = NAME, the kind of the model")
    return _load_encoder_class(name).open(folder, settings or {})  # type: ignore[no-any-return]


def read_model_file(folder: Path) -> dict[str, Any]:
    """Return the tables of a trained model's model.toml. Raises InputError for a folder without one."""
    path = folder / MODEL_FILE
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a valid description of a model ({error})") from None


def _load_encoder_class(name: str) -> Any:
    """Return the class of that name. Raises SettingsError if it is unknown or its dependencies are not installed."""
    try:
        return registry.load("encoder", name)
    except ModuleNotFoundError as missing:
        if missing.name not in NEURAL_EXTRA_MODULES:
            raise
        raise SettingsError(f"{name}: {missing.name} is not installed; pip install 'askalike[neural]'") from None
