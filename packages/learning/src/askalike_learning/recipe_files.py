"""Recipes by name: TOML files in this package's folder `recipes`, and in that of packages that register theirs.

Another package registers its folder by an entry point in the group `askalike.recipes`, whose value is the package.
"""

import importlib.resources
import tomllib
from collections.abc import Iterator
from importlib.resources.abc import Traversable

from askalike import SettingsError
from askalike.plugin import load, names
from askalike.plugin.training import Tables

OWN_PACKAGE = "askalike_learning"
FOLDER = "recipes"
SUFFIX = ".toml"


def list_recipes() -> tuple[str, ...]:
    """Return the names of all recipes, this package's and those of others, sorted."""
    return tuple(sorted({name for folder in _folders() for name in _recipes_in(folder)}))


def read_recipe(name: str) -> str:
    """Return the text of a recipe's file. Raises SettingsError for an unknown recipe."""
    for folder in _folders():
        if (file := folder / f"{name}{SUFFIX}").is_file():
            return file.read_text(encoding="utf-8")
    known = ", ".join(list_recipes())
    raise SettingsError(f"no recipe is called {name!r}; there are: {known}; or name a TOML file")


def read_tables(name: str) -> Tables:
    """Return the tables of a recipe's file. Raises SettingsError for an unknown recipe."""
    return tomllib.loads(read_recipe(name))


def _folders() -> Iterator[Traversable]:
    """Yield the folders of recipes, this package's first."""
    yield importlib.resources.files(OWN_PACKAGE) / FOLDER
    for name in names("recipes"):
        yield importlib.resources.files(load("recipes", name)) / FOLDER


def _recipes_in(folder: Traversable) -> Iterator[str]:
    return (file.name.removesuffix(SUFFIX) for file in folder.iterdir() if file.name.endswith(SUFFIX))
