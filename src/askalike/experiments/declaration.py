"""From a TOML file to an experiment that can run: variables, changes to it, everything that is wrong at once."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from askalike.config import describe_errors, format_path
from askalike.errors import ArchiveError, SettingsError
from askalike.evaluation.measures import canonical_name
from askalike.experiments import steps as joints
from askalike.experiments.measuring import DEFAULT_MEASURES
from askalike.experiments.settings import Experiment, PartitionSettings
from askalike.labels.splits import DocumentKind, load_split
from askalike.store.archive import Archive

VARIABLE = re.compile(r"\$\{(\w*)(?::-([^}]*))?\}")
"""`${NAME}` or `${NAME:-what it is where the environment has no NAME}`."""


def read_experiment(path: Path, changes: Mapping[str, Any] | None = None) -> Experiment:
    """The experiment that a TOML file declares, `changes` (key, or `table.key` → value) made to it first.

    Raises SettingsError with everything that is wrong, one line each with its path: keys, types, variables that are
    not set, rankers and their settings, an archive or splits that are not there, measures of a paper not measured.
    """
    values: dict[str, Any] = {"title": path.stem, **_read_toml(path)}
    for key, value in (changes or {}).items():
        _set_value(values, key.split("."), value)
    found: list[str] = []
    values = _expand_variables(values, (), found)
    experiment = _validate(values, found)
    if experiment is None or found:
        raise SettingsError(_format_errors(path, found))
    return experiment


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}; expected an experiment's TOML file") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not UTF-8; a TOML file is") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: no TOML: {error}") from None


def _set_value(values: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        inner = values.setdefault(key, {})
        if not isinstance(inner, dict):
            raise SettingsError(f"--set {'.'.join(keys)}: {key} is no table; change it in the file")
        values = inner
    values[keys[-1]] = value


def _expand_variables(value: Any, path: tuple[str | int, ...], errors: list[str]) -> Any:
    """The value with its variables replaced, in tables and lists too; those that are not set are noted."""
    if isinstance(value, Mapping):
        return {key: _expand_variables(inner, (*path, key), errors) for key, inner in value.items()}
    if isinstance(value, list):
        return [_expand_variables(inner, (*path, i), errors) for i, inner in enumerate(value)]
    return VARIABLE.sub(lambda name: _expand_variable(name, path, errors), value) if isinstance(value, str) else value


def _expand_variable(match: re.Match[str], path: tuple[str | int, ...], errors: list[str]) -> str:
    value = os.environ.get(match[1], match[2])
    if value is None:
        errors.append(
            f"{format_path(path)}: the variable {match[1]} is not set; export it, or write ${{{match[1]}:-DEFAULT}}"
        )
    return match[0] if value is None else value


def _validate(values: dict[str, Any], errors: list[str]) -> Experiment | None:
    """The experiment, or None where a table or key is wrong; what is missing in the world is looked for either way."""
    values = {"split": "test", "dev": "dev", "measures": list(DEFAULT_MEASURES), **values}
    try:
        experiment = Experiment.model_validate(values, context=_validation_context(values))
    except ValidationError as error:
        errors += describe_errors(Experiment, error)
        values, experiment = _drop_invalid(values, error), None
    errors += _find_missing(values)
    return experiment


def _validation_context(values: Mapping[str, Any]) -> dict[str, Path]:
    """What settings are judged with: the archive, whose models are rankers, where it is told."""
    named = values.get("archive")
    return {"archive": Path(named).expanduser()} if isinstance(named, str) and not VARIABLE.search(named) else {}


def _drop_invalid(values: Mapping[str, Any], error: ValidationError) -> dict[str, Any]:
    """What is right of the values: no key, and no system, that an error is about, nor what cannot be told without."""
    wrong = {e["loc"][:2] for e in error.errors()}
    keys = {loc[0] for loc in wrong} - {"system"}
    if "partition" in keys:
        keys |= {"split", "dev"}
    systems = values.get("system")
    right = [s for i, s in enumerate(systems) if ("system", i) not in wrong] if isinstance(systems, list) else []
    return {key: value for key, value in values.items() if key not in keys} | {"system": right}


def _find_missing(values: Mapping[str, Any]) -> Iterator[str]:
    """What the values name and is not there. They are right as far as they go; what was wrong is left out."""
    for i, system in enumerate(values["system"]):
        for name in system.get("paper", {}):
            if "measures" in values and canonical_name(name) not in map(canonical_name, values["measures"]):
                label = system.get("label", system["ranker"])
                yield f"system[{i}].paper: {label} has a value of {name}, which is not among the measures"
    if not VARIABLE.search(values.get("archive", "${}")):
        tunes = any(system.get("tune") for system in values["system"])
        yield from _find_missing_data(values, ("split", "dev") if tunes else ("split",))


def _find_missing_data(values: Mapping[str, Any], keys: Sequence[str]) -> Iterator[str]:
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
            made = (
                joints.split_names(PartitionSettings.model_validate(values["partition"]))
                if "partition" in values
                else set()
            )
        except SettingsError as error:
            yield f"partition: {error}"
            return
        for key in keys:
            if key in values and values[key] not in made:
                yield from _check_split(archive, key, values[key], values.get("task", "questions"))


def _check_split(archive: Archive, key: str, name: str, kind: DocumentKind) -> Iterator[str]:
    try:
        load_split(archive, name, kind)
    except ArchiveError as error:
        yield f"{key}: {error}"


def _format_errors(path: Path, errors: list[str]) -> str:
    if len(errors) == 1:
        return f"{path}: {errors[0]}"
    return "\n  ".join((f"{path}: {len(errors)} things are wrong:", *errors))
