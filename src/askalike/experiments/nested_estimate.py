"""What tuning is worth: settings chosen on some queries, measured on others that had no part in the choice.

Given two sets of queries, the first chooses and the second is measured once. Given one, nested cross-validation:
each fold is measured with the settings that all other folds choose. Folds keep duplicate clusters whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askalike.errors import SettingsError
from askalike.evaluation.comparison import Comparison, SystemPair
from askalike.evaluation.outcome import Evaluation
from askalike.evaluation.significance import compare
from askalike.experiments.grid_search import GridSearch, GridSearchResult, RankerSettings, SearchSpace
from askalike.labels.clusters import assign_folds, clusters_from_qrels
from askalike.store.archive import Archive
from askalike.types import Columns, Progress, Run, Split

FOLDS = 5
SEED = 0


@dataclass(frozen=True, slots=True)
class TuningEstimate:
    """A ranker untuned and tuned, on the queries that chose the settings (`dev`) and on those that did not (`test`)."""

    best: GridSearchResult
    """The settings to use: those that all dev queries choose."""
    dev_comparison: Comparison
    test_comparison: Comparison
    """Tuned first, untuned second. Nested, each test query is ranked with settings that its fold had no part in."""
    untuned: Mapping[str, Evaluation]
    tuned: Mapping[str, Evaluation]
    """"dev" and "test" → the evaluation, with its interval."""
    run: Run
    """The tuned run of the test queries."""
    fold_settings: Sequence[RankerSettings]
    """Nested: what each fold's other folds chose; empty where the test is a split of its own."""
    n_leaked: int
    """How many test queries lie in a duplicate cluster that dev queries touch; always 0 when nested."""

    @property
    def difference(self) -> SystemPair:
        """Tuned minus untuned on the test queries."""
        return self.test_comparison.pairs[0]

    def as_dict(self) -> dict[str, Any]:
        """Everything but the single queries, for JSON."""
        both = {
            part: {
                "n": self.tuned[part].n,
                "untuned": _mean_dict(self.untuned[part]),
                "tuned": _mean_dict(self.tuned[part]),
            }
            for part in ("dev", "test")
        }
        pair = self.difference
        names = ("difference", "low", "high", "p", "wins", "losses", "ties")
        return {
            "ranker": self.best.ranker,
            "measure": self.best.measure,
            "settings": dict(self.best.settings),
            "trials": len(self.best.trials),
            **both,
            "difference": {name: getattr(pair, name) for name in names},
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
    """Tunes a ranker on dev and measures it on test; nested cross-validation within dev where there is no test.

    The untuned ranker is the space's first combination: the defaults, if the grids begin with them. The index of the
    chosen settings stays. Raises what `tune` raises, and SettingsError where there are fewer clusters than folds.
    """
    fixed = fixed or {}
    with GridSearch(archive, ranker, dev, measure, rule) as sweep:
        chosen = sweep.search(space, fixed, progress=progress)
        sweep.keep_index(chosen.settings)
        untuned, labels = chosen.trials[0][0], test or dev
        if test is None:
            run, choices = _cross_validate(sweep, space, fixed, n_folds, seed)
        else:
            run, choices = sweep.rank(chosen.settings, test), ()
        before = {"dev": sweep.evaluate_run(sweep.rank(untuned))}
        after = {"dev": sweep.evaluate_run(sweep.rank(chosen.settings)), "test": sweep.evaluate_run(run, labels)}
        before["test"] = sweep.evaluate_run(sweep.rank(untuned, test), test) if test else before["dev"]
    dev_pair, test_pair = (compare({"tuned": after[x], "untuned": before[x]}, measure) for x in ("dev", "test"))
    shared = _count_leaked(dev, test) if test else 0
    return TuningEstimate(chosen, dev_pair, test_pair, before, after, run, choices, shared)


def _cross_validate(
    search: GridSearch, space: SearchSpace, fixed: RankerSettings, n_folds: int, seed: int
) -> tuple[Run, Sequence[RankerSettings]]:
    """Each fold's queries ranked with the settings that the other folds choose. The trials are ranked once for all."""
    labels = search.labels
    held_out = [fold for fold in assign_folds(labels.qrels, clusters_from_qrels(labels.qrels), n_folds, seed) if fold]
    if len(held_out) < max(n_folds, 2):
        raise SettingsError(
            f"the labels hang together in {len(held_out)} clusters, which is too few for {n_folds} folds; "
            "choose fewer folds, or name another split as --test"
        )
    columns: dict[str, Columns] = {}
    choices = []
    for fold in held_out:
        settings = search.search(space, fixed, set(labels.qrels) - set(fold)).settings
        run = search.rank(settings, restrict(labels, fold))
        columns |= {query: run.columns(query) for query in run}
        choices.append(settings)
    return Run(columns), choices


def restrict(labels: Split, queries: Sequence[str]) -> Split:
    """A split without the other queries."""
    kept = [q for q in queries if q in labels.queries]
    pools = labels.candidates
    return Split(
        {q: labels.queries[q] for q in kept},
        {q: labels.qrels[q] for q in kept if q in labels.qrels},
        None if pools is None else {q: pools.get(q, ()) for q in kept},
    )


def sample_queries(labels: Split, size: int, seed: int = SEED) -> Split:
    """At most so many of a split's judged queries, drawn without replacement, in the split's order."""
    judged = [q for q in labels.queries if q in labels.qrels]
    if len(judged) <= size:
        return labels
    drawn = np.sort(np.random.default_rng(seed).choice(len(judged), size, replace=False))
    return restrict(labels, [judged[i] for i in drawn])


def _count_leaked(dev: Split, test: Split) -> int:
    """How many test queries share a duplicate cluster with a dev query."""
    both = {
        f"{i} {q}": grades for i, labels in enumerate((dev, test)) for q, grades in _add_self_grades(labels).items()
    }
    cluster_of = clusters_from_qrels(both)
    touched = {cluster_of[f"0 {q}"] for q in dev.qrels}
    return sum(cluster_of[f"1 {q}"] in touched for q in test.qrels)


def _add_self_grades(labels: Split) -> dict[str, dict[str, int]]:
    """The judgements, where each query is also relevant to itself: two splits may know one question by its id."""
    return {query: {**grades, query: 1} for query, grades in labels.qrels.items()}


def _mean_dict(evaluation: Evaluation) -> dict[str, float]:
    [(name, mean)] = evaluation.means.items()
    low, high = evaluation.intervals[name]
    return {"mean": mean, "low": low, "high": high}
