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
from askalike.archive.store import Archive
from askalike.errors import InputError, SettingsError
from askalike.evaluation.measures import evaluate
from askalike.evaluation.names import cutoff
from askalike.evaluation.outcome import Evaluation
from askalike.evaluation.trec import separated
from askalike.experiment.task import Task
from askalike.rankers._ranker import Progress, Ranker
from askalike.types import Run, Split

Settings = Mapping[str, Any]
Grid = Mapping[str, Sequence[Any]]
"""Setting → the values to try."""
Space = Grid | Sequence[Grid]
"""A grid, or several where what one setting means depends on another (as the parameters of normalisations do)."""

LARGEST_GRID = 1_000
"""A grid of more combinations is searched one setting at a time, not exhaustively."""
DEPTH = 100
"""How deep a measure without a cut-off looks, as `evaluate` does."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """The best settings (whole: `rankers.build(ranker, settings)`), their mean on n queries, and every trial's."""

    ranker: str
    measure: str
    settings: Settings
    value: float
    n: int
    trials: Sequence[tuple[Settings, float]]
    """What was tried, in that order; the first is the first value of every setting."""


def tune(
    archive: Archive,
    ranker: str,
    space: Space,
    labels: Split,
    measure: str,
    *,
    fixed: Settings | None = None,
    rule: str = "trec_eval",
    progress: Progress | None = None,
) -> Tuned:
    """The settings of a ranker with the highest mean of a measure; of equally good ones those tried first.

    space: every combination of a grid's values is tried, in declared order, the last setting changing fastest; a grid
    of more than 1,000 combinations is searched setting by setting, from its first values, until nothing improves.
    fixed: settings that all trials have. progress: called with how many trials are done, and of how many.
    Raises SettingsError for settings, a measure or a rule that are not known, and for an empty space.
    """
    with Sweep(archive, ranker, labels, measure, rule) as sweep:
        return sweep.best(space, fixed or {}, progress=progress)


class Sweep:
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
        task: Task | None = None,
        split: str = "",
    ) -> None:
        """`split` is the name of the labels', which a task of answers needs: nothing is learned from it."""
        self.task, self.split = task or Task(archive), split
        self.archive, self.ranker, self.labels = archive, ranker, labels
        self.measure, self.rule = measure, rule
        self.depth = cutoff(measure) or DEPTH
        self._values: dict[str, Mapping[str, float]] = {}
        self._made: set[Path] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for path in self._made:
            shutil.rmtree(path, ignore_errors=True)

    def keep(self, settings: Settings) -> None:
        """Leaves the indexes of these settings where they are."""
        self._made -= set(rankers.build(self.ranker, settings, self.archive.path).paths(self.task.documents))

    def best(
        self, space: Space, fixed: Settings, among: Iterable[str] | None = None, progress: Progress | None = None
    ) -> Tuned:
        """The settings with the highest mean over the queries `among` (default: all); see `tune`."""
        grids = _checked(space, fixed)
        queries = set(among) if among is not None else None
        tried: dict[str, tuple[Settings, float]] = {}
        total = sum(min(_size(grid), LARGEST_GRID) for grid in grids)

        def attempt(settings: Settings) -> float:
            key = _key(settings)
            if key not in tried:
                tried[key] = settings, self.mean(settings, queries)
                if progress:
                    progress(len(tried), max(total, len(tried)))
            return tried[key][1]

        for grid in grids:
            search = _exhaustively if _size(grid) <= LARGEST_GRID else _one_at_a_time
            search(grid, fixed, attempt)
        settings, value = max(tried.values(), key=lambda trial: trial[1])
        n = sum(1 for q in self.values(settings) if queries is None or q in queries)
        return Tuned(self.ranker, self.measure, settings, value, n, tuple(tried.values()))

    def mean(self, settings: Settings, among: set[str] | None = None) -> float:
        """The mean of the measure over some of the queries. Raises InputError where none of them is measured."""
        counted = [v for q, v in self.values(settings).items() if among is None or q in among]
        if not counted:
            raise InputError(f"nothing to tune {self.ranker} on: none of the queries is measured (rule {self.rule})")
        return fsum(counted) / len(counted)

    def values(self, settings: Settings) -> Mapping[str, float]:
        """The measure of each query under these settings."""
        key = _key(settings)
        if key not in self._values:
            self._values[key] = self.evaluation(self.run(settings)).per_query(self.measure)
        return self._values[key]

    def evaluation(self, run: Run, labels: Split | None = None) -> Evaluation:
        """A run measured on all queries of the labels."""
        return evaluate(separated(run), (labels or self.labels).qrels, [self.measure], self.rule)

    def run(self, settings: Settings, labels: Split | None = None) -> Run:
        """The queries ranked under these settings, as deep as the measure looks."""
        ranker, own = self._built(settings), labels or self.labels
        return self.task.learned_and_ranked(ranker, own, self.split, self.depth, None)

    def _built(self, settings: Settings) -> Ranker:
        ranker = rankers.build(self.ranker, settings, self.archive.path)
        if self.task.of == "answers":
            ranker = ranker.fit(self.task.learnable(self.split))
        self._made |= {path for path in ranker.paths(self.task.documents) if not path.exists()}
        return ranker


def _exhaustively(grid: Grid, fixed: Settings, attempt: Callable[[Settings], float]) -> None:
    for settings in combinations(grid, fixed):
        attempt(settings)


def _one_at_a_time(grid: Grid, fixed: Settings, attempt: Callable[[Settings], float]) -> None:
    """Moves each setting in turn to its best value, the others held, until no move improves."""
    here = {**fixed, **{name: values[0] for name, values in grid.items()}}
    improved = True
    while improved:
        improved = False
        for name, values in grid.items():
            best = max(({**here, name: value} for value in values), key=attempt)
            if attempt(best) > attempt(here):
                here, improved = best, True


def combinations(grid: Grid, fixed: Settings) -> Iterator[dict[str, Any]]:
    """Every combination of a grid's values, with the fixed settings; the last setting changes fastest."""
    for values in product(*grid.values()):
        yield {**fixed, **dict(zip(grid, values, strict=True))}


def _checked(space: Space, fixed: Settings) -> Sequence[Grid]:
    grids = [space] if isinstance(space, Mapping) else list(space)
    if not grids:
        raise SettingsError("nothing to tune: the space has no grid")
    for grid in grids:
        if empty := [name for name, values in grid.items() if isinstance(values, str) or not len(values)]:
            raise SettingsError(f"{empty[0]}: expected a list of at least one value to try")
        if both := sorted(set(grid) & set(fixed)):
            raise SettingsError(f"{both[0]} is fixed and to be tuned; choose one")
    return grids


def _size(grid: Grid) -> int:
    return prod(len(values) for values in grid.values())


def _key(settings: Settings) -> str:
    return json.dumps(settings, sort_keys=True, default=str)
