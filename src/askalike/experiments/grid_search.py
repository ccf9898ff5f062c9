"""Grid search: finds the settings of a ranker with the highest mean of a measure, and measures the gain.

With two sets of queries, settings are chosen on the first and measured once on the second. With one, nested
cross-validation measures each fold with the settings chosen on all other folds. Folds keep duplicate clusters whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum, prod
from typing import Any

import numpy as np

from askalike import rankers
from askalike.core import registry
from askalike.core.counts import format_count
from askalike.core.errors import InputError, SettingsError
from askalike.core.types import Progress, Qrels, Run, Split
from askalike.evaluation.comparison import Comparison, SystemPair
from askalike.evaluation.outcome import Evaluation
from askalike.evaluation.significance import compare
from askalike.experiments.measuring import RankingTask
from askalike.experiments.trials import QueryValues, RankerSettings, Trial, TrialEvaluator, trial_key
from askalike.labels.clusters import assign_folds, clusters_from_qrels
from askalike.labels.splits import restrict_split
from askalike.rankers import Tunable
from askalike.store import Archive

Grid = Mapping[str, Sequence[Any]]
"""Setting → the values to try."""
SearchSpace = Grid | Sequence[Grid]
"""A grid, or several if the meaning of one setting depends on another (as for parameters of normalisations)."""

MAX_COMBINATIONS = 1_000
"""A grid with more combinations is searched one setting at a time instead of exhaustively."""
FOLDS = 5
SEED = 0


@dataclass(frozen=True, slots=True)
class GridSearchResult:
    """The best settings of a ranker, their mean on n queries, and every trial's settings and mean.

    The settings are complete: `rankers.create(ranker, settings)`. The trials are in the order in which they were
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
    evaluator: TrialEvaluator,
    ranker: str,
    space: SearchSpace,
    fixed: RankerSettings,
    query_ids: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> GridSearchResult:
    """Return the settings with the highest mean of the evaluator's first measure over some of the dev queries.

    query_ids: the queries to choose on; all dev queries by default. See `tune_ranker` for the rest. Raises InputError
    if none of the queries is measured.
    """
    grids = _check_space(space, fixed)
    queries = set(query_ids) if query_ids is not None else None
    total = sum(min(_count_combinations(grid), MAX_COMBINATIONS) for grid in grids)
    tried: dict[str, tuple[RankerSettings, float]] = {}

    def score(settings_list: Sequence[RankerSettings]) -> list[float]:
        trials = [Trial(ranker, settings) for settings in settings_list]
        keys = [trial_key(trial, "dev") for trial in trials]
        new = {key: trial for key, trial in zip(keys, trials, strict=True) if key not in tried}
        for (key, trial), values in zip(new.items(), evaluator.evaluate_trials(new.values()), strict=True):
            tried[key] = trial.settings, _mean(values[evaluator.measures[0]], queries, ranker, evaluator.rule)
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
    n = sum(1 for q in values[evaluator.measures[0]] if queries is None or q in queries)
    return GridSearchResult(ranker, evaluator.measures[0], settings, value, n, tuple(tried.values()))


def combinations(grid: Grid, fixed: RankerSettings) -> Iterator[dict[str, Any]]:
    """Yield every combination of a grid's values with the fixed settings; the last setting changes fastest."""
    for values in product(*grid.values()):
        yield {**fixed, **dict(zip(grid, values, strict=True))}


def tuning_grids(archive: Archive, ranker: str, fixed: RankerSettings) -> Sequence[Grid]:
    """Return the grids that a ranker declares, without the fixed settings.

    A similarity has its own grids, and those of text settings: the weights of the fields if the archive has titles
    and bodies, and the treatment of code if bodies contain any. The first values are the defaults, so that the first
    trial is the untuned ranker. Raises SettingsError for a ranker that declares nothing to tune.
    """
    if ranker in registry.names("similarity"):
        text_grid = registry.load("ranker", "lexical").text_grid(archive.view(), fixed.get("fields", "title,body"))
        return [_drop_fixed({**text_grid, **grid}, fixed) for grid in registry.load("similarity", ranker).GRIDS]
    created = rankers.create(ranker, fixed, archive.path)
    if not isinstance(created, Tunable):
        example = "tune = { KEY = [VALUE, VALUE] }"
        raise SettingsError(f"{ranker} has no settings to tune; name the values to try, as in {example}")
    return [_drop_fixed(grid, fixed) for grid in created.grids]


def lexical_grids(archive: Archive, ranker: str, fixed: RankerSettings) -> Sequence[Grid]:
    """Return the `tuning_grids` of a similarity or a hybrid of similarities. Raises SettingsError for other rankers."""
    require_lexical(ranker)
    known = registry.names("similarity")
    created = rankers.create(ranker, fixed, archive.path)
    parts = created.values.get("parts", ())
    if ranker not in known and not (parts and set(parts) <= set(known)):
        raise _not_lexical(ranker)
    return tuning_grids(archive, ranker, fixed)


def require_lexical(ranker: str) -> None:
    """Raise SettingsError unless the ranker is a similarity or may be a hybrid of similarities."""
    if ranker not in rankers.names():
        raise _not_lexical(ranker)


def _not_lexical(ranker: str) -> SettingsError:
    names = f"{', '.join(registry.names('similarity'))}, and hybrids of them (hybrid with --set parts=bm25,tfidf)"
    return SettingsError(f"{ranker!r} is not a lexical ranker; expected: {names}")


def _drop_fixed(grid: Grid, fixed: RankerSettings) -> Grid:
    return {name: values for name, values in grid.items() if name not in fixed}


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
                best, improved = moves[scores.index(max(scores))], True


def _mean(values: QueryValues, query_ids: set[str] | None, ranker: str, rule: str) -> float:
    counted = [value for query, value in values.items() if query_ids is None or query in query_ids]
    if not counted:
        raise InputError(f"nothing to tune {ranker} on: none of the queries is measured (rule {rule})")
    return fsum(counted) / len(counted)


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


@dataclass(frozen=True, slots=True)
class TuningEstimate:
    """A ranker untuned and tuned, on the queries that chose the settings (`dev`) and on those that did not (`test`).

    best: the settings to use, chosen on all dev queries. comparison: tuned and untuned on test; in nested
    cross-validation each test query is ranked with settings chosen without its fold. untuned, tuned: "dev" and
    "test" → the evaluation. run: the tuned run of the test queries. fold_settings: for each fold, the settings chosen
    on the others. n_leaked: the number of test queries in a duplicate cluster with a dev query; 0 with folds.
    """

    best: GridSearchResult
    comparison: Comparison
    untuned: Mapping[str, Evaluation]
    tuned: Mapping[str, Evaluation]
    run: Run
    fold_settings: Sequence[RankerSettings]
    n_leaked: int

    @property
    def difference(self) -> SystemPair:
        """Tuned minus untuned on the test queries."""
        return self.comparison.pairs[0]

    def as_dict(self) -> dict[str, Any]:
        """Return everything except the single queries, for JSON."""
        pairs = {part: (self.untuned[part], self.tuned[part]) for part in ("dev", "test")}
        names = ("difference", "low", "high", "p", "wins", "losses", "ties")
        return {
            "ranker": self.best.ranker,
            "measure": self.best.measure,
            "settings": dict(self.best.settings),
            "trials": len(self.best.trials),
            **{k: {"n": b.n, "untuned": _mean_dict(a), "tuned": _mean_dict(b)} for k, (a, b) in pairs.items()},
            "difference": {name: getattr(self.difference, name) for name in names},
            "folds": [dict(settings) for settings in self.fold_settings],
            "shared_clusters": self.n_leaked,
            "rule": self.tuned["test"].describe,
        }


def estimate_tuning(
    archive: Archive,
    ranker: str,
    space: SearchSpace,
    dev: Split,
    test: Split | None,
    measure: str,
    *,
    fixed: RankerSettings | None = None,
    rule: str = "trec_eval",
    n_folds: int = FOLDS,
    seed: int = SEED,
    progress: Progress | None = None,
) -> TuningEstimate:
    """Tune a ranker on dev and measure it on test; nested cross-validation on dev if there is no test split.

    The untuned ranker is the space's first combination: the defaults, if the grids begin with them. The index of the
    chosen settings is kept. Raises like `tune_ranker`, and SettingsError for fewer clusters than folds.
    """
    with TrialEvaluator(RankingTask(archive), {"dev": dev}, [measure], rule) as evaluator:
        best = search_grid(evaluator, ranker, space, fixed or {}, progress=progress)
        first, chosen = Trial(ranker, best.trials[0][0]), Trial(ranker, best.settings)
        evaluator.keep_index(evaluator.create_ranker(chosen))
        fold_trials: list[Trial] = []
        if test is None:
            folds = list(nested_folds(dev.qrels, dev.qrels, n_folds, seed))
            if len(folds) < max(n_folds, 2):
                clusters = format_count(len(folds), "cluster")
                reason = f"the labels form only {clusters}, too few for {format_count(n_folds, 'fold')}"
                raise SettingsError(f"{reason}; choose fewer folds, or name another split as --test")
            choices = [search_grid(evaluator, ranker, space, fixed or {}, rest) for _, rest in folds]
            fold_trials = [Trial(ranker, choice.settings) for choice in choices]
            parts = [restrict_split(dev, set(fold)) for fold, _ in folds]
            runs = [evaluator.rank(trial, part) for trial, part in zip(fold_trials, parts, strict=True)]
            run = Run({query: each.columns(query) for each in runs for query in each})
        else:
            run = evaluator.rank(chosen, test)
        untuned = {"dev": evaluator.measure_run(evaluator.rank(first, dev), dev)}
        untuned["test"] = evaluator.measure_run(evaluator.rank(first, test), test) if test else untuned["dev"]
        tuned = {"dev": evaluator.measure_run(evaluator.rank(chosen, dev), dev)}
        tuned["test"] = evaluator.measure_run(run, test or dev)
    comparison = compare({"tuned": tuned["test"], "untuned": untuned["test"]}, measure)
    fold_settings = [trial.settings for trial in fold_trials]
    n_leaked = _count_leaked(dev, test) if test else 0
    return TuningEstimate(best, comparison, untuned, tuned, run, fold_settings, n_leaked)


def nested_folds(
    query_ids: Iterable[str], qrels: Qrels, n_folds: int = FOLDS, seed: int = SEED
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each non-empty fold and all other queries, in their order. Duplicate clusters stay whole."""
    queries = list(query_ids)
    for fold in assign_folds(queries, clusters_from_qrels(qrels), n_folds, seed):
        if fold:
            members = set(fold)
            yield fold, [query for query in queries if query not in members]


def sample_queries(labels: Split, size: int, seed: int = SEED) -> Split:
    """Return at most `size` of a split's judged queries, drawn without replacement, in the split's order."""
    judged = [q for q in labels.queries if q in labels.qrels]
    if len(judged) <= size:
        return labels
    drawn = np.random.default_rng(seed).choice(len(judged), size, replace=False)
    return restrict_split(labels, {judged[i] for i in drawn})


def _count_leaked(dev: Split, test: Split) -> int:
    """Return the number of test queries that share a duplicate cluster with a dev query.

    A query that is a question of the archive counts as relevant to itself, as two splits may contain it.
    """
    own_ids = {f"{i} {id}": query.id for i, labels in enumerate((dev, test)) for id, query in labels.queries.items()}
    splits = enumerate((dev, test))
    qrels = {
        (key := f"{i} {q}"): {**grades, own_ids.get(key, q): 1}
        for i, labels in splits
        for q, grades in labels.qrels.items()
    }
    cluster_of = clusters_from_qrels(qrels)
    dev_clusters = {cluster_of[f"0 {q}"] for q in dev.qrels}
    return sum(cluster_of[f"1 {q}"] in dev_clusters for q in test.qrels)


def _mean_dict(evaluation: Evaluation) -> dict[str, float]:
    [(name, mean)] = evaluation.means.items()
    low, high = evaluation.intervals[name]
    return {"mean": mean, "low": low, "high": high}
