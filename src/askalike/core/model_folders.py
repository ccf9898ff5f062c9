"""Finds pre-trained models on this machine: in a folder, or inside an installed package."""

import importlib.util
from pathlib import Path

from askalike.core.errors import SettingsError

MODULES_FILE = "modules.json"
"""A file in the folder of every sentence-transformers model."""
EXPECTED_MODEL = "a sentence-transformers model on this machine, as FOLDER or PACKAGE; nothing is downloaded"


def find_model(model: str, setting: str) -> Path:
    """Return the folder of a model: that path, or the one inside an installed package.

    setting: the name of the setting that names the model, for the message. Raises SettingsError if there is no model.
    """
    if not model:
        raise SettingsError(f"no model is named; expected {setting}=…, {EXPECTED_MODEL}")
    if (folder := Path(model).expanduser()).is_dir():
        inside = [folder] if (folder / MODULES_FILE).exists() else []
    else:
        inside = _find_in_package(model)
    if not inside:
        raise SettingsError(f"{setting}={model!r}: no model is there; expected {EXPECTED_MODEL}")
    return inside[0]


def _find_in_package(name: str) -> list[Path]:
    """Return the folders of models in a package, the shallowest first. The package is not imported."""
    module = name.replace("-", "_")
    spec = importlib.util.find_spec(module) if module.isidentifier() else None
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    return sorted((f.parent for place in places for f in place.rglob(MODULES_FILE)), key=lambda path: len(path.parts))
