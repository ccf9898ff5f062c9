"""The ranks, first hits and scores of every system of an outcome, which several parts of a report show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.evaluation.evaluate import FirstRelevantRanks, first_relevant_ranks, order_documents, success_by_depth
from askalike.evaluation.rules import get_rule
from askalike.evaluation.trec import separate_ties
from askalike.experiments.measuring import DEFAULT_DEPTH
from askalike.experiments.outcome import ExperimentResult, SystemResult
from askalike.types import Run

HITS_SHOWN = 5
"""The hits of a system that are shown for a query."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SystemRanks:
    """The run of a system's first seed, which single queries are shown from.

    ranks: seed → query id → the rank of the first relevant document.
    """

    label: str
    run: Run
    ranks: Mapping[int, FirstRelevantRanks]

    @property
    def first_ranks(self) -> FirstRelevantRanks:
        """The ranks of `run`."""
        return next(iter(self.ranks.values()))


def collect_ranks(outcome: ExperimentResult) -> list[SystemRanks]:
    """Return the ranks of every system of an outcome."""
    return [_system_ranks(system, outcome) for system in outcome.systems]


def _system_ranks(system: SystemResult, outcome: ExperimentResult) -> SystemRanks:
    rule = get_rule(outcome.rule)
    runs = {seed: separate_ties(result.run) for seed, result in system.seed_results.items()}
    ranks = {seed: first_relevant_ranks(run, outcome.labels.qrels, rule) for seed, run in runs.items()}
    return SystemRanks(system.label, next(iter(runs.values())), ranks)


def compute_accuracy_curves(system: SystemRanks) -> Floats:
    """Return Accuracy@1 … Accuracy@100, or as deep as the run goes: (seeds, k)."""
    deepest = max((len(system.run.columns(q)[0]) for q in system.run), default=1)
    return np.array([success_by_depth(ranks, max(1, min(DEFAULT_DEPTH, deepest))) for ranks in system.ranks.values()])


def cap_rank(rank: int | None, limit: int, otherwise: int) -> int:
    """Return a rank up to a limit, and another number for a deeper rank or none."""
    return rank if rank is not None and rank <= limit else otherwise


def top_ids(system: SystemRanks, query_id: str, rule: str, k: int = HITS_SHOWN) -> Sequence[str]:
    """Return a query's first k documents in the rule's order."""
    return order_documents(system.run, query_id, get_rule(rule))[:k]


def scores_by_relevance(system: SystemRanks, outcome: ExperimentResult) -> tuple[Floats, Floats]:
    """Return the scores of the relevant documents, and of each query's best document that is not relevant."""
    relevant: list[float] = []
    others: list[float] = []
    for query in system.first_ranks:
        grades = outcome.labels.qrels[query]
        hits = [hit for hit in system.run.get(query, ()) if hit.id != query]
        relevant += [hit.score for hit in hits if grades.get(hit.id, 0) > 0]
        others += [hit.score for hit in hits if grades.get(hit.id, 0) <= 0][:1]
    return np.array(relevant, np.float64), np.array(others, np.float64)
