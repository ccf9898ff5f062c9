"""Rankers made of rankers: how their parts are named, set and indexed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field

from askalike import config
from askalike.encoders._recipe import list_recipes
from askalike.errors import IndexBusyError, SettingsError
from askalike.rankers._numbered import DocidRanker
from askalike.rankers._ranker import TrainedRanker
from askalike.store.view import View
from askalike.types import Progress


def _split_commas(value: Any) -> Any:
    """`a,b` as it is typed, or one value, as a list."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return value if isinstance(value, Sequence) else [value]


PartNames = Annotated[tuple[str, ...], BeforeValidator(_split_commas)]
Weights = Annotated[tuple[float, ...], BeforeValidator(_split_commas)]


class CompositeSettings(config.Settings):
    """Which rankers, what all of them search, and how many documents each proposes."""

    parts: PartNames = Field(
        ("lm_jelinek_mercer", "static"), description="the rankers; PART.KEY sets one of a part's own"
    )
    depth: int = Field(200, ge=1, description="how many documents a part proposes, whatever k is")
    fields: Literal["title", "body", "title,body"] | None = Field(None, description="what every part searches")
    rephrasings: bool | None = Field(None, description="whether a question is found by its rephrasings too")
    seed: int | None = Field(None, ge=0, description="of every part that learns")


class CompositeRanker(DocidRanker):
    """A ranker over other rankers."""

    Settings: ClassVar[type[CompositeSettings]]

    def __init__(self, parts: Sequence[DocidRanker], settings: CompositeSettings, name: str) -> None:
        self.name = name
        self.parts = tuple(parts)
        self.settings = settings

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:
        """The ranker with these settings; those of a part are `part.key`, or a table under the part's name."""
        from askalike.rankers import PART_ONLY, create

        own, nested = _split_settings(values)
        settings = config.validate_settings(cls.Settings, own, name)
        if unknown := nested.keys() - set(settings.parts):
            raise SettingsError(f"{name}: {', '.join(sorted(unknown))} is not one of parts={','.join(settings.parts)}")
        if len(set(settings.parts)) < len(settings.parts):
            raise SettingsError(f"{name}: parts={','.join(settings.parts)}: each part once")
        shared = settings.model_dump(include={"fields", "rephrasings"}, exclude_none=True)
        chance = _part_seeds(name, settings)
        own_of = {
            part: ({} if part in PART_ONLY else shared) | nested.get(part, {}) | chance.get(part, {})
            for part in settings.parts
        }
        parts = [create(part, own_of[part], archive) for part in settings.parts]
        for part in parts:
            if not isinstance(part, DocidRanker):
                raise SettingsError(f"{name}: {part.name} cannot be a part of another ranker")
        return cls(parts, settings, name)  # type: ignore[arg-type]

    @property
    def values(self) -> Mapping[str, Any]:
        """See Ranker.values; a part's are `part.key`."""
        own = self.settings.model_dump()
        return own | {f"{part.name}.{key}": value for part in self.parts for key, value in part.values.items()}

    @property
    def fingerprint(self) -> str:
        """Those of its parts."""
        return " ".join(filter(None, (part.fingerprint for part in self.parts)))

    @property
    def trained_until(self) -> str | None:
        """See Dated: the latest of what its parts know."""
        dates = [part.trained_until for part in self.parts if isinstance(part, TrainedRanker)]
        return max((date for date in dates if date), default=None)

    def fit(self, view: View) -> Self:
        """Lets each part learn."""
        for part in self.parts:
            part.fit(view)
        return self

    def build(self, view: View, progress: Progress | None = None) -> Self:
        """Brings every part's index up to date; where another process does so, the last committed state serves."""
        busy = None
        for part in self.parts:
            try:
                part.build(view, progress)
            except IndexBusyError as error:
                if not error.searchable:
                    raise
                busy = error
        self._view = view
        if busy:
            raise busy
        return self

    def index_paths(self, view: View) -> Sequence[Path]:
        """The directories of its parts' indexes."""
        return tuple(path for part in self.parts for path in part.index_paths(view))


def _part_seeds(name: str, settings: CompositeSettings) -> dict[str, dict[str, Any]]:
    """The seed for each part that learns. Raises SettingsError where there is a seed and none learns."""
    if settings.seed is None:
        return {}
    found = {part: {"training.seed": settings.seed} for part in settings.parts if part in list_recipes()}
    if not found:
        raise SettingsError(f"{name}: seed={settings.seed}, but none of parts={','.join(settings.parts)} learns")
    return found


def _split_settings(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """(the ranker's own settings, each part's)."""
    own: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        part, dot, rest = key.partition(".")
        if dot:
            nested.setdefault(part, {})[rest] = value
        elif isinstance(value, Mapping):
            nested.setdefault(part, {}).update(value)
        else:
            own[key] = value
    return own, nested
