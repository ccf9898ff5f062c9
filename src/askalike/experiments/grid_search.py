"""Which settings of a ranker find most: they are tried on queries whose answers are known."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum, prod
from pathlib import Path
from typing import Any, Self

from askalike import rankers
from askalike.errors import InputError, SettingsError
from askalike.evaluation.measures import evaluate
from askalike.evaluation.names import parse_cutoff
from askalike.evaluation.outcome import Evaluation
from askalike.evaluation.trec import separate_ties
from askalike.experiments.task import RankingTask
from askalike.rankers._ranker import Ranker
from askalike.store.archive import Archive
from askalike.types import Progress, Run, Split

RankerSettings = Mapping[str, Any]
Grid = Mapping[str, Sequence[Any]]
"""Setting → the values to try."""
SearchSpace = Grid | Sequence[Grid]
"""A grid, or several where what one setting means depends on another (as the parameters of normalisations do)."""

MAX_COMBINATIONS = 1_000
"""A grid of more combinations is searched one setting at a time, not exhaustively."""
DEPTH = 100
"""How deep a measure without a cut-off looks, as `evaluate` does."""


@dataclass(frozen=True, slots=True)
class GridSearchResult:
    """The best settings (whole: `rankers.build(ranker, settings)`), their mean on n queries, and every trial's."""

    ranker: str
    measure: str
    settings: RankerSettings
    value: float
    n: int
    trials: Sequence[tuple[RankerSettings, float]]
    """What was tried, in that order; the first is the first value of every setting."""


def tune_ranker(
    archive: Archive,
    ranker: str,
    space: SearchSpace,
    labels: Split,
    measure: str,
    *,
    fixed: RankerSettings | None = None,
    rule: str = "trec_eval",
    progress: Progress | None = None,
) -> GridSearchResult:
    """The settings of a ranker with the highest mean of a measure; of equally good ones those tried first.

    space: every combination of a grid's values is tried, in declared order, the last setting changing fastest; a grid
    of more than 1,000 combinations is searched setting by setting, from its first values, until nothing improves.
    fixed: settings that all trials have. progress: called with how many trials are done, and of how many.
    Raises SettingsError for settings, a measure or a rule that are not known, and for an empty space.
    """
    with GridSearch(archive, ranker, labels, measure, rule) as sweep:
        return sweep.search(space, fixed or {}, progress=progress)


class GridSearch:
    """A ranker under many settings: each is ranked once for all queries, and remembered query by query.

    Indexes that the trials made are removed at the end, but for those of the settings given to `keep`.
    """

    def __init__(
        self,
        archive: Archive,
        ranker: str,
        labels: Split,
        measure: str,
        rule: str = "trec_eval",
        *,
        task: RankingTask | None = None,
        split: str = "",
    ) -> None:
        """`split` is the name of the labels', which a task of answers needs: nothing is learned from it."""
        self.task, self.split = task or RankingTask(archive), split
        self.archive, self.ranker, self.labels = archive, ranker, labels
        self.measure, self.rule = measure, rule
        self.depth = parse_cutoff(measure) or DEPTH
        self._cached_values: dict[str, Mapping[str, float]] = {}
        self._created_indexes: set[Path] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for path in self._created_indexes:
            shutil.rmtree(path, ignore_errors=True)

    def keep_index(self, settings: RankerSettings) -> None:
        """Leaves the indexes of these settings where they are."""
        self._created_indexes -= set(
            rankers.create(self.ranker, settings, self.archive.path).index_paths(self.task.documents)
        )

    def search(
        self,
        space: SearchSpace,
        fixed: RankerSettings,
        query_ids: Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> GridSearchResult:
        """The settings with the highest mean over the queries `among` (default: all); see `tune`."""
        grids = _check_space(space, fixed)
        queries = set(query_ids) if query_ids is not None else None
        tried: dict[str, tuple[RankerSettings, float]] = {}
        total = sum(min(_count_combinations(grid), MAX_COMBINATIONS) for grid in grids)

        def attempt(settings: RankerSettings) -> float:
            key = _settings_key(settings)
            if key not in tried:
                tried[key] = settings, self.mean(settings, queries)
                if progress:
                    progress(len(tried), max(total, len(tried)))
            return tried[key][1]

        for grid in grids:
            search = _search_exhaustively if _count_combinations(grid) <= MAX_COMBINATIONS else _search_coordinatewise
            search(grid, fixed, attempt)
        settings, value = max(tried.values(), key=lambda trial: trial[1])
        n = sum(1 for q in self.query_values(settings) if queries is None or q in queries)
        return GridSearchResult(self.ranker, self.measure, settings, value, n, tuple(tried.values()))

    def mean(self, settings: RankerSettings, query_ids: set[str] | None = None) -> float:
        """The mean of the measure over some of the queries. Raises InputError where none of them is measured."""
        counted = [v for q, v in self.query_values(settings).items() if query_ids is None or q in query_ids]
        if not counted:
            raise InputError(f"nothing to tune {self.ranker} on: none of the queries is measured (rule {self.rule})")
        return fsum(counted) / len(counted)

    def query_values(self, settings: RankerSettings) -> Mapping[str, float]:
        """The measure of each query under these settings."""
        key = _settings_key(settings)
        if key not in self._cached_values:
            self._cached_values[key] = self.evaluate_run(self.rank(settings)).per_query(self.measure)
        return self._cached_values[key]

    def evaluate_run(self, run: Run, labels: Split | None = None) -> Evaluation:
        """A run measured on all queries of the labels."""
        return evaluate(separate_ties(run), (labels or self.labels).qrels, [self.measure], self.rule)

    def rank(self, settings: RankerSettings, labels: Split | None = None) -> Run:
        """The queries ranked under these settings, as deep as the measure looks."""
        ranker, own = self._build_ranker(settings), labels or self.labels
        return self.task.fit_and_rank(ranker, own, self.split, self.depth, None)

    def _build_ranker(self, settings: RankerSettings) -> Ranker:
        ranker = rankers.create(self.ranker, settings, self.archive.path)
        if self.task.kind == "answers":
            ranker = ranker.fit(self.task.training_view(self.split))
        self._created_indexes |= {path for path in ranker.index_paths(self.task.documents) if not path.exists()}
        return ranker


def _search_exhaustively(grid: Grid, fixed: RankerSettings, score_settings: Callable[[RankerSettings], float]) -> None:
    for settings in combinations(grid, fixed):
        score_settings(settings)


def _search_coordinatewise(
    grid: Grid, fixed: RankerSettings, score_settings: Callable[[RankerSettings], float]
) -> None:
    """Moves each setting in turn to its best value, the others held, until no move improves."""
    here = {**fixed, **{name: values[0] for name, values in grid.items()}}
    improved = True
    while improved:
        improved = False
        for name, values in grid.items():
            best = max(({**here, name: value} for value in values), key=score_settings)
            if score_settings(best) > score_settings(here):
                here, improved = best, True


def combinations(grid: Grid, fixed: RankerSettings) -> Iterator[dict[str, Any]]:
    """Every combination of a grid's values, with the fixed settings; the last setting changes fastest."""
    for values in product(*grid.values()):
        yield {**fixed, **dict(zip(grid, values, strict=True))}


def _check_space(space: SearchSpace, fixed: RankerSettings) -> Sequence[Grid]:
    grids = [space] if isinstance(space, Mapping) else list(space)
    if not grids:
        raise SettingsError("nothing to tune: the space has no grid")
    for grid in grids:
        if empty := [name for name, values in grid.items() if isinstance(values, str) or not len(values)]:
            raise SettingsError(f"{empty[0]}: expected a list of at least one value to try")
        if both := sorted(set(grid) & set(fixed)):
            raise SettingsError(f"{both[0]} is fixed and to be tuned; choose one")
    return grids


def _count_combinations(grid: Grid) -> int:
    return prod(len(values) for values in grid.values())


def _settings_key(settings: RankerSettings) -> str:
    return json.dumps(settings, sort_keys=True, default=str)
