"""Recipes by name: TOML files in `learning/recipes`, and in the folder `recipes` of packages that register theirs.

Another package registers its folder by an entry point in the group `askalike.recipes`, whose value is the package.
"""

import importlib.resources
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources.abc import Traversable

from askalike.core import registry
from askalike.core.config import Tables
from askalike.core.errors import SettingsError

FOLDER = "recipes"
GROUP = "askalike.recipes"
SUFFIX = ".toml"


@cache
def builtin_recipes() -> tuple[str, ...]:
    """Return the names of the built-in recipes, sorted."""
    return tuple(sorted(_recipes_in("askalike.learning")))


def list_recipes() -> tuple[str, ...]:
    """Return the names of all recipes, built-in ones and those of other packages, sorted."""
    return tuple(sorted({*builtin_recipes(), *(name for package in _packages() for name in _recipes_in(package))}))


def read_recipe(name: str) -> str:
    """Return the text of a recipe's file. Raises SettingsError for an unknown recipe."""
    for package in ("askalike.learning", *_packages()):
        if (file := _folder(package) / f"{name}{SUFFIX}").is_file():
            return file.read_text(encoding="utf-8")
    known = ", ".join(list_recipes())
    raise SettingsError(f"no recipe is called {name!r}; there are: {known}; or name a TOML file")


def read_tables(name: str) -> Tables:
    """Return the tables of a recipe's file. Raises SettingsError for an unknown recipe."""
    return tomllib.loads(read_recipe(name))


def _packages() -> Iterator[str]:
    return (point.value for point in registry.installed_entry_points().select(group=GROUP))


def _folder(package: str) -> Traversable:
    return importlib.resources.files(package) / FOLDER


def _recipes_in(package: str) -> Iterator[str]:
    return (f.name.removesuffix(SUFFIX) for f in _folder(package).iterdir() if f.name.endswith(SUFFIX))
