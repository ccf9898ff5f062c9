"""Rankers: queries in, a run out. `build` makes one by its name, as the command line and TOML files give it."""

import importlib.util
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askalike import registry
from askalike.archive.serving import served
from askalike.archive.store import Archive
from askalike.archive.view import View
from askalike.encoders._recipe import CORPUS, recipes, trainable
from askalike.errors import IndexBusyError, SettingsError
from askalike.rankers._ranker import Progress, Ranker

__all__ = [
    "Ranker",
    "build",
    "caught_up",
    "check_new",
    "default",
    "forget",
    "in_service",
    "names",
    "refreshed",
    "trained",
]

COMPOSED = ("cascade", "distinct", "hybrid")
PARTS = ("votes",)  # these find nothing by themselves
OF_ANSWERS = ("by_question",)  # these rank nothing else
UNTRAINED = ("pretrained", "static")  # the encoders that need no training of ours
MODELS = "models"
NAME = re.compile("[a-z0-9][a-z0-9_.-]*")
PATIENCE_S, BUSY_S = 60.0, 0.2
"""How long another process that writes is waited for, and how often it is looked after."""


def default() -> str:
    """The ranker where none is named or in service: `hybrid` with packaged vectors, else `lm_jelinek_mercer`."""
    return "hybrid" if importlib.util.find_spec("wordllama") else "lm_jelinek_mercer"


def in_service(archive: Archive | Path | str | None) -> tuple[str, Mapping[str, Any]]:
    """The ranker and settings that an archive serves, which `tune` or `promote` chose; `default()` where none did."""
    if archive is None:
        return default(), {}
    if not isinstance(archive, Archive):
        with Archive.open(archive) as opened:
            return in_service(opened)
    chosen = served(archive)
    return (chosen.ranker, chosen.settings) if chosen else (default(), {})


def names() -> tuple[str, ...]:
    """What `--ranker` takes beside trained models: a similarity's name is lexical ranking by it, an encoder's dense."""
    return (*registry.names("similarity"), *UNTRAINED, *COMPOSED)


def trained(archive: Path | str) -> tuple[str, ...]:
    """The names of an archive's own models."""
    return tuple(sorted(path.parent.name for path in (Path(archive) / MODELS).glob("*/model.toml")))


def check_new(name: str) -> None:
    """Refuses a name for a trained model that is taken, or is none. Raises SettingsError."""
    if not NAME.fullmatch(name):
        raise SettingsError(f"{name!r}: a model's name is lower-case letters, digits, '_', '.' and '-'")
    if name in {n for kind in ("similarity", "encoder", "ranker", "network") for n in registry.names(kind)} | {
        *trainable()
    }:
        raise SettingsError(f"{name!r} is the name of a built-in ranker; choose another one for the model")


def build(
    name: str | None = None, settings: Mapping[str, Any] | None = None, archive: Archive | Path | str | None = None
) -> Ranker:
    """A ranker by its name, with settings as `key: value`; the one in service where no name is given.

    archive: the one whose `models/` hold trained rankers, or its directory. Raises SettingsError for what is not known.
    """
    if name is None:
        name, kept = in_service(archive)
        settings = {**kept, **(settings or {})}
    values = settings or {}
    archive = archive.path if isinstance(archive, Archive) else archive
    folder = Path(archive) / MODELS / name if archive and NAME.fullmatch(name) else None
    if folder and (folder / "model.toml").exists():
        check_new(name)
        ranker = registry.load("ranker", "dense").named(name, values, folder)
        if getattr(ranker.encoder, "indexable", True):
            return ranker  # type: ignore[no-any-return]
        return registry.load("ranker", "pairwise")(ranker.encoder, name)  # type: ignore[no-any-return]
    if name in registry.names("similarity"):
        return registry.load("ranker", "lexical").named(name, values)  # type: ignore[no-any-return]
    if name in (*UNTRAINED, *CORPUS):
        return registry.load("ranker", "dense").named(name, values)  # type: ignore[no-any-return]
    if name in recipes():
        ranker = registry.load("ranker", "dense").named("neural", _recipe(name, values))
        ranker.name = name
        return ranker  # type: ignore[no-any-return]
    if name in (*COMPOSED, *OF_ANSWERS):
        return registry.load("ranker", name).named(name, values, archive)  # type: ignore[no-any-return]
    if name in PARTS:
        return registry.load("ranker", name).named(name, values)  # type: ignore[no-any-return]
    known = (*names(), *(trained(archive) if archive else ()))
    raise SettingsError(f"no ranker is called {name!r}; there are: {', '.join(known)}")


def _recipe(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A network's own recipe with some values set: what is searched is what is learned from, too."""
    fields = {"features.fields": values["fields"]} if "fields" in values else {}
    return {"recipe": name, **fields, **values}


def caught_up(ranker: Ranker, view: View, progress: Progress | None = None) -> Ranker:
    """The ranker, with all of the view indexed. Where another process writes an index, it waits for that.

    Raises IndexBusyError where that takes longer than PATIENCE_S.
    """
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return ranker.index(view, progress)
        except IndexBusyError:
            if time.monotonic() > until:
                raise
            time.sleep(BUSY_S)


def refreshed(ranker: Ranker, view: View) -> Ranker:
    """The ranker, with all of the view indexed; where another process is doing so, the last committed state serves.

    Raises IndexBusyError where nothing is committed yet.
    """
    try:
        return ranker.index(view)
    except IndexBusyError as busy:
        if not busy.searchable:
            raise
        return ranker


def forget(ranker: Ranker, view: View) -> None:
    """Removes a ranker's indexes of a view; the next `index` builds them afresh."""
    for path in ranker.paths(view):
        shutil.rmtree(path, ignore_errors=True)
