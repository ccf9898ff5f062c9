"""From a TOML file to an experiment that can run: variables, changes to it, everything that is wrong at once."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from askalike.archive.splits import Of, split
from askalike.archive.store import Archive
from askalike.config import path_text, problems
from askalike.errors import ArchiveError, SettingsError
from askalike.evaluation.names import canonical
from askalike.experiment import joints
from askalike.experiment.measuring import USUAL
from askalike.experiment.settings import Experiment, Partition

VARIABLE = re.compile(r"\$\{(\w*)(?::-([^}]*))?\}")
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
    return name[0] if value is None else value


def _declared(values: dict[str, Any], found: list[str]) -> Experiment | None:
    """The experiment, or None where a table or key is wrong; what is missing in the world is looked for either way."""
    values = {"split": "test", "dev": "dev", "measures": list(USUAL), **values}
    try:
        experiment = Experiment.model_validate(values, context=_known(values))
    except ValidationError as error:
        found += problems(Experiment, error)
        values, experiment = _without(values, error), None
    found += _missing(values)
    return experiment


def _known(values: Mapping[str, Any]) -> dict[str, Path]:
    """What settings are judged with: the archive, whose models are rankers, where it is told."""
    named = values.get("archive")
    return {"archive": Path(named).expanduser()} if isinstance(named, str) and not VARIABLE.search(named) else {}


def _without(values: Mapping[str, Any], error: ValidationError) -> dict[str, Any]:
    """What is right of the values: no key, and no system, that an error is about, nor what cannot be told without."""
    wrong = {e["loc"][:2] for e in error.errors()}
    keys = {loc[0] for loc in wrong} - {"system"}
    if "partition" in keys:
        keys |= {"split", "dev"}
    systems = values.get("system")
    right = [s for i, s in enumerate(systems) if ("system", i) not in wrong] if isinstance(systems, list) else []
    return {key: value for key, value in values.items() if key not in keys} | {"system": right}


def _missing(values: Mapping[str, Any]) -> Iterator[str]:
    """What the values name and is not there. They are right as far as they go; what was wrong is left out."""
    for i, system in enumerate(values["system"]):
        for name in system.get("paper", {}):
            if "measures" in values and canonical(name) not in map(canonical, values["measures"]):
                label = system.get("label", system["ranker"])
                yield f"system[{i}].paper: {label} has a value of {name}, which is not among the measures"
    if not VARIABLE.search(values.get("archive", "${}")):
        tunes = any(system.get("tune") for system in values["system"])
        yield from _missing_data(values, ("split", "dev") if tunes else ("split",))


def _missing_data(values: Mapping[str, Any], keys: Sequence[str]) -> Iterator[str]:
    try:
        archive = Archive.open(Path(values["archive"]).expanduser())
    except ArchiveError as error:
        yield f"archive: {error}"
        return
    with archive:
        if groups := archive.meta.get("groups"):
            yield (
                f"archive: {archive.path} holds {len(groups)} groups ({', '.join(groups[:3])}, …), each to be ranked "
                "within itself; import one alone, or measure their macro average with: askalike evaluate"
            )
        try:
            made = joints.parts(Partition.model_validate(values["partition"])) if "partition" in values else set()
        except SettingsError as error:
            yield f"partition: {error}"
            return
        for key in keys:
            if key in values and values[key] not in made:
                yield from _refused(archive, key, values[key], values.get("task", "questions"))


def _refused(archive: Archive, key: str, name: str, of: Of) -> Iterator[str]:
    try:
        split(archive, name, of)
    except ArchiveError as error:
        yield f"{key}: {error}"


def _told(path: Path, found: list[str]) -> str:
    if len(found) == 1:
        return f"{path}: {found[0]}"
    return "\n  ".join((f"{path}: {len(found)} things are wrong:", *found))
