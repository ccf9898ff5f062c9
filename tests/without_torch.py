"""Which tests need torch; torch is hidden from the others where the variable WITHOUT_TORCH is set."""

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

HIDDEN = ("torch", "lightning_fabric", "sentence_transformers")
NEEDS_TORCH = (
    "cli/test_train_command.py",
    "contracts/test_held_out_labels.py",
    "contracts/test_networks.py",
    "core/test_registry.py",
    "docs/test_settings_page.py",
    "encoders/test_asymmetric.py",
    "encoders/test_compiled_layers.py",
    "encoders/test_modules.py",
    "encoders/test_onnx.py",
    "encoders/test_shared_vectors.py",
    "experiments/test_answer_measures.py",
    "experiments/test_log.py",
    "experiments/test_run.py",
    "export/test_other_evaluators.py",
    "learning",
    "papers",
    "rankers/test_cross_encoder.py",
    "search/answering/test_auto.py",
    "tuning/test_adoption.py",
)
"""Folders and files of which most tests need torch. Single tests in other files have the marker `torch`."""


class _HidingFinder:
    """Finds modules on the path, but none of the hidden ones."""

    invalidate_caches = PathFinder.invalidate_caches
    find_distributions = PathFinder.find_distributions

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        return None if name.partition(".")[0] in HIDDEN else PathFinder.find_spec(name, path, target)


if os.environ.get("WITHOUT_TORCH"):
    finders: list[Any] = sys.meta_path
    finders[finders.index(PathFinder)] = _HidingFinder


def needs_torch(path: Path) -> bool:
    """Return whether most tests in a file or folder need torch."""
    relative = path.relative_to(Path(__file__).parent)
    return any(str(parent) in NEEDS_TORCH for parent in (relative, *relative.parents))
