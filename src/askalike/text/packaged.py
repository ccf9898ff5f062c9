"""Packaged subword vectors: the two files of the wheel of WordLlama (MIT; extra `vectors`), read as they are."""

import importlib.util
from pathlib import Path

from askalike.errors import SettingsError

PACKAGE = "wordllama"
FILES = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
MISSING = "static: the packaged vectors are not installed: pip install 'askalike[vectors]'"


def packaged() -> tuple[Path, Path]:
    """The packaged vectors' two files: weights and tokenizer. Raises SettingsError where they are not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.origin:
        raise SettingsError(MISSING)
    weights, tokenizer = (Path(spec.origin).parent / file for file in FILES)
    if not (weights.exists() and tokenizer.exists()):
        raise SettingsError(f"{MISSING} (the {PACKAGE} that is installed does not carry them)")
    return weights, tokenizer
