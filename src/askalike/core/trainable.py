"""The names of what can be trained: packaged recipes, and encoders that need none."""

import importlib.resources
from collections.abc import Mapping
from typing import Any

Tables = Mapping[str, Mapping[str, Any]]
"""The tables of a TOML file: table → key → value."""
CORPUS_ENCODERS = ("doc2vec", "topics")
"""The encoders that learn from texts alone; they have settings but no recipe."""
RECIPE_FOLDER = importlib.resources.files("askalike") / "encoders" / "recipes"


def list_recipes() -> tuple[str, ...]:
    """Return the names of the packaged recipes."""
    return tuple(sorted(f.name.removesuffix(".toml") for f in RECIPE_FOLDER.iterdir() if f.name.endswith(".toml")))


def list_trainable() -> tuple[str, ...]:
    """Return the names of what can be trained: the packaged recipes and the encoders that need none."""
    return (*list_recipes(), *CORPUS_ENCODERS)
