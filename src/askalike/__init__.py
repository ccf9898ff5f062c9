"""askalike finds the questions in a Q&A archive that ask the same thing.

import askalike

retriever = askalike.Retriever(["how do I reset my password", "where is my order"])
for hit in retriever.search("forgot my password"):
    print(hit.score, hit.title)

The names in `__init__.pyi` are the public API; docs/python.md names the modules of what is used more rarely. A name is
imported on first use.
"""

import ast
import importlib
from functools import cache
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


@cache
def _find_names() -> dict[str, tuple[str, str]]:
    """Return public name → its module and its name there: what the stub imports as itself, or under another name."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    imports = [(str(node.module), alias) for node in stub if isinstance(node, ast.ImportFrom) for alias in node.names]
    modules = {alias.name: module for module, alias in imports}
    renamed = {ast.unparse(node.targets[0]): ast.unparse(node.value) for node in stub if isinstance(node, ast.Assign)}
    names = {alias.name: alias.name for _, alias in imports if alias.asname} | renamed
    return {public: (modules[name], name) for public, name in names.items()}


def __getattr__(name: str) -> Any:
    """Return a public name, imported now and remembered."""
    if name == "__all__":
        return sorted(_find_names())
    if name not in _find_names():
        raise AttributeError(f"module 'askalike' has no attribute {name!r}")
    module, attribute = _find_names()[name]
    value = globals()[name] = getattr(importlib.import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_find_names()})
