"""From a TOML file to an experiment that can run: variables, changes from the command line, everything wrong at once."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from askalike.archive.splits import split
from askalike.archive.store import Archive
from askalike.config import path_text, problems
from askalike.errors import ArchiveError, SettingsError
from askalike.evaluation.names import canonical
from askalike.experiment.settings import Experiment, Partition

VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
"""`${NAME}` or `${NAME:-what it is where the environment has no NAME}`."""


def read(path: Path, changes: Mapping[str, Any] | None = None) -> Experiment:
    """The experiment that a TOML file declares, `changes` (key, or `table.key` → value) made to it first.

    Raises SettingsError with everything that is wrong, one line each with its path: keys, types, variables that are
    not set, rankers and their settings, an archive or splits that are not there, measures of a paper not measured.
    """
    values: dict[str, Any] = {"title": path.stem, **_table(path)}
    for key, value in (changes or {}).items():
        _put(values, key.split("."), value)
    found: list[str] = []
    values = _expanded(values, (), found)
    experiment = _declared(values, found)
    if experiment is None or found:
        raise SettingsError(_told(path, found))
    return experiment


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}; expected an experiment's TOML file") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not UTF-8; a TOML file is") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: no TOML: {error}") from None


def _put(values: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        inner = values.setdefault(key, {})
        if not isinstance(inner, dict):
            raise SettingsError(f"--set {'.'.join(keys)}: {key} is no table; change it in the file")
        values = inner
    values[keys[-1]] = value


def _expanded(value: Any, at: tuple[str | int, ...], found: list[str]) -> Any:
    """The value with its variables replaced, in tables and lists too; those that are not set are noted."""
    if isinstance(value, Mapping):
        return {key: _expanded(inner, (*at, key), found) for key, inner in value.items()}
    if isinstance(value, list):
        return [_expanded(inner, (*at, i), found) for i, inner in enumerate(value)]
    return VARIABLE.sub(lambda name: _variable(name, at, found), value) if isinstance(value, str) else value


def _variable(name: re.Match[str], at: tuple[str | int, ...], found: list[str]) -> str:
    value = os.environ.get(name[1], name[2])
    if value is None:
        found.append(f"{path_text(at)}: the variable {name[1]} is not set; export it, or write ${{{name[1]}:-DEFAULT}}")
    return value or ""


def _declared(values: dict[str, Any], found: list[str]) -> Experiment | None:
    """The experiment, or None where a table or key is wrong; what is missing in the world is looked for either way."""
    try:
        experiment = Experiment.model_validate(values)
    except ValidationError as error:
        found += problems(Experiment, error)
        values = _without(values, error)
        experiment = None
    found += _missing(values)
    return experiment


def _without(values: Mapping[str, Any], error: ValidationError) -> dict[str, Any]:
    """What is right of the values: no key, and no system, that an error is about."""
    wrong = {e["loc"][:2] for e in error.errors()}
    kept = {key: value for key, value in values.items() if all(loc[0] != key or key == "system" for loc in wrong)}
    systems = values.get("system")
    if isinstance(systems, list):
        kept["system"] = [s for i, s in enumerate(systems) if ("system", i) not in wrong]
    else:
        kept.pop("system", None)
    return kept


def _missing(values: Mapping[str, Any]) -> Iterator[str]:
    """What the values name and is not there. Their types are right; some may have been left out as wrong."""
    systems = values.get("system", [])
    measured = {canonical(name) for name in values.get("measures", Experiment.model_fields["measures"].default)}
    for i, system in enumerate(systems):
        for name in system.get("paper", {}):
            if canonical(name) not in measured:
                yield f"system[{i}].paper: {name} is not among the measures; measure it, or leave it out"
    if "archive" in values:
        tunes = any(system.get("tune") for system in systems)
        yield from _missing_data(
            Path(values["archive"]).expanduser(), values, ("split", "dev") if tunes else ("split",)
        )


def _missing_data(path: Path, values: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    try:
        archive = Archive.open(path)
    except ArchiveError as error:
        yield f"archive: {error}"
        return
    with archive:
        if groups := archive.meta.get("groups"):
            yield (
                f"archive: {path} holds {len(groups)} groups ({', '.join(groups[:3])}, …), each to be ranked within "
                "itself; import one alone, or measure their macro average with: askalike evaluate"
            )
        made = _made(values.get("partition"))
        for key in keys:
            name = values.get(key, Experiment.model_fields[key].default)
            if name not in made:
                yield from _refused(archive, key, name)


def _made(partition: Mapping[str, Any] | None) -> set[str]:
    """The splits that the experiment itself will make."""
    return set(Partition.model_validate(partition).splits) if partition is not None else set()


def _refused(archive: Archive, key: str, name: str) -> Iterator[str]:
    try:
        split(archive, name)
    except ArchiveError as error:
        yield f"{key}: {error}"


def _told(path: Path, found: list[str]) -> str:
    if len(found) == 1:
        return f"{path}: {found[0]}"
    return "\n  ".join((f"{path}: {len(found)} things are wrong:", *found))
