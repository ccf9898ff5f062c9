"""What tuning is worth: settings chosen on some queries, measured on others that had no part in the choice.

Given two sets of queries, the first chooses and the second is measured once. Given one, nested cross-validation:
each fold is measured with the settings that all other folds choose. Folds keep duplicate clusters whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askalike.archive.clusters import clusters_of, folds
from askalike.archive.store import Archive
from askalike.errors import SettingsError
from askalike.evaluation.comparison import Comparison, Pair
from askalike.evaluation.outcome import Evaluation
from askalike.evaluation.significance import compare
from askalike.experiment.tuning import Settings, Space, Sweep, Tuned
from askalike.rankers._ranker import Progress
from askalike.types import Columns, Run, Split

FOLDS = 5
SEED = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A ranker untuned and tuned, on the queries that chose the settings (`dev`) and on those that did not (`test`)."""

    chosen: Tuned
    """The settings to use: those that all dev queries choose."""
    dev: Comparison
    test: Comparison
    """Tuned first, untuned second. Nested, each test query is ranked with settings that its fold had no part in."""
    untuned: Mapping[str, Evaluation]
    tuned: Mapping[str, Evaluation]
    """"dev" and "test" → the evaluation, with its interval."""
    run: Run
    """The tuned run of the test queries."""
    folds: Sequence[Settings]
    """Nested: what each fold's other folds chose; empty where the test is a split of its own."""
    shared: int
    """How many test queries lie in a duplicate cluster that dev queries touch; always 0 when nested."""

    @property
    def difference(self) -> Pair:
        """Tuned minus untuned on the test queries."""
        return self.test.pairs[0]

    def as_dict(self) -> dict[str, Any]:
        """Everything but the single queries, for JSON."""
        both = {
            part: {"n": self.tuned[part].n, "untuned": _mean(self.untuned[part]), "tuned": _mean(self.tuned[part])}
            for part in ("dev", "test")
        }
        pair = self.difference
        names = ("difference", "low", "high", "p", "wins", "losses", "ties")
        return {
            "ranker": self.chosen.ranker,
            "measure": self.chosen.measure,
            "settings": dict(self.chosen.settings),
            "trials": len(self.chosen.trials),
            **both,
            "difference": {name: getattr(pair, name) for name in names},
            "folds": [dict(settings) for settings in self.folds],
            "shared_clusters": self.shared,
            "rule": self.tuned["test"].describe,
        }


def estimate(
    archive: Archive,
    ranker: str,
    space: Space,
    dev: Split,
    test: Split | None,
    measure: str,
    *,
    fixed: Settings | None = None,
    rule: str = "trec_eval",
    parts: int = FOLDS,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Estimate:
    """Tunes a ranker on dev and measures it on test; nested cross-validation within dev where there is no test.

    The untuned ranker is the space's first combination: the defaults, if the grids begin with them. The index of the
    chosen settings stays. Raises what `tune` raises, and SettingsError where there are fewer clusters than folds.
    """
    fixed = fixed or {}
    with Sweep(archive, ranker, dev, measure, rule) as sweep:
        chosen = sweep.best(space, fixed, progress=progress)
        sweep.keep(chosen.settings)
        untuned, labels = chosen.trials[0][0], test or dev
        if test is None:
            run, choices = _nested(sweep, space, fixed, parts, seed)
        else:
            run, choices = sweep.run(chosen.settings, test), ()
        before = {"dev": sweep.evaluation(sweep.run(untuned))}
        after = {"dev": sweep.evaluation(sweep.run(chosen.settings)), "test": sweep.evaluation(run, labels)}
        before["test"] = sweep.evaluation(sweep.run(untuned, test), test) if test else before["dev"]
    dev_pair, test_pair = (compare({"tuned": after[x], "untuned": before[x]}, measure) for x in ("dev", "test"))
    shared = _shared(dev, test) if test else 0
    return Estimate(chosen, dev_pair, test_pair, before, after, run, choices, shared)


def _nested(sweep: Sweep, space: Space, fixed: Settings, parts: int, seed: int) -> tuple[Run, Sequence[Settings]]:
    """Each fold's queries ranked with the settings that the other folds choose. The trials are ranked once for all."""
    labels = sweep.labels
    held_out = [fold for fold in folds(labels.qrels, clusters_of(labels.qrels), parts, seed) if fold]
    if len(held_out) < max(parts, 2):
        raise SettingsError(
            f"the labels hang together in {len(held_out)} clusters, which is too few for {parts} folds; "
            "choose fewer folds, or name another split as --test"
        )
    columns: dict[str, Columns] = {}
    choices = []
    for fold in held_out:
        settings = sweep.best(space, fixed, set(labels.qrels) - set(fold)).settings
        run = sweep.run(settings, only(labels, fold))
        columns |= {query: run.columns(query) for query in run}
        choices.append(settings)
    return Run(columns), choices


def only(labels: Split, queries: Sequence[str]) -> Split:
    """A split without the other queries."""
    kept = [q for q in queries if q in labels.queries]
    pools = labels.candidates
    return Split(
        {q: labels.queries[q] for q in kept},
        {q: labels.qrels[q] for q in kept if q in labels.qrels},
        None if pools is None else {q: pools.get(q, ()) for q in kept},
    )


def sampled(labels: Split, size: int, seed: int = SEED) -> Split:
    """At most so many of a split's judged queries, drawn without replacement, in the split's order."""
    judged = [q for q in labels.queries if q in labels.qrels]
    if len(judged) <= size:
        return labels
    drawn = np.sort(np.random.default_rng(seed).choice(len(judged), size, replace=False))
    return only(labels, [judged[i] for i in drawn])


def _shared(dev: Split, test: Split) -> int:
    """How many test queries share a duplicate cluster with a dev query."""
    both = {f"{i} {q}": grades for i, labels in enumerate((dev, test)) for q, grades in _linked(labels).items()}
    cluster_of = clusters_of(both)
    touched = {cluster_of[f"0 {q}"] for q in dev.qrels}
    return sum(cluster_of[f"1 {q}"] in touched for q in test.qrels)


def _linked(labels: Split) -> dict[str, dict[str, int]]:
    """The judgements, where each query is also relevant to itself: two splits may know one question by its id."""
    return {query: {**grades, query: 1} for query, grades in labels.qrels.items()}


def _mean(evaluation: Evaluation) -> dict[str, float]:
    [(name, mean)] = evaluation.means.items()
    low, high = evaluation.intervals[name]
    return {"mean": mean, "low": low, "high": high}
