"""The folders of models: where a pre-trained one is on this machine, and the labels that a trained one has learned."""

import importlib.util
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from askalike.core.errors import SettingsError

MODULES_FILE = "modules.json"
"""A file in the folder of every sentence-transformers model."""
CONFIG_FILE = "config.json"
"""A file in the folder of every cross-encoder."""
EXPECTED_MODEL = "a sentence-transformers model on this machine, as FOLDER or PACKAGE; nothing is downloaded"
LEARNED_FILE = "learned.json"


def find_model(model: str, setting: str) -> Path:
    """Return the folder of a sentence-transformers model: that path, or the one inside an installed package.

    setting: the name of the setting that names the model, for the message. Raises SettingsError if there is no model.
    """
    if not model:
        raise SettingsError(f"no model is named; expected {setting}=…, {EXPECTED_MODEL}")
    if (folder := Path(model).expanduser()).is_dir():
        inside = [folder] if (folder / MODULES_FILE).exists() else []
    else:
        inside = _folders_with(MODULES_FILE, _package_folders(model))
    if not inside:
        raise SettingsError(f"{setting}={model!r}: no model is there; expected {EXPECTED_MODEL}")
    return inside[0]


def find_cross_encoder(model: str, setting: str) -> Path:
    """Return the folder of a cross-encoder: at or below that path, or inside an installed package; see find_model."""
    places = [Path(model).expanduser(), *_package_folders(model)] if model else []
    if not (inside := [folder for place in places for folder in _folders_with(CONFIG_FILE, [place])]):
        raise SettingsError(f"{setting}={model!r}: no such model; expected a folder or an installed package")
    return inside[0]


def _package_folders(name: str) -> list[Path]:
    """Return the folders of an installed package, none if there is no such package. It is not imported."""
    module = name.replace("-", "_")
    spec = importlib.util.find_spec(module) if module.isidentifier() else None
    return [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []


def _folders_with(file: str, places: Iterable[Path]) -> list[Path]:
    """Return the folders at or below these that contain a file, the shallowest first."""
    return sorted((found.parent for place in places for found in place.rglob(file)), key=lambda path: len(path.parts))


@dataclass(frozen=True, slots=True)
class LearnedLabels:
    """The ids of the questions whose duplicates or answers a model was trained on."""

    duplicates: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.duplicates or self.answers)

    def __or__(self, other: "LearnedLabels") -> "LearnedLabels":
        return LearnedLabels(self.duplicates | other.duplicates, self.answers | other.answers)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the training labels of the model in a folder; none if it has no file of them."""
        path = folder / LEARNED_FILE
        if not path.exists():
            return cls()
        ids = json.loads(path.read_text(encoding="utf-8"))
        return cls(frozenset(ids["duplicates"]), frozenset(ids["answers"]))

    def write(self, folder: Path) -> None:
        """Write the file for `read`."""
        ids = {"duplicates": sorted(self.duplicates), "answers": sorted(self.answers)}
        (folder / LEARNED_FILE).write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
