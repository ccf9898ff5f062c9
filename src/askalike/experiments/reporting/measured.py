"""What a report's parts need of an outcome, computed once: ranks, first hits and scores of every system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.evaluation.evaluate import FirstRelevantRanks, first_relevant_ranks, order_documents, success_by_depth
from askalike.evaluation.rules import get_rule
from askalike.evaluation.trec import separate_ties
from askalike.experiments.outcome import ExperimentResult, SystemResult
from askalike.types import Run

DEPTH = 100
HITS_SHOWN = 5
"""Hits of a system that are shown for a query."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SystemRanks:
    """The run of a system's first seed, which single queries are shown from, and every seed's ranks."""

    label: str
    run: Run
    ranks: Mapping[int, FirstRelevantRanks]

    @property
    def first_ranks(self) -> FirstRelevantRanks:
        """The ranks of the run that is shown."""
        return next(iter(self.ranks.values()))


def collect_ranks(outcome: ExperimentResult) -> list[SystemRanks]:
    """Every system of an outcome."""
    return [_system_ranks(system, outcome) for system in outcome.systems]


def _system_ranks(system: SystemResult, outcome: ExperimentResult) -> SystemRanks:
    rule = get_rule(outcome.rule)
    runs = {seed: separate_ties(trial.run) for seed, trial in system.seed_results.items()}
    ranks = {seed: first_relevant_ranks(run, outcome.labels.qrels, rule) for seed, run in runs.items()}
    return SystemRanks(system.label, next(iter(runs.values())), ranks)


def compute_accuracy_curves(system: SystemRanks) -> Floats:
    """Accuracy@1 … Accuracy@100, or as deep as the run goes: (seeds, k)."""
    deepest = max((len(system.run.columns(q)[0]) for q in system.run), default=1)
    return np.array([success_by_depth(ranks, max(1, min(DEPTH, deepest))) for ranks in system.ranks.values()])


def top_ids(system: SystemRanks, query_id: str, rule: str, k: int = HITS_SHOWN) -> Sequence[str]:
    """A query's first k documents in the rule's order."""
    return order_documents(system.run, query_id, get_rule(rule))[:k]


def scores_by_relevance(system: SystemRanks, outcome: ExperimentResult) -> tuple[Floats, Floats]:
    """The scores of the right documents found, and of each query's best document that is not one."""
    right: list[float] = []
    other: list[float] = []
    for query in system.first_ranks:
        grades = outcome.labels.qrels[query]
        hits = [hit for hit in system.run.get(query, ()) if hit.id != query]
        right += [hit.score for hit in hits if grades.get(hit.id, 0) > 0]
        other += [hit.score for hit in hits if grades.get(hit.id, 0) <= 0][:1]
    return np.array(right, np.float64), np.array(other, np.float64)
