"""What a report's parts need of an outcome, computed once: ranks, first hits and scores of every system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.evaluation.ranks import Ranks, accuracy, first_relevant, ranked
from askalike.evaluation.rules import named
from askalike.evaluation.trec import separated
from askalike.experiment.outcome import Outcome, System
from askalike.types import Run

DEPTH = 100
SHOWN = 5
"""Hits of a system that are shown for a query."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measured:
    """The run of a system's first seed, which single queries are shown from, and every seed's ranks."""

    label: str
    run: Run
    ranks: Mapping[int, Ranks]

    @property
    def first(self) -> Ranks:
        """The ranks of the run that is shown."""
        return next(iter(self.ranks.values()))


def measured(outcome: Outcome) -> list[Measured]:
    """Every system of an outcome."""
    return [_measured(system, outcome) for system in outcome.systems]


def _measured(system: System, outcome: Outcome) -> Measured:
    rule = named(outcome.rule)
    runs = {seed: separated(trial.run) for seed, trial in system.trials.items()}
    ranks = {seed: first_relevant(run, outcome.labels.qrels, rule) for seed, run in runs.items()}
    return Measured(system.label, next(iter(runs.values())), ranks)


def curves(system: Measured) -> Floats:
    """Accuracy@1 … Accuracy@100, or as deep as the run goes: (seeds, k)."""
    deepest = max((len(system.run.columns(q)[0]) for q in system.run), default=1)
    return np.array([accuracy(ranks, max(1, min(DEPTH, deepest))) for ranks in system.ranks.values()])


def top(system: Measured, query_id: str, rule: str, k: int = SHOWN) -> Sequence[str]:
    """A query's first k documents in the rule's order."""
    return ranked(system.run, query_id, named(rule))[:k]


def scores(system: Measured, outcome: Outcome) -> tuple[Floats, Floats]:
    """The scores of the right documents found, and of each query's best document that is not one."""
    right: list[float] = []
    other: list[float] = []
    for query in system.first:
        grades = outcome.labels.qrels[query]
        hits = [hit for hit in system.run.get(query, ()) if hit.id != query]
        right += [hit.score for hit in hits if grades.get(hit.id, 0) > 0]
        other += [hit.score for hit in hits if grades.get(hit.id, 0) <= 0][:1]
    return np.array(right, np.float64), np.array(other, np.float64)
