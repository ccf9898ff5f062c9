"""An experiment's TOML file: its tables and keys, variables, overridden values, validation, and all its defaults."""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from askalike import Archive, ArchiveError, Settings, SettingsError, build, load_split
from askalike.plugin.commands import DateText, FieldNames, describe_errors, format_count, format_path
from askalike.plugin.measuring import (
    DEFAULT_MEASURES,
    canonical_name,
    create_splitter,
    get_rule,
    parse_typed_split,
    tuning_grids,
)
from askalike.plugin.rankers import ANSWER_RANKERS, names as ranker_names, trained_model_names
from askalike.plugin.training import list_recipes
from askalike_research.comparing.run_sources import file_name

Grid = dict[str, tuple[Any, ...]]
"""Setting → the values to try."""
Share = Annotated[StrictFloat, Field(ge=0, le=1)]
RUN_FILE = "run"
"""The value of `ranker` for a system that is a run file."""
GIVEN_ORDER = "candidates"
"""As a system's run: each query's candidates in the order of the split; left out where queries have none."""
SEED = "{seed}"
"""In a run file's name, stands for a seed of the experiment."""
VARIABLE = re.compile(r"\$\{(\w*)(?::-([^}]*))?\}")
"""`${NAME}` or `${NAME:-DEFAULT}`, an environment variable and its default."""


def _checked_by(check: Callable[[str], Any]) -> AfterValidator:
    """Return a validator of names for which a function raises SettingsError."""

    def validate(name: str) -> str:
        try:
            check(name)
        except SettingsError as error:
            raise ValueError(error) from None
        return name

    return AfterValidator(validate)


def _check_ranker(name: str, info: ValidationInfo) -> str:
    if name == RUN_FILE:
        return name
    archive = (info.context or {}).get("archive")
    known = (*ranker_names(), *(trained_model_names(archive) if archive else ()))
    if name not in (*known, *ANSWER_RANKERS, *list_recipes()):
        raise ValueError(f"no ranker is called {name!r}; there are: {', '.join(known)}")
    return name


Measure = Annotated[str, _checked_by(canonical_name)]


class PartitionSettings(Settings):
    """`[partition]`: a split that is divided into parts, `NAME/train`, `NAME/test`, …, as by `askalike split`.

    It is divided if the archive has no partition of that name. One that was made with other options is refused.
    """

    method: str = Field("cluster", description="what separates the parts: cluster, category, tag, time or folds")
    source_split: str | None = Field(None, description="the split to divide; by default the archive's first")
    name: str | None = Field(None, min_length=1, description="name of the parts, as in NAME/dev; by default the method")
    shares: tuple[StrictFloat, ...] | None = Field(
        None, description="shares of train, dev and test, by cluster, category or tag"
    )
    before: DateText | None = Field(None, description="by time: train ends before this date")
    after: DateText | None = Field(None, description="by time: test begins on this date")
    folds: StrictInt | None = Field(None, description="number of folds")
    seed: StrictInt | None = Field(None, description="seed of the order of clusters")

    @property
    def settings(self) -> dict[str, Any]:
        """The given settings of its splitter."""
        return self.model_dump(exclude={"method", "source_split", "name"}, exclude_none=True)


class SystemSettings(Settings):
    """`[[system]]`: one row of the table. A list in `settings` is one value; lists of values to try are in `tune`."""

    ranker: Annotated[str, AfterValidator(_check_ranker)] = Field(description="the ranker's name, as for --ranker")
    label: str = Field(min_length=1, description="name in tables; by default the ranker's name")
    settings: dict[str, Any] = Field({}, description="the ranker's settings, as for --set")
    tune: StrictBool | tuple[Grid, ...] = Field(
        False,
        union_mode="left_to_right",
        description="true for the ranker's own grid, or lists of values to try by setting",
    )
    tune_measure: Measure | None = Field(
        None, description="the measure that tuning maximises; by default the first one"
    )
    paper: dict[Measure, Share] = Field({}, description="values that a paper reports, by measure, as shares of 1")
    trained_on: str = Field("", description="the data that its model was trained on, for tables")
    may_have_seen: tuple[str, ...] = Field(
        (), description="directory names of archives whose texts may be among the training data"
    )
    run: Literal["candidates"] | Path | None = Field(
        None,
        description="a run file of another system, instead of a ranker, or one of each seed: `model-{seed}.trec`; "
        "`candidates`: each query's candidates as given",
    )

    def run_file(self, seed: int | None) -> Path:
        """Return the run file of a seed; None: of a run that has no seed in its name."""
        return Path(str(self.run).replace(SEED, str(seed)))

    @model_validator(mode="before")
    @classmethod
    def _default_label(cls, values: Any) -> Any:
        """Use the name of the ranker or run file if no label is given. A run has no settings."""
        if not isinstance(values, Mapping) or "run" not in values:
            return {"label": values.get("ranker", "system"), **values} if isinstance(values, Mapping) else values
        if others := sorted(values.keys() & {"ranker", "settings", "tune", "tune_measure"} - {"ranker"}):
            raise ValueError(f"run and {', '.join(others)}: a run file is measured as it is; remove them")
        if values.get("ranker", RUN_FILE) != RUN_FILE:
            raise ValueError("run and ranker: expected one of them")
        return {"label": Path(str(values["run"])).name.partition(".")[0], **values, "ranker": RUN_FILE}

    @model_validator(mode="after")
    def _check_run(self) -> "SystemSettings":
        if self.ranker == RUN_FILE and self.run is None:
            raise ValueError("no run; expected run = FILE, or the name of a ranker")
        return self

    @field_validator("tune", mode="before")
    @classmethod
    def _normalise_grids(cls, tune: Any) -> Any:
        """Return a bool, or a tuple of grids to try one after the other; a single grid becomes a tuple."""
        grids = tune if isinstance(tune, list | tuple) else [tune]
        if isinstance(tune, bool) or (grids and all(map(_is_grid, grids))):
            return tune if isinstance(tune, bool) else tuple(grids)
        raise ValueError(f"{tune!r} is not a grid; expected true, or lists of values as in {{ k1 = [0.6, 1.2] }}")

    @field_validator("settings")
    @classmethod
    def _check_settings(cls, settings: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        _check_ranker_settings(info, [settings])
        return settings

    @field_validator("tune")
    @classmethod
    def _check_grids(cls, tune: bool | tuple[Grid, ...], info: ValidationInfo) -> bool | tuple[Grid, ...]:
        """Raise ValueError for a value in the grids that is invalid for the ranker."""
        grids = tune if isinstance(tune, tuple) else ()
        settings = info.data.get("settings")
        tried = [(key, value) for grid in grids for key, values in grid.items() for value in values]
        if settings is not None:
            _check_ranker_settings(info, [{**settings, key: value} for key, value in tried])
        return tune


class Experiment(Settings):
    """An experiment as declared in TOML."""

    title: str = Field(description="title of the report; by default the file's name")
    archive: Path = Field(description="the archive's directory, relative to the working directory")
    engine: str | None = Field(None, description="the engine that holds the indexes, NAME+URL; by default files do")
    split: str = Field("test", min_length=1, description="the split whose queries are measured")
    dev: str = Field("dev", min_length=1, description="the split whose queries are used for tuning")
    fields: FieldNames | None = Field(None, description="the fields that every system searches")
    measures: tuple[Measure, ...] = Field(DEFAULT_MEASURES, description="measures as ir-measures writes them")
    rule: Annotated[str, _checked_by(get_rule)] = Field(
        "trec_eval", description="how ties, self-hits and unanswered queries count"
    )
    k: StrictInt = Field(100, ge=1, description="number of documents per query")
    max_queries: StrictInt | None = Field(
        None, ge=1, description="maximum number of queries of split and of dev, drawn at random; by default all"
    )
    seeds: tuple[Annotated[StrictInt, Field(ge=0)], ...] = Field(
        (0,), description="seeds of everything that is drawn at random"
    )
    task: Literal["questions", "answers"] = Field(
        "questions", description="whether questions or answers are ranked; identical answers count as one"
    )
    typing_curve: StrictBool = Field(False, description="whether unfinished questions are measured, too")
    baseline: str | None = Field(None, description="the system that plots compare with; by default the first")
    known_differences: tuple[str, ...] = Field((), description="known differences from the paper")
    partition: PartitionSettings | None = None
    system: tuple[SystemSettings, ...]

    @field_validator("measures", "seeds")
    @classmethod
    def _check_unique(cls, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if not values:
            raise ValueError("the list is empty; expected at least one")
        names = [canonical_name(value) if isinstance(value, str) else value for value in values]
        if twice := sorted({str(v) for v, name in zip(values, names, strict=True) if names.count(name) > 1}):
            raise ValueError(f"{', '.join(twice)} given twice")
        return values

    @field_validator("system")
    @classmethod
    def _check_labels(cls, systems: tuple[SystemSettings, ...]) -> tuple[SystemSettings, ...]:
        if not systems:
            raise ValueError("no systems; expected at least one [[system]] table")
        files = [file_name(system.label) for system in systems]
        if twice := sorted({s.label for s, file in zip(systems, files, strict=True) if files.count(file) > 1}):
            raise ValueError(f"labels {', '.join(map(repr, twice))} make the same file name; give each its own label")
        return systems

    @model_validator(mode="after")
    def _check_baseline(self) -> "Experiment":
        if self.baseline is not None and self.baseline not in (labels := [system.label for system in self.system]):
            raise ValueError(f"baseline = {self.baseline!r} is not a label; expected one of: {', '.join(labels)}")
        return self

    @field_validator("typing_curve")
    @classmethod
    def _check_typing_curve(cls, typing_curve: bool, info: ValidationInfo) -> bool:
        if typing_curve and info.data.get("task") == "answers":
            raise ValueError("typing_curve needs task = questions; remove one of them")
        return typing_curve

    def ranker_settings(self, system: SystemSettings) -> dict[str, Any]:
        """Return the settings of a system's ranker before tuning: the experiment's fields, and its own settings."""
        return ({"fields": self.fields} if self.fields else {}) | system.settings


def _is_grid(value: Any) -> bool:
    lists = value.values() if isinstance(value, Mapping) else ()
    return bool(lists) and all(isinstance(tried, list | tuple) and tried for tried in lists)


def _check_ranker_settings(info: ValidationInfo, settings_list: list[dict[str, Any]]) -> None:
    """Raise ValueError with all errors of the ranker. An `archive` in the context adds its models as rankers."""
    errors = []
    for settings in settings_list if info.data.get("ranker", RUN_FILE) != RUN_FILE else ():
        try:
            build(info.data["ranker"], settings, (info.context or {}).get("archive"))
        except SettingsError as error:
            errors.append(str(error))
    if errors:
        raise ValueError("; ".join(dict.fromkeys(errors)))


def read_experiment(path: Path, changes: Mapping[str, Any] | None = None) -> Experiment:
    """Return the experiment declared in a TOML file, after `changes` to it (key or `table.key` → value).

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
        first, *others = [f"{format_count(len(errors), 'error')}:", *errors] if len(errors) > 1 else errors
        raise SettingsError(f"{path}: {first}", *others)
    return experiment


def resolve(experiment: Experiment, archive: Archive) -> Experiment:
    """Return the experiment with the archive's full path, all default settings, and all values to try.

    So it runs the same way with a version that has other defaults, and from another folder.
    """
    systems = tuple(_resolve_system(experiment, system, archive) for system in experiment.system)
    return experiment.model_copy(update={"archive": experiment.archive.expanduser().resolve(), "system": systems})


def _resolve_system(experiment: Experiment, system: SystemSettings, archive: Archive) -> SystemSettings:
    if isinstance(system.run, Path):
        return system.model_copy(update={"run": system.run.expanduser().resolve()})
    if system.run is not None:
        return system
    settings = experiment.ranker_settings(system)
    grids = system.tune or ()
    if grids is True:
        tuned = tuning_grids(archive, system.ranker, settings)
        grids = tuple({name: tuple(values) for name, values in grid.items()} for grid in tuned)
    values = build(system.ranker, settings, archive.path).values
    tried = {full_name for grid in grids for name in grid for full_name in _full_names(name, values)}
    changes: dict[str, Any] = {"tune_measure": None}
    if grids:
        changes = {"tune": grids, "tune_measure": system.tune_measure or experiment.measures[0]}
    fixed = {name: value for name, value in values.items() if name not in tried and value is not None}
    return system.model_copy(update={"settings": fixed, **changes})


def _full_names(name: str, values: Mapping[str, Any]) -> Sequence[str]:
    """Return the full names of the settings with a short name: `learning_rate` is `training.learning_rate`."""
    return [name] if name in values else [full for full in values if full.endswith(f".{name}")]


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}; expected an experiment's TOML file") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not UTF-8, as TOML files must be") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None


def _set_value(values: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        inner = values.setdefault(key, {})
        if not isinstance(inner, dict):
            raise SettingsError(f"--set {'.'.join(keys)}: {key} is not a table; change it in the file")
        values = inner
    values[keys[-1]] = value


def _expand_variables(value: Any, path: tuple[str | int, ...], errors: list[str]) -> Any:
    """Return the value with its variables expanded, also in tables and lists; add an error for each unset one."""
    if isinstance(value, Mapping):
        return {key: _expand_variables(inner, (*path, key), errors) for key, inner in value.items()}
    if isinstance(value, list):
        return [_expand_variables(inner, (*path, i), errors) for i, inner in enumerate(value)]
    return VARIABLE.sub(lambda name: _expand_variable(name, path, errors), value) if isinstance(value, str) else value


def _expand_variable(match: re.Match[str], path: tuple[str | int, ...], errors: list[str]) -> str:
    value = os.environ.get(match[1], match[2])
    if value is None:
        name = match[1]
        key = format_path(path)
        errors.append(f"{key}: the variable {name} is not set; export it, or write ${{{name}:-DEFAULT}}")
    return match[0] if value is None else value


def _validate(values: dict[str, Any], errors: list[str]) -> Experiment | None:
    """Return the experiment, or None if a table or key is invalid. Add all errors, including those of missing data."""
    values = {"split": "test", "dev": "dev", "measures": list(DEFAULT_MEASURES), **values}
    path = values.get("archive")
    context = {"archive": Path(path).expanduser()} if isinstance(path, str) and not VARIABLE.search(path) else {}
    try:
        experiment = Experiment.model_validate(values, context=context)
    except ValidationError as error:
        errors += describe_errors(Experiment, error)
        values = _drop_invalid(values, error)
        experiment = None
    errors += _find_missing(values)
    return experiment


def _drop_invalid(values: Mapping[str, Any], error: ValidationError) -> dict[str, Any]:
    """Return the values without the keys and systems that have errors, and those that depend on them."""
    wrong = {e["loc"][:2] for e in error.errors() if e["loc"]}  # without a place: of several keys
    keys = {loc[0] for loc in wrong} - {"system"}
    if "partition" in keys:
        keys |= {"split", "dev"}
    systems = values.get("system")
    right = [s for i, s in enumerate(systems) if ("system", i) not in wrong] if isinstance(systems, list) else []
    return {key: value for key, value in values.items() if key not in keys} | {"system": right}


def _find_missing(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield an error for each archive, split or file that valid values name and that does not exist."""
    for i, system in enumerate(values["system"]):
        run = str(system.get("run", GIVEN_ORDER))
        for path in dict.fromkeys(run.replace(SEED, str(seed)) for seed in values.get("seeds", (0,))):
            if path != GIVEN_ORDER and not Path(path).expanduser().is_file():
                yield f"system[{i}].run: {path}: no such file; expected a run (query Q0 document rank score tag)"
        for name in system.get("paper", {}):
            if "measures" in values and canonical_name(name) not in map(canonical_name, values["measures"]):
                label = system.get("label", system.get("ranker"))
                yield f"system[{i}].paper: {label} has a value of {name}, which is not one of the measures"
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
        try:
            parts = _part_names(PartitionSettings.model_validate(values["partition"])) if "partition" in values else ()
        except SettingsError as error:
            yield f"partition: {error}"
            return
        for key in keys:
            if key in values and parse_typed_split(values[key])[0] not in parts:
                try:
                    load_split(archive, values[key], values.get("task", "questions"))
                except ArchiveError as error:
                    yield f"{key}: {error}"


def _part_names(partition: PartitionSettings) -> list[str]:
    """Return the names of the parts of a partition. Raises SettingsError if its settings are invalid."""
    splitter = create_splitter(partition.method, partition.settings)
    return [f"{partition.name or partition.method}/{part}" for part in splitter.part_names]
