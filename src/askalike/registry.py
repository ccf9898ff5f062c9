"""Finds classes by kind and name: a file's name is its registered name, imported on first use.

`load("similarity", "bm25")` imports `askalike.similarities.bm25` and returns its class `Bm25Similarity`. A file whose name
begins with an underscore is a shared part, not an entry.
"""

import importlib
import importlib.resources
from functools import cache
from typing import Any

from askalike.errors import SettingsError

PACKAGES = {
    "reader": "askalike.readers",
    "similarity": "askalike.similarities",
    "encoder": "askalike.encoders",
    "ranker": "askalike.rankers",
    "features": "askalike.text.features",
    "loss": "askalike.training.losses",
    "network": "askalike.nn",
    "engine": "askalike.engines",
}
SUFFIXES = {"features": "Features"}
"""What a class's name ends with where that is not its kind's name."""


@cache
def names(kind: str) -> tuple[str, ...]:
    """The registered names of one kind, sorted. Nothing is imported but the kind's package."""
    files = importlib.resources.files(PACKAGES[kind]).iterdir()
    stems = (f.name.removesuffix(".py") for f in files if f.name.endswith(".py"))
    return tuple(sorted(s for s in stems if not s.startswith("_")))


def load(kind: str, name: str) -> type[Any]:
    """The class registered under a name: `lm_dirichlet` is `LmDirichletSimilarity` in `lm_dirichlet.py`.

    Raises SettingsError for a name that is not there, with those that are.
    """
    if name not in names(kind):
        raise SettingsError(f"no {kind} is called {name!r}; there are: {', '.join(names(kind))}")
    module = importlib.import_module(f"{PACKAGES[kind]}.{name}")
    camel = "".join(part.capitalize() for part in name.split("_"))
    return getattr(module, camel + SUFFIXES.get(kind, kind.capitalize()))  # type: ignore[no-any-return]
