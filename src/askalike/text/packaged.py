"""Packaged subword vectors: the two files of the wheel of WordLlama (MIT; extra `vectors`), read as they are."""

import importlib.util
from pathlib import Path

from askalike.errors import SettingsError

PACKAGE = "wordllama"
VECTOR_FILES = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
NOT_INSTALLED = "static: the packaged vectors are not installed: pip install 'askalike[vectors]'"


def find_packaged_vectors() -> tuple[Path, Path]:
    """The packaged vectors' two files: weights and tokenizer. Raises SettingsError where they are not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.origin:
        raise SettingsError(NOT_INSTALLED)
    weights, tokenizer = (Path(spec.origin).parent / file for file in VECTOR_FILES)
    if not (weights.exists() and tokenizer.exists()):
        raise SettingsError(f"{NOT_INSTALLED} (the {PACKAGE} that is installed does not carry them)")
    return weights, tokenizer
