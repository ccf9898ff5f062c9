"""Encoders: texts in, vectors out. `load` opens a trained one, or makes a built-in one by its name."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askalike import registry
from askalike.encoders._encoder import Encoder, Role
from askalike.errors import InputError

__all__ = ["MODEL", "Encoder", "Role", "build", "opened"]

MODEL = "model.toml"


def build(name: str, settings: Mapping[str, Any] | None = None) -> Encoder:
    """A built-in encoder by its name. Raises SettingsError for what is not known or not installed."""
    return registry.load("encoder", name).named(settings or {})  # type: ignore[no-any-return]


def opened(folder: Path, settings: Mapping[str, Any] | None = None) -> Encoder:
    """The trained encoder in `models/<name>/`: the key `encoder` of its model.toml says which file opens it.

    settings: those that may still be chosen when it is used. Raises InputError for a folder that holds none.
    """
    path = folder / MODEL
    try:
        described = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a model's description ({error})") from None
    if not isinstance(described.get("encoder"), str):
        raise InputError(f"{path}: expected encoder = NAME, which says what kind of model this is")
    return registry.load("encoder", described["encoder"]).opened(folder, settings or {})  # type: ignore[no-any-return]
