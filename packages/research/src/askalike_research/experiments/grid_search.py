"""Grid search: finds the settings of a ranker with the highest mean of a measure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum, prod
from typing import Any

from askalike import Archive, InputError, Progress, SettingsError, Split
from askalike.plugin.measuring import (
    Grid,
    QueryValues,
    RankerSettings,
    RankingTask,
    Trial,
    TrialEvaluator,
    trial_key,
)

SearchSpace = Grid | Sequence[Grid]
"""A grid, or several if the meaning of one setting depends on another (as for parameters of normalisations)."""

MAX_COMBINATIONS = 1_000
"""A grid with more combinations is searched one setting at a time instead of exhaustively."""


@dataclass(frozen=True, slots=True)
class GridSearchResult:
    """The best settings of a ranker, their mean on n queries, and every trial's settings and mean.

    The settings are complete: `askalike.build(ranker, settings)`. The trials are in the order in which they were
    tried; the first has the first value of every setting.
    """

    ranker: str
    measure: str
    settings: RankerSettings
    value: float
    n: int
    trials: Sequence[tuple[RankerSettings, float]]


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
    """Return the settings of a ranker with the highest mean of a measure; in case of a tie, those tried first.

    space: every combination of a grid's values is tried, in declared order, the last setting changing fastest; a grid
    of more than 1,000 combinations is searched setting by setting, from its first values, until nothing improves.
    fixed: settings of all trials. progress: called with the number of finished trials and of all trials.
    Raises SettingsError for unknown settings, measures and rules, and for an empty space.
    """
    with TrialEvaluator(RankingTask(archive), {"dev": labels}, [measure], rule) as evaluator:
        return search_grid(evaluator, ranker, space, fixed or {}, progress=progress)


def search_grid(
    evaluator: TrialEvaluator, ranker: str, space: SearchSpace, fixed: RankerSettings, progress: Progress | None = None
) -> GridSearchResult:
    """Return the settings with the highest mean of the evaluator's first measure over the dev queries.

    See `tune_ranker` for the rest. Raises InputError if none of the queries is measured.
    """
    grids = _check_space(space, fixed)
    total = sum(min(_count_combinations(grid), MAX_COMBINATIONS) for grid in grids)
    tried: dict[str, tuple[RankerSettings, float]] = {}

    def score(settings_list: Sequence[RankerSettings]) -> list[float]:
        trials = [Trial(ranker, settings) for settings in settings_list]
        keys = [trial_key(trial, "dev") for trial in trials]
        new = {key: trial for key, trial in zip(keys, trials, strict=True) if key not in tried}
        for (key, trial), values in zip(new.items(), evaluator.evaluate_trials(new.values()), strict=True):
            tried[key] = trial.settings, _mean(values[evaluator.measures[0]], ranker, evaluator.rule)
            if progress:
                progress(len(tried), max(total, len(tried)))
        return [tried[key][1] for key in keys]

    for grid in grids:
        if _count_combinations(grid) <= MAX_COMBINATIONS:
            score(list(combinations(grid, fixed)))
        else:
            _search_coordinatewise(grid, fixed, score)
    settings, value = max(tried.values(), key=lambda trial: trial[1])
    [values] = evaluator.evaluate_trials([Trial(ranker, settings)])
    n = len(values[evaluator.measures[0]])
    return GridSearchResult(ranker, evaluator.measures[0], settings, value, n, tuple(tried.values()))


def combinations(grid: Grid, fixed: RankerSettings) -> Iterator[dict[str, Any]]:
    """Yield every combination of a grid's values with the fixed settings; the last setting changes fastest."""
    for values in product(*grid.values()):
        yield {**fixed, **dict(zip(grid, values, strict=True))}


def _search_coordinatewise(
    grid: Grid, fixed: RankerSettings, score: Callable[[Sequence[RankerSettings]], list[float]]
) -> None:
    """Move each setting in turn to its best value, the others held, until no move improves."""
    best = {**fixed, **{name: values[0] for name, values in grid.items()}}
    improved = True
    while improved:
        improved = False
        for name, values in grid.items():
            moves = [{**best, name: value} for value in values]
            scores = score(moves)
            if max(scores) > score([best])[0]:
                best = moves[scores.index(max(scores))]
                improved = True


def _mean(values: QueryValues, ranker: str, rule: str) -> float:
    if not values:
        raise InputError(f"nothing to tune {ranker} on: none of the queries is measured (rule {rule})")
    return fsum(values.values()) / len(values)


def _check_space(space: SearchSpace, fixed: RankerSettings) -> Sequence[Grid]:
    grids = [space] if isinstance(space, Mapping) else list(space)
    if not grids:
        raise SettingsError("nothing to tune: no grid is given")
    for grid in grids:
        if empty := [name for name, values in grid.items() if isinstance(values, str) or not len(values)]:
            raise SettingsError(f"{empty[0]}: expected a list of at least one value to try")
        if both := sorted(set(grid) & set(fixed)):
            raise SettingsError(f"{both[0]} is both fixed and tuned; choose one")
    return grids


def _count_combinations(grid: Grid) -> int:
    return prod(len(values) for values in grid.values())
