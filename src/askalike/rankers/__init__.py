"""Rankers: queries in, a run out. `build` makes one by its name, as the command line and TOML files give it."""

import importlib.util
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askalike import registry
from askalike.encoders._recipe import CORPUS_ENCODERS, list_recipes, list_trainable
from askalike.errors import IndexBusyError, SettingsError
from askalike.rankers._ranker import Ranker
from askalike.store.archive import Archive
from askalike.store.deployments import get_served_ranker
from askalike.store.view import View
from askalike.types import Progress

__all__ = [
    "Ranker",
    "active_ranker",
    "build_or_reuse",
    "build_with_retry",
    "check_model_name",
    "create",
    "default_name",
    "delete_indexes",
    "names",
    "trained_model_names",
]

COMPOSITE = ("cascade", "distinct", "hybrid")
PART_ONLY = ("votes",)  # these find nothing by themselves
ANSWER_RANKERS = ("by_question",)  # these rank nothing else
PRETRAINED_ENCODERS = ("pretrained", "static")  # the encoders that need no training of ours
MODELS_FOLDER = "models"
MODEL_NAME_PATTERN = re.compile("[a-z0-9][a-z0-9_.-]*")
LOCK_TIMEOUT_S, LOCK_POLL_S = 60.0, 0.2
"""How long another process that writes is waited for, and how often it is looked after."""


def default_name() -> str:
    """The ranker where none is named or in service: `hybrid` with packaged vectors, else `lm_jelinek_mercer`."""
    return "hybrid" if importlib.util.find_spec("wordllama") else "lm_jelinek_mercer"


def active_ranker(archive: Archive | Path | str | None) -> tuple[str, Mapping[str, Any]]:
    """The ranker and settings that an archive serves, which `tune` or `promote` chose; `default()` where none did."""
    if archive is None:
        return default_name(), {}
    if not isinstance(archive, Archive):
        with Archive.open(archive) as opened:
            return active_ranker(opened)
    chosen = get_served_ranker(archive)
    return (chosen.ranker, chosen.settings) if chosen else (default_name(), {})


def names() -> tuple[str, ...]:
    """What `--ranker` takes beside trained models: a similarity's name is lexical ranking by it, an encoder's dense."""
    return (*registry.names("similarity"), *PRETRAINED_ENCODERS, *COMPOSITE)


def trained_model_names(archive: Path | str) -> tuple[str, ...]:
    """The names of an archive's own models."""
    return tuple(sorted(path.parent.name for path in (Path(archive) / MODELS_FOLDER).glob("*/model.toml")))


def check_model_name(name: str) -> None:
    """Refuses a name for a trained model that is taken, or is none. Raises SettingsError."""
    if not MODEL_NAME_PATTERN.fullmatch(name):
        raise SettingsError(f"{name!r}: a model's name is lower-case letters, digits, '_', '.' and '-'")
    if name in {n for kind in ("similarity", "encoder", "ranker", "network") for n in registry.names(kind)} | {
        *list_trainable()
    }:
        raise SettingsError(f"{name!r} is the name of a built-in ranker; choose another one for the model")


def create(
    name: str | None = None, settings: Mapping[str, Any] | None = None, archive: Archive | Path | str | None = None
) -> Ranker:
    """A ranker by its name, with settings as `key: value`; the one in service where no name is given.

    archive: the one whose `models/` hold trained rankers, or its directory. Raises SettingsError for what is not known.
    """
    if name is None:
        name, kept = active_ranker(archive)
        settings = {**kept, **(settings or {})}
    values = settings or {}
    archive = archive.path if isinstance(archive, Archive) else archive
    folder = Path(archive) / MODELS_FOLDER / name if archive and MODEL_NAME_PATTERN.fullmatch(name) else None
    if folder and (folder / "model.toml").exists():
        check_model_name(name)
        ranker = registry.load("ranker", "dense").from_settings(name, values, folder)
        if getattr(ranker.encoder, "indexable", True):
            return ranker  # type: ignore[no-any-return]
        return registry.load("ranker", "pairwise")(ranker.encoder, name)  # type: ignore[no-any-return]
    if name in registry.names("similarity"):
        return registry.load("ranker", "lexical").from_settings(name, values)  # type: ignore[no-any-return]
    if name in (*PRETRAINED_ENCODERS, *CORPUS_ENCODERS):
        return registry.load("ranker", "dense").from_settings(name, values)  # type: ignore[no-any-return]
    if name in list_recipes():
        ranker = registry.load("ranker", "dense").from_settings("neural", _recipe_settings(name, values))
        ranker.name = name
        return ranker  # type: ignore[no-any-return]
    if name in (*COMPOSITE, *ANSWER_RANKERS):
        return registry.load("ranker", name).from_settings(name, values, archive)  # type: ignore[no-any-return]
    if name in PART_ONLY:
        return registry.load("ranker", name).from_settings(name, values)  # type: ignore[no-any-return]
    known = (*names(), *(trained_model_names(archive) if archive else ()))
    raise SettingsError(f"no ranker is called {name!r}; there are: {', '.join(known)}")


def _recipe_settings(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A network's own recipe with some values set: what is searched is what is learned from, too."""
    fields = {"features.fields": values["fields"]} if "fields" in values else {}
    return {"recipe": name, **fields, **values}


def build_with_retry(ranker: Ranker, view: View, progress: Progress | None = None) -> Ranker:
    """The ranker, with all of the view indexed. Where another process writes an index, it waits for that.

    Raises IndexBusyError where that takes longer than PATIENCE_S.
    """
    until = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            return ranker.build(view, progress)
        except IndexBusyError:
            if time.monotonic() > until:
                raise
            time.sleep(LOCK_POLL_S)


def build_or_reuse(ranker: Ranker, view: View) -> Ranker:
    """The ranker, with all of the view indexed; where another process is doing so, the last committed state serves.

    Raises IndexBusyError where nothing is committed yet.
    """
    try:
        return ranker.build(view)
    except IndexBusyError as busy:
        if not busy.searchable:
            raise
        return ranker


def delete_indexes(ranker: Ranker, view: View) -> None:
    """Removes a ranker's indexes of a view; the next `index` builds them afresh."""
    for path in ranker.index_paths(view):
        shutil.rmtree(path, ignore_errors=True)
