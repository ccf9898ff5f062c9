"""The tables and keys of an experiment's TOML file, each checked by itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    ValidationInfo,
    field_validator,
    model_validator,
)

from askalike import rankers
from askalike.config import Settings
from askalike.encoders.recipes import list_trainable
from askalike.errors import SettingsError
from askalike.evaluation import rules
from askalike.evaluation.measures import canonical_name
from askalike.experiments.folder import file_name
from askalike.experiments.measuring import DEFAULT_MEASURES


def _check_measure(name: str) -> str:
    try:
        canonical_name(name)
    except SettingsError as error:
        raise ValueError(error) from None
    return name


def _check_ranker(name: str, info: ValidationInfo) -> str:
    archive = (info.context or {}).get("archive")
    known = (*rankers.names(), *(rankers.trained_model_names(archive) if archive else ()))
    if name not in (*known, *rankers.ANSWER_RANKERS, *list_trainable()):
        raise ValueError(f"no ranker is called {name!r}; there are: {', '.join(known)}")
    return name


def _check_rule(name: str) -> str:
    try:
        return rules.get_rule(name).name
    except SettingsError as error:
        raise ValueError(error) from None


Measure = Annotated[str, AfterValidator(_check_measure)]
Grid = dict[str, tuple[Any, ...]]
"""Setting → the values to try."""
Share = Annotated[StrictFloat, Field(ge=0, le=1)]


class PartitionSettings(Settings):
    """`[partition]`: a split that is cut into parts, `NAME/train`, `NAME/test`, …, as `askalike split` does.

    It is cut where the archive has no partition of that name. One that was cut with other options is refused.
    """

    by: str = Field("cluster", description="what keeps the parts apart: cluster, category, tag, time or folds")
    of: str | None = Field(None, description="the split to cut; default: the archive's first")
    name: str | None = Field(None, min_length=1, description="what the parts' names begin with; default: as `by`")
    shares: tuple[StrictFloat, ...] | None = Field(None, description="by cluster, category or tag: of train, dev, test")
    before: str | None = Field(None, description="by time: train ends before it")
    after: str | None = Field(None, description="by time: test begins at it")
    folds: StrictInt | None = Field(None, description="how many folds")
    seed: StrictInt | None = Field(None, description="of the order of clusters")

    @property
    def settings(self) -> dict[str, Any]:
        """The given settings of its splitter."""
        return self.model_dump(exclude={"by", "of", "name"}, exclude_none=True)


class SystemSettings(Settings):
    """One row of the table: `[[system]]`. Lists in `settings` are values as they stand; what is tried is in `tune`."""

    ranker: Annotated[str, AfterValidator(_check_ranker)] = Field(description="as --ranker takes it")
    label: str = Field(min_length=1, description="how tables call it; default: the ranker's name")
    settings: dict[str, Any] = Field({}, description="as --set takes them")
    tune: StrictBool | tuple[Grid, ...] = Field(
        False, union_mode="left_to_right", description="true: the ranker's own grid; or setting → values to try"
    )
    tune_measure: Measure | None = Field(None, description="what tuning maximises; default: the first measure")
    paper: dict[Measure, Share] = Field({}, description="measure → the value that a paper gives, as a share of 1")

    @model_validator(mode="before")
    @classmethod
    def _default_label(cls, values: Any) -> Any:
        """Use the ranker's name where no label is given."""
        return {"label": values.get("ranker", "system"), **values} if isinstance(values, Mapping) else values

    @field_validator("tune", mode="before")
    @classmethod
    def _normalise_grids(cls, tune: Any) -> Any:
        """Return a bool, or a tuple of grids, which are tried one after the other; a single grid becomes a tuple."""
        grids = tune if isinstance(tune, list | tuple) else [tune]
        if isinstance(tune, bool) or (grids and all(map(_is_grid, grids))):
            return tune if isinstance(tune, bool) else tuple(grids)
        raise ValueError(f"{tune!r} is no grid; expected true, or lists of values as in {{ k1 = [0.6, 1.2] }}")

    @field_validator("settings")
    @classmethod
    def _check_settings(cls, settings: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        _check_ranker_settings(info, [settings])
        return settings

    @field_validator("tune")
    @classmethod
    def _check_grids(cls, tune: bool | tuple[Grid, ...], info: ValidationInfo) -> bool | tuple[Grid, ...]:
        """Raise ValueError for a value of the grids that the ranker refuses."""
        tried = [
            (key, value) for grid in (tune if isinstance(tune, tuple) else ()) for key in grid for value in grid[key]
        ]
        if "settings" in info.data:
            _check_ranker_settings(info, [{**info.data["settings"], key: value} for key, value in tried])
        return tune


class Experiment(Settings):
    """One experiment, as its TOML declares it."""

    title: str = Field(description="what the report is called; default: the file's name")
    archive: Path = Field(description="the archive's directory, seen from where the command is given")
    split: str = Field("test", min_length=1, description="whose queries are measured")
    dev: str = Field("dev", min_length=1, description="whose queries tune")
    fields: Literal["title", "body", "title,body"] | None = Field(None, description="what every system searches")
    measures: tuple[Measure, ...] = Field(DEFAULT_MEASURES, description="as ir-measures writes them")
    rule: Annotated[str, AfterValidator(_check_rule)] = Field("trec_eval", description="ties, self-hits, what counts 0")
    k: StrictInt = Field(100, ge=1, description="how deep is ranked")
    seeds: tuple[Annotated[StrictInt, Field(ge=0)], ...] = Field((0,), description="for what is random")
    task: Literal["questions", "answers"] = Field(
        "questions", description="what is ranked: questions, or answers, of which identical ones are one"
    )
    typing_curve: StrictBool = Field(False, description="measure questions that are half typed, too")
    known_differences: tuple[str, ...] = Field((), description="differences from the paper that are known of")
    partition: PartitionSettings | None = None
    system: tuple[SystemSettings, ...]

    @field_validator("measures", "seeds")
    @classmethod
    def _check_unique(cls, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if not values:
            raise ValueError("the list is empty; expected one at least")
        names = [canonical_name(value) if isinstance(value, str) else value for value in values]
        if twice := sorted({str(v) for v, name in zip(values, names, strict=True) if names.count(name) > 1}):
            raise ValueError(f"{', '.join(twice)} given twice")
        return values

    @field_validator("system")
    @classmethod
    def _check_labels(cls, systems: tuple[SystemSettings, ...]) -> tuple[SystemSettings, ...]:
        if not systems:
            raise ValueError("no system is given; expected a [[system]] table or more")
        files = [file_name(system.label) for system in systems]
        if twice := sorted({s.label for s, file in zip(systems, files, strict=True) if files.count(file) > 1}):
            raise ValueError(f"labels {', '.join(map(repr, twice))} make the same file name; give each its own label")
        return systems

    @field_validator("typing_curve")
    @classmethod
    def _check_typing_curve(cls, typing_curve: bool, info: ValidationInfo) -> bool:
        if typing_curve and info.data.get("task") == "answers":
            raise ValueError("typing_curve is of questions as they are typed; leave it out where task = answers")
        return typing_curve

    def ranker_settings(self, system: SystemSettings) -> dict[str, Any]:
        """Return the settings of a system's ranker before tuning: the experiment's fields, and its own settings."""
        return ({"fields": self.fields} if self.fields else {}) | system.settings


def _is_grid(value: Any) -> bool:
    lists = value.values() if isinstance(value, Mapping) else ()
    return bool(lists) and all(isinstance(tried, list | tuple) and tried for tried in lists)


def _check_ranker_settings(info: ValidationInfo, settings_list: list[dict[str, Any]]) -> None:
    """Raise ValueError with all errors that the ranker finds in any of these settings.

    The context of the validation may name the `archive`, whose trained models are rankers, too.
    """
    errors = []
    for settings in settings_list if "ranker" in info.data else ():
        try:
            rankers.create(info.data["ranker"], settings, (info.context or {}).get("archive"))
        except SettingsError as error:
            errors.append(str(error))
    if errors:
        raise ValueError("; ".join(dict.fromkeys(errors)))
