"""Encoders: texts in, vectors out. `load` opens a trained one, or makes a built-in one by its name."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askalike import registry
from askalike.encoders._encoder import Encoder, Role
from askalike.errors import InputError, SettingsError

__all__ = ["MODEL_FILE", "Encoder", "Role", "build", "open_encoder"]

MODEL_FILE = "model.toml"
NEURAL_EXTRA_MODULES = ("torch", "lightning_fabric", "safetensors", "gensim")
"""What the extra `neural` brings."""


def build(name: str, settings: Mapping[str, Any] | None = None) -> Encoder:
    """A built-in encoder by its name. Raises SettingsError for what is not known or not installed."""
    return _load_encoder_class(name).from_settings(settings or {})  # type: ignore[no-any-return]


def open_encoder(folder: Path, settings: Mapping[str, Any] | None = None) -> Encoder:
    """The trained encoder in `models/<name>/`: the key `encoder` of its model.toml says which file opens it.

    settings: those that may still be chosen when it is used. Raises InputError for a folder that holds none.
    """
    path = folder / MODEL_FILE
    try:
        described = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a model's description ({error})") from None
    if not isinstance(described.get("encoder"), str):
        raise InputError(f"{path}: expected encoder = NAME, which says what kind of model this is")
    return _load_encoder_class(described["encoder"]).open(folder, settings or {})  # type: ignore[no-any-return]


def _load_encoder_class(name: str) -> Any:
    """The class of that name. Raises SettingsError where it is not known, or needs what is not installed."""
    try:
        return registry.load("encoder", name)
    except ModuleNotFoundError as missing:
        if missing.name not in NEURAL_EXTRA_MODULES:
            raise
        raise SettingsError(f"{name}: {missing.name} is not installed; pip install 'askalike[neural]'") from None
