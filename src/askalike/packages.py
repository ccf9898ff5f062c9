"""Where a pre-trained model lies on this machine: a folder, or an installed package that carries one."""

import importlib.util
from pathlib import Path

from askalike.errors import SettingsError

MODULES_FILE = "modules.json"  # what a sentence-transformers model's folder holds
EXPECTED_MODEL = "a sentence-transformers model on this machine, as FOLDER or PACKAGE; nothing is downloaded"


def find_model(model: str, setting: str) -> Path:
    """The folder of a model: that path, or the one inside an installed package.

    Raises SettingsError where none is; `setting` is what names it there.
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
    """The folders of models in a package, its shallowest first. The package is found, not imported."""
    module = name.replace("-", "_")
    spec = importlib.util.find_spec(module) if module.isidentifier() else None
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    return sorted((f.parent for place in places for f in place.rglob(MODULES_FILE)), key=lambda path: len(path.parts))
