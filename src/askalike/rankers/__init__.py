"""Rankers: queries in, a run out. `build` makes one by its name, as the command line and TOML files give it."""

import shutil
from collections.abc import Mapping
from typing import Any

from askalike import registry
from askalike.archive.view import View
from askalike.errors import SettingsError
from askalike.rankers._ranker import Ranker

__all__ = ["DEFAULT", "Ranker", "build", "forget", "names"]

DEFAULT = "lm_jelinek_mercer"


def names() -> tuple[str, ...]:
    """What `--ranker` takes: every similarity stands for lexical ranking by it."""
    return registry.names("similarity")


def build(name: str = DEFAULT, settings: Mapping[str, Any] | None = None) -> Ranker:
    """A ranker by its name, with settings as `key: value`. Raises SettingsError for what is not known."""
    if name in registry.names("similarity"):
        return registry.load("ranker", "lexical").named(name, settings or {})  # type: ignore[no-any-return]
    raise SettingsError(f"no ranker is called {name!r}; there are: {', '.join(names())}")


def forget(ranker: Ranker, view: View) -> None:
    """Removes a ranker's index of a view; the next `index` builds it afresh."""
    shutil.rmtree(ranker.path(view), ignore_errors=True)
