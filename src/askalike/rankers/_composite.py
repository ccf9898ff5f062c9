"""Rankers composed of other rankers: the names, settings, building and opening of their parts."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field

from askalike import rankers
from askalike.core import registry
from askalike.core.arrays import Docids
from askalike.core.config import FieldNames, NumberList, Settings, TextList, validate_settings
from askalike.core.errors import IndexBusyError, SettingsError
from askalike.core.iteration import Progress
from askalike.core.model_folders import LearnedLabels
from askalike.core.records import Question
from askalike.core.values import check_weights
from askalike.index.engine import ArchiveIndex
from askalike.learning.models import SEED_SETTING, list_recipes
from askalike.rankers._queries_and_results import Explanations, ResolvedQuery, Retrieved, Texts
from askalike.rankers._ranker import Ranker
from askalike.rankers._searcher import Neighbours, Searcher
from askalike.store import Snapshot, TrainingView
from askalike.text.clean import CodeRule

FUNCTION_WORD_WEIGHT = 0.3
"""In small archives function words are rare enough to decide; measured on five sets, see commit a4ffda11."""
Weights = Annotated[NumberList, AfterValidator(check_weights)]


class CompositeSettings(Settings):
    """The combined rankers, the fields that all of them search, and the number of documents that each retrieves."""

    parts: TextList = Field(
        ("lm_jelinek_mercer", "static"), description="the rankers; PART.KEY is a setting of one of them"
    )
    depth: int = Field(200, ge=1, description="number of documents that each part proposes, whatever k is")
    fields: FieldNames | None = Field(None, description="the fields that every part searches")
    rephrasings: bool | None = Field(None, description="whether a question is also found by its rephrasings")
    code: CodeRule | None = Field(None, description="whether code is read, in every part except trained models")
    joined: bool | None = Field(
        True, description="whether can't is also found as cant, and e-mail as email, by the lexical parts"
    )
    function_words: float | None = Field(
        FUNCTION_WORD_WEIGHT,
        gt=0,
        le=1,
        description="weight of function words in queries not in English (de, es, fr, ru), in lexical parts",
    )
    seed: int | None = Field(None, ge=0, description="seed of every part that learns")


class CompositeRanker(Ranker):
    """A ranker that combines other rankers."""

    settings_class: ClassVar[type[CompositeSettings]]
    default_fields: ClassVar[str | None] = None
    """The fields that parts search if the settings name none; None for each part's own default."""

    def __init__(self, parts: Sequence[Ranker], settings: CompositeSettings, name: str) -> None:
        self.name, self.parts, self.settings = name, tuple(parts), settings

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:
        """See Ranker.from_settings; a part's settings are `part.key`, or a table with the part's name."""
        own, nested = _split_settings(values)
        settings = validate_settings(cls.settings_class, own, name)
        listed = ",".join(settings.parts)
        if unknown := nested.keys() - set(settings.parts):
            raise SettingsError(f"{name}: {', '.join(sorted(unknown))} is not one of parts={listed}")
        if len(set(settings.parts)) < len(settings.parts):
            raise SettingsError(f"{name}: parts={listed}: expected each part once")
        seeds = _part_seeds(name, settings)
        trained = rankers.trained_model_names(archive) if archive else ()
        parts = []
        for part in settings.parts:
            shared = settings.model_dump(include=_shared_settings(part, trained), exclude_none=True)
            if cls.default_fields and rankers.searches_fields(part, archive):
                shared = {"fields": cls.default_fields} | shared
            parts.append(rankers.create(part, shared | nested.get(part, {}) | seeds.get(part, {}), archive))
        return cls(parts, settings, name)

    @property
    def values(self) -> Mapping[str, Any]:
        own = self.settings.model_dump()
        return own | {f"{part.name}.{key}": value for part in self.parts for key, value in part.values.items()}

    @property
    def fingerprint(self) -> str:
        return " ".join(filter(None, (part.fingerprint for part in self.parts)))

    @property
    def trained_until(self) -> str | None:
        return max(filter(None, (part.trained_until for part in self.parts)), default=None)

    @property
    def needs_candidates(self) -> bool:
        return any(part.needs_candidates for part in self.parts)

    @property
    def learned_labels(self) -> LearnedLabels:
        return reduce(or_, (part.learned_labels for part in self.parts), LearnedLabels())

    def fit(self, view: TrainingView) -> Self:
        return type(self)([part.fit(view) for part in self.parts], self.settings, self.name)

    def build(self, view: Snapshot, progress: Progress | None = None) -> None:
        """Build every part, even if another process is writing the index of an earlier one."""
        self._for_parts(lambda part: part.build(view, progress))

    def follow(self, view: Snapshot) -> None:
        self._for_parts(lambda part: part.follow(view))

    def _for_parts(self, work: Callable[[Ranker], None]) -> None:
        busy = None
        for part in self.parts:
            try:
                work(part)
            except IndexBusyError as error:
                if not error.searchable:
                    raise
                busy = error
        if busy:
            raise busy

    def index_paths(self, view: Snapshot) -> Sequence[Path]:
        return tuple(path for part in self.parts for path in part.index_paths(view))

    def start_rebuild(self, view: Snapshot) -> None:
        for part in self.parts:
            part.start_rebuild(view)

    def indexes(self, view: Snapshot, *, refresh: bool = True) -> Sequence[ArchiveIndex[Any, Any]]:
        return tuple(index for part in self.parts for index in part.indexes(view, refresh=refresh))


class CompositeSearcher(Searcher):
    """The searchers of a composite ranker's parts, all opened on one view. The last part scores and explains."""

    def __init__(self, ranker: CompositeRanker, view: Snapshot) -> None:
        super().__init__(ranker.name, view)
        self.parts = tuple(part.open(view) for part in ranker.parts)
        self.depth = ranker.settings.depth
        self.correctors = tuple(corrector for part in self.parts for corrector in part.correctors)
        self.detects_language = any(part.detects_language for part in self.parts)
        self.languages = next((part.languages for part in self.parts if part.languages is not None), None)
        self.bridges_languages = any(part.bridges_languages for part in self.parts)
        self.titles = next((part.titles for part in self.parts if part.titles is not None), None)

    def find_talk(self, sentences: Sequence[Question]) -> Mapping[Question, float]:
        return {one: odds for part in self.parts for one, odds in part.find_talk(sentences).items()}

    def find_neighbours(self, questions: Texts, k: int) -> Neighbours:
        """Return those of the first part with vectors, else of the first that retrieves.

        Words in common are no evidence in titles of one pattern.
        """
        retrieving = [part for part in self.parts if part.proposes]
        chosen = next((part for part in retrieving if part.has_similarity), retrieving[0])
        return chosen.find_neighbours(questions, k)

    def score(
        self, queries: Sequence[ResolvedQuery], docids: Sequence[Docids], known: Retrieved | None = None
    ) -> Retrieved:
        return self.parts[-1].score(queries, docids, known)

    def explain(
        self, retrieved: Retrieved, docids: Sequence[Docids], texts: Texts, *, exact: bool = False
    ) -> list[Explanations]:
        return self.parts[-1].explain(retrieved, docids, texts, exact=exact)


def _shared_settings(part: str, trained: Collection[str]) -> set[str]:
    """Return the settings that a part inherits. A trained model treats code as in its training."""
    if part in rankers.PART_ONLY:
        return set()
    shared = {"fields", "rephrasings"} if part in trained else {"fields", "rephrasings", "code"}
    return shared | {"joined", "function_words"} if part in registry.names("similarity") else shared


def _part_seeds(name: str, settings: CompositeSettings) -> dict[str, dict[str, Any]]:
    """Return the seed for each part that learns. Raises SettingsError if there is a seed but no such part."""
    if settings.seed is None:
        return {}
    seeds = {part: {SEED_SETTING: settings.seed} for part in settings.parts if part in list_recipes()}
    if not seeds:
        raise SettingsError(f"{name}: seed={settings.seed}, but no part learns: {', '.join(settings.parts)}")
    return seeds


def _split_settings(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return (the ranker's own settings, each part's)."""
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
