"""Which names of askalike are public: what packages beside it may import."""

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

PUBLIC_PACKAGES = ("askalike.plugin", "askalike.similarities")
"""Every module in these is public, but those whose names begin with an underscore."""


def find_private_imports(source: Path) -> list[str]:
    """Return `FILE: NAME` for each name of askalike that a folder's files import though it is not public."""
    files = sorted(source.rglob("*.py"))
    assert files, f"{source} has no Python files"
    return [f"{file.relative_to(source)}: {name}" for file in files for name in _private_imports(file)]


def _private_imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_ours(alias.name) and alias.name != "askalike")
        elif isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            yield from (
                f"{node.module}.{alias.name}" for alias in node.names if not _is_public(node.module, alias.name)
            )


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "askalike"


def _is_public(module: str, name: str) -> bool:
    if module != "askalike" and not any(f"{module}.".startswith(f"{package}.") for package in PUBLIC_PACKAGES):
        return False
    if any(part.startswith("_") for part in (*module.split("."), name)):
        return False
    return name in _public_names(module) or _is_module(f"{module}.{name}")


def _is_module(name: str) -> bool:
    return name.startswith("askalike.plugin.") and importlib.util.find_spec(name) is not None


def _public_names(module: str) -> set[str]:
    loaded = importlib.import_module(module)
    return set(getattr(loaded, "__all__", None) or vars(loaded))
