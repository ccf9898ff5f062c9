"""Compiles the functions of askalike ahead of their first calls, such as right after an installation."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from askalike.native.compiled import CompiledFunction

PACKAGE = Path(__file__).parents[1]
DECORATORS = "@compiled", "@elementwise"


class StoredCode(NamedTuple):
    """The functions of a module with machine code, and those whose code could not be written."""

    stored: int
    refused: int


def find_modules() -> Iterator[str]:
    """Yield the modules that have compiled functions. Their source says so: importing all would take seconds."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if any(line.startswith(DECORATORS) for line in path.read_text(encoding="utf-8").splitlines()):
            yield ".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts))


def store_code(module: str) -> StoredCode:
    """Compile a module's functions that have no machine code yet; none if it needs a package that is not installed."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        return StoredCode(0, 0)
    stored = [function.store() for function in CompiledFunction.made if function.function.__module__ == module]
    return StoredCode(sum(stored), len(stored) - sum(stored))
