"""An experiment's TOML file: read with its variables and changes, checked for all errors at once, and resolved."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from askalike import rankers
from askalike.config import describe_errors, format_path, validate_settings
from askalike.errors import ArchiveError, SettingsError
from askalike.evaluation.measures import canonical_name
from askalike.experiments.grid_search import tuning_grids
from askalike.experiments.measuring import DEFAULT_MEASURES
from askalike.experiments.settings import Experiment, PartitionSettings, SystemSettings
from askalike.labels.splits import load_split
from askalike.labels.splitters import SPLITTERS
from askalike.store import Archive
from askalike.types import DocumentKind

VARIABLE = re.compile(r"\$\{(\w*)(?::-([^}]*))?\}")
"""`${NAME}` or `${NAME:-DEFAULT}`, an environment variable and its default."""


def read_experiment(path: Path, changes: Mapping[str, Any] | None = None) -> Experiment:
    """Return the experiment that a TOML file declares, with `changes` (key or `table.key` → value) made to it first.

    Raises SettingsError with all errors, one line each with its path: keys, types, variables that are not set, rankers
    and their settings, a missing archive or split, a paper's values of measures that are not among the measures.
    """
    values: dict[str, Any] = {"title": path.stem, **_read_toml(path)}
    for key, value in (changes or {}).items():
        _set_value(values, key.split("."), value)
    errors: list[str] = []
    values = _expand_variables(values, (), errors)
    experiment = _validate(values, errors)
    if experiment is None or errors:
        raise SettingsError(_format_errors(path, errors))
    return experiment


def resolve(experiment: Experiment, archive: Archive) -> Experiment:
    """Return the experiment with the archive's full path, every default setting, and every value that is tried.

    It runs the same way with a version that has other defaults, and from another folder.
    """
    systems = tuple(_resolve_system(experiment, system, archive) for system in experiment.system)
    return experiment.model_copy(update={"archive": experiment.archive.expanduser().resolve(), "system": systems})


def _resolve_system(experiment: Experiment, system: SystemSettings, archive: Archive) -> SystemSettings:
    settings = experiment.ranker_settings(system)
    grids = system.tune or ()
    if grids is True:
        tuned = tuning_grids(archive, system.ranker, settings)
        grids = tuple({name: tuple(values) for name, values in grid.items()} for grid in tuned)
    tried = {name for grid in grids for name in grid}
    values = rankers.create(system.ranker, settings, archive.path).values
    changes: dict[str, Any] = {"tune_measure": None}
    if grids:
        changes = {"tune": grids, "tune_measure": system.tune_measure or experiment.measures[0]}
    fixed = {name: value for name, value in values.items() if name not in tried and value is not None}
    return system.model_copy(update={"settings": fixed, **changes})


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
    """Return the value with its variables replaced, also within tables and lists; add an error for each unset one."""
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
    """Return the experiment, or None where a table or key is wrong. Add all errors, those of missing data included."""
    values = {"split": "test", "dev": "dev", "measures": list(DEFAULT_MEASURES), **values}
    try:
        experiment = Experiment.model_validate(values, context=_validation_context(values))
    except ValidationError as error:
        errors += describe_errors(Experiment, error)
        values, experiment = _drop_invalid(values, error), None
    errors += _find_missing(values)
    return experiment


def _validation_context(values: Mapping[str, Any]) -> dict[str, Path]:
    """Return the archive, if it is given: its trained models are rankers, too."""
    path = values.get("archive")
    return {"archive": Path(path).expanduser()} if isinstance(path, str) and not VARIABLE.search(path) else {}


def _drop_invalid(values: Mapping[str, Any], error: ValidationError) -> dict[str, Any]:
    """Return the values without each key and system that an error is about, and without what depends on those."""
    wrong = {e["loc"][:2] for e in error.errors()}
    keys = {loc[0] for loc in wrong} - {"system"}
    if "partition" in keys:
        keys |= {"split", "dev"}
    systems = values.get("system")
    right = [s for i, s in enumerate(systems) if ("system", i) not in wrong] if isinstance(systems, list) else []
    return {key: value for key, value in values.items() if key not in keys} | {"system": right}


def _find_missing(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield an error for each thing that valid values name and that does not exist."""
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
        parts: set[str] = set()
        try:
            if "partition" in values:
                parts = _part_names(PartitionSettings.model_validate(values["partition"]))
        except SettingsError as error:
            yield f"partition: {error}"
            return
        for key in keys:
            if key in values and values[key] not in parts:
                yield from _check_split(archive, key, values[key], values.get("task", "questions"))


def _part_names(partition: PartitionSettings) -> set[str]:
    """Return the names of the splits that a partition makes. Raises SettingsError where its settings are wrong."""
    if partition.by not in SPLITTERS:
        raise SettingsError(f"a split cannot be cut by {partition.by!r}; it can by: {', '.join(SPLITTERS)}")
    splitter = validate_settings(SPLITTERS[partition.by], partition.settings, f"cut by {partition.by}")
    return {f"{partition.name or partition.by}/{part}" for part in splitter.part_names}


def _check_split(archive: Archive, key: str, name: str, kind: DocumentKind) -> Iterator[str]:
    try:
        load_split(archive, name, kind)
    except ArchiveError as error:
        yield f"{key}: {error}"


def _format_errors(path: Path, errors: list[str]) -> str:
    if len(errors) == 1:
        return f"{path}: {errors[0]}"
    return "\n  ".join((f"{path}: {len(errors)} things are wrong:", *errors))
