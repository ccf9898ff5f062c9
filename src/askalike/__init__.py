"""askalike finds the questions in a Q&A archive that ask the same thing.

import askalike

desk = askalike.load("riverside")
for match in desk.search("how long may I keep a book?"):
    print(match.score, match.question.title)
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Archive": "askalike.store.archive",
    "evaluate": "askalike.evaluation.measures",
    "build": "askalike.rankers:create",
    "Question": "askalike.types",
    "Answer": "askalike.types",
    "Link": "askalike.types",
    "Filter": "askalike.types",
    "Hit": "askalike.types",
    "Run": "askalike.types",
}

__all__ = [*_PUBLIC, "load"]


def load(path: str, ranker: str | None = None, **settings: Any) -> Any:
    """The archive in a directory, ready for `.search("…")`: see askalike.engines.local.Local."""
    local = importlib.import_module("askalike.engines.local").LocalEngine
    return local.open(path, ranker, settings)


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'askalike' has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    return getattr(importlib.import_module(module), attribute or name)
