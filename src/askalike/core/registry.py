"""Finds entries by kind and name: built-in ones by their file, those of other packages by their entry point.

A file's name is the registered name of the class in it, which is imported on first use: `load("similarity", "bm25")`
imports `askalike.similarities.bm25` and returns the class there whose name ends with `Similarity`. A file whose name
begins with an underscore is not an entry, nor is a sub-package. Another package adds a class by an entry point in
the kind's group, such as `askalike.similarities`.
"""

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from askalike.core.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_NAME_PATTERN = re.compile("[a-z][a-z0-9_]*")


class Kind(NamedTuple):
    """A kind of component: where its classes are found, and what each of them must have."""

    package: str
    """The package whose files are the built-in entries; empty if only other packages have any."""
    group: str
    """The group of entry points in which other packages register theirs."""
    suffix: str
    """Suffix of the names of built-in classes; a file defines only one of them."""
    methods: tuple[str, ...]
    """The methods that a class of this kind must have, or the fields of an object."""
    is_class: bool = True
    """Whether the entries are classes; else they are objects."""


class Command(NamedTuple):
    """A command of another package, in the group `askalike.commands`; its code is imported when it is run."""

    heading: str
    """The heading under which the list of commands has it: one of askalike's own, or another."""
    summary: str
    """The first sentence of its help."""
    target: str
    """MODULE:NAME of a function with typer's annotations, or of a `typer.Typer` with several commands."""


KINDS = {
    "reader": Kind("askalike.readers", "askalike.readers", "Reader", ("read",)),
    "export": Kind("askalike.export", "askalike.exports", "Export", ("write",)),
    "similarity": Kind("askalike.similarities", "askalike.similarities", "Similarity", ("score",)),
    "encoder": Kind(
        "askalike.encoders",
        "askalike.encoders",
        "Encoder",
        ("from_settings", "open", "fit", "encode_queries", "encode_documents"),
    ),
    "engine": Kind("", "askalike.engines", "Engine", ("connect", "lexical", "vectors")),
    "ranker": Kind("askalike.rankers", "askalike.rankers", "Ranker", ("from_settings", "build", "open")),
    "features": Kind("askalike.text.features", "askalike.features", "Features", ("load", "save", "encode")),
    "command": Kind("", "askalike.commands", "", ("heading", "summary", "target"), False),
    "device": Kind("", "askalike.devices", "", ("encode",)),
    "trainer": Kind(
        "", "askalike.trainers", "", ("recipe_names", "internal_names", "load_recipe", "shorten_setting"), False
    ),
    "tuning_family": Kind("", "askalike.tuning_families", "", ("name", "complexity", "recipe"), False),
}


def add_kind(name: str, kind: Kind) -> None:
    """Add a kind of another package's own, whose entries it finds as askalike finds its own, in its folder or others'.

    A package calls this when it is imported. Raises SettingsError if there is another kind of that name.
    """
    if KINDS.setdefault(name, kind) != kind:
        raise SettingsError(f"{kind.group}: a kind is called {name!r} already; choose another name")


def names(kind: str) -> tuple[str, ...]:
    """Return the registered names of one kind, sorted. Raises SettingsError for an invalid entry point."""
    return tuple(sorted((*builtin_names(kind), *_entry_points(kind))))


@cache
def builtin_names(kind: str) -> tuple[str, ...]:
    """Return the names of one kind that come with askalike, sorted. The kind's package is not imported."""
    spec = importlib.util.find_spec(KINDS[kind].package) if KINDS[kind].package else None
    files = pkgutil.iter_modules((spec and spec.submodule_search_locations) or ())
    found = (file.name for file in files if not file.ispkg and not file.name.startswith("_"))
    return tuple(sorted(found))


def find_kind(name: str, kinds: Sequence[str]) -> str | None:
    """Return the first of the kinds that has an entry of this name, built-in entries before all others.

    Entry points are read only for a name that is not built-in.
    """
    builtin = next((kind for kind in kinds if name in builtin_names(kind)), None)
    return builtin or next((kind for kind in kinds if name in _entry_points(kind)), None)


def load(kind: str, name: str) -> Any:
    """Return the class, or the object, registered under a name, imported on first use; `-` is read as `_`.

    Raises SettingsError, with the known names for an unknown name, and with the package's name for an entry of another
    package that cannot be used.
    """
    name = name.replace("-", "_")
    if name in builtin_names(kind):
        return _load_builtin(KINDS[kind], name)
    if name not in _entry_points(kind):
        raise SettingsError(f"no {kind} is called {name!r}; there are: {', '.join(names(kind))}")
    return _load_entry_point(kind, _entry_points(kind)[name])


def _load_builtin(kind: Kind, name: str) -> type[Any]:
    module = importlib.import_module(f"{kind.package}.{name}")
    entries = [
        value
        for key, value in vars(module).items()
        if key.endswith(kind.suffix) and not key.startswith("_") and value.__module__ == module.__name__
    ]
    if len(entries) != 1:
        raise SettingsError(f"{module.__file__}: expected one class whose name ends with {kind.suffix}")
    return entries[0]  # type: ignore[no-any-return]


@cache
def installed_entry_points() -> Any:
    """Return the entry points of all groups: reading them takes as long as reading those of one."""
    from importlib.metadata import entry_points

    return entry_points()


@cache
def _entry_points(kind: str) -> "Mapping[str, EntryPoint]":
    """Return what other packages add to a kind, by name."""
    points: dict[str, EntryPoint] = {}
    for point in installed_entry_points().select(group=KINDS[kind].group):
        problem = ""
        if not ENTRY_NAME_PATTERN.fullmatch(point.name):
            problem = "a name is lower-case letters, digits and '_'"
        elif point.name in builtin_names(kind):
            owner = KINDS[kind].package.partition(".")[0]
            problem = f"{owner} has its own of this name; rename that one or uninstall the package"
        elif point.name in points:
            problem = f"{_package_name(points[point.name])} adds one of this name too; uninstall one of the packages"
        if problem:
            raise SettingsError(f"{_describe(kind, point)}: {problem}")
        points[point.name] = point
    return points


def _load_entry_point(kind: str, point: "EntryPoint") -> Any:
    try:
        entry = point.load()
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"{_describe(kind, point)}: {point.value} cannot be imported ({error})") from None
    missing = [method for method in KINDS[kind].methods if not hasattr(entry, method)]
    if missing or isinstance(entry, type) != KINDS[kind].is_class:
        lacks = f"has no {', '.join(missing)}" if missing else "is not a class"
        problem = f"{point.value} {lacks}; see docs/extending.md"
        raise SettingsError(f"{_describe(kind, point)}: {problem}")
    return entry


def _describe(kind: str, point: "EntryPoint") -> str:
    return f"package {_package_name(point)}: {kind} {point.name!r}"


def _package_name(point: "EntryPoint") -> str:
    return point.dist.name if point.dist else "?"
