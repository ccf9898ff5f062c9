"""What tuning is worth: settings chosen on some queries, measured on others that had no part in the choice.

Given two sets of queries, the first chooses and the second is measured once. Given one, nested cross-validation:
each fold is measured with the settings that all other folds choose. Folds keep duplicate clusters whole.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askalike.errors import SettingsError
from askalike.evaluation.comparison import Comparison, SystemPair
from askalike.evaluation.outcome import Evaluation
from askalike.evaluation.significance import compare
from askalike.experiments.grid_search import GridSearchResult, SearchSpace, search_grid
from askalike.experiments.task import RankingTask
from askalike.experiments.trials import RankerSettings, Trial, TrialEvaluator
from askalike.labels.clusters import assign_folds, clusters_from_qrels
from askalike.labels.splits import restrict_split
from askalike.store import Archive
from askalike.types import Columns, Progress, Qrels, Run, Split

FOLDS = 5
SEED = 0


@dataclass(frozen=True, slots=True)
class TuningEstimate:
    """A ranker untuned and tuned, on the queries that chose the settings (`dev`) and on those that did not (`test`).

    best: the settings to use, which all dev queries choose. dev_comparison, test_comparison: tuned first, untuned
    second; in nested cross-validation each test query is ranked with settings that its fold had no part in. untuned,
    tuned: "dev" and "test" → the evaluation. run: the tuned run of the test queries. fold_settings: what the other
    folds of each fold chose; empty where the test is a split of its own. n_leaked: the test queries that lie in a
    duplicate cluster with a dev query; always 0 in nested cross-validation.
    """

    best: GridSearchResult
    dev_comparison: Comparison
    test_comparison: Comparison
    untuned: Mapping[str, Evaluation]
    tuned: Mapping[str, Evaluation]
    run: Run
    fold_settings: Sequence[RankerSettings]
    n_leaked: int

    @property
    def difference(self) -> SystemPair:
        """Tuned minus untuned on the test queries."""
        return self.test_comparison.pairs[0]

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the single queries, for JSON."""
        evaluations = {
            part: {
                "n": self.tuned[part].n,
                "untuned": _mean_dict(self.untuned[part]),
                "tuned": _mean_dict(self.tuned[part]),
            }
            for part in ("dev", "test")
        }
        names = ("difference", "low", "high", "p", "wins", "losses", "ties")
        return {
            "ranker": self.best.ranker,
            "measure": self.best.measure,
            "settings": dict(self.best.settings),
            "trials": len(self.best.trials),
            **evaluations,
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
    """Tune a ranker on dev and measure it on test; nested cross-validation within dev where there is no test.

    The untuned ranker is the space's first combination: the defaults, if the grids begin with them. The index of the
    chosen settings stays. Raises what `tune_ranker` raises, and SettingsError for fewer clusters than folds.
    """
    with TrialEvaluator(RankingTask(archive), {"dev": dev}, [measure], rule) as evaluator:
        best = search_grid(evaluator, ranker, space, fixed or {}, progress=progress)
        first, chosen = Trial(ranker, best.trials[0][0]), Trial(ranker, best.settings)
        evaluator.keep_index(evaluator.create_ranker(chosen))
        fold_trials: list[Trial] = []
        if test is None:
            folds = _check_folds(list(nested_folds(dev.qrels, dev.qrels, n_folds, seed)), n_folds)
            choices = [search_grid(evaluator, ranker, space, fixed or {}, rest) for _, rest in folds]
            fold_trials = [Trial(ranker, choice.settings) for choice in choices]
            run = _rank_folds(evaluator, [fold for fold, _ in folds], fold_trials)
        else:
            run = evaluator.rank(chosen, test)
        measured = test or dev
        untuned = {"dev": evaluator.measure_run(evaluator.rank(first, dev), dev)}
        untuned["test"] = evaluator.measure_run(evaluator.rank(first, test), test) if test else untuned["dev"]
        tuned = {
            "dev": evaluator.measure_run(evaluator.rank(chosen, dev), dev),
            "test": evaluator.measure_run(run, measured),
        }
    return TuningEstimate(
        best=best,
        dev_comparison=compare({"tuned": tuned["dev"], "untuned": untuned["dev"]}, measure),
        test_comparison=compare({"tuned": tuned["test"], "untuned": untuned["test"]}, measure),
        untuned=untuned,
        tuned=tuned,
        run=run,
        fold_settings=[trial.settings for trial in fold_trials],
        n_leaked=_count_leaked(dev, test) if test else 0,
    )


def nested_folds(
    query_ids: Iterable[str], qrels: Qrels, n_folds: int = FOLDS, seed: int = SEED
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each fold that is not empty with all other queries, in their order. Duplicate clusters stay whole."""
    queries = list(query_ids)
    for fold in assign_folds(queries, clusters_from_qrels(qrels), n_folds, seed):
        if fold:
            members = set(fold)
            yield fold, [query for query in queries if query not in members]


def _check_folds(folds: list[tuple[list[str], list[str]]], n_folds: int) -> list[tuple[list[str], list[str]]]:
    if len(folds) < max(n_folds, 2):
        raise SettingsError(
            f"the labels hang together in {len(folds)} clusters, which is too few for {n_folds} folds; "
            "choose fewer folds, or name another split as --test"
        )
    return folds


def _rank_folds(evaluator: TrialEvaluator, folds: Sequence[Sequence[str]], trials: Sequence[Trial]) -> Run:
    columns: dict[str, Columns] = {}
    for fold, trial in zip(folds, trials, strict=True):
        run = evaluator.rank(trial, restrict_split(evaluator.parts["dev"], set(fold)))
        columns |= {query: run.columns(query) for query in run}
    return Run(columns)


def sample_queries(labels: Split, size: int, seed: int = SEED) -> Split:
    """Return at most so many of a split's judged queries, drawn without replacement, in the split's order."""
    judged = [q for q in labels.queries if q in labels.qrels]
    if len(judged) <= size:
        return labels
    drawn = np.random.default_rng(seed).choice(len(judged), size, replace=False)
    return restrict_split(labels, {judged[i] for i in drawn})


def _count_leaked(dev: Split, test: Split) -> int:
    """Return how many test queries share a duplicate cluster with a dev query."""
    qrels = {f"{i} {q}": grades for i, labels in enumerate((dev, test)) for q, grades in _add_self_grades(labels)}
    cluster_of = clusters_from_qrels(qrels)
    dev_clusters = {cluster_of[f"0 {q}"] for q in dev.qrels}
    return sum(cluster_of[f"1 {q}"] in dev_clusters for q in test.qrels)


def _add_self_grades(labels: Split) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the judgements, each query also relevant to itself: two splits may know one question by its id."""
    for query, grades in labels.qrels.items():
        yield query, {**grades, query: 1}


def _mean_dict(evaluation: Evaluation) -> dict[str, float]:
    [(name, mean)] = evaluation.means.items()
    low, high = evaluation.intervals[name]
    return {"mean": mean, "low": low, "high": high}
