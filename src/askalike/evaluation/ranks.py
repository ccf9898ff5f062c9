"""Where a run has the first relevant document of each query, and the share of queries that have it by rank k."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from askalike.evaluation.rules import Rule
from askalike.types import Qrels, Run

FirstRelevantRanks = Mapping[str, int | None]
"""Query id → rank of its first relevant document, from 1; None where the run has none."""


def order_documents(run: Run, query_id: str, rule: Rule) -> Sequence[str]:
    """A query's documents in the rule's order, without those that the rule drops; none where the run lacks it."""
    return rule.order_hits(query_id, *run.columns(query_id)) if query_id in run else ()


def first_relevant_ranks(run: Run, qrels: Qrels, rule: Rule) -> FirstRelevantRanks:
    """The rank of the first relevant document of every query that the rule counts, sorted by query."""
    return {
        q: _first_relevant_rank(order_documents(run, q, rule), qrels[q])
        for q in sorted(qrels)
        if rule.includes_query(qrels[q])
    }


def _first_relevant_rank(ids: Sequence[str], grades: Mapping[str, int]) -> int | None:
    return next((rank for rank, document in enumerate(ids, 1) if grades.get(document, 0) > 0), None)


def success_by_depth(ranks: FirstRelevantRanks, max_depth: int) -> NDArray[np.float64]:
    """Accuracy@k (Success@k) for k = 1 … depth: (depth,)."""
    found = np.array([rank for rank in ranks.values() if rank is not None and rank <= max_depth], np.int64)
    return np.asarray(np.bincount(found, minlength=max_depth + 1)[1:].cumsum() / max(len(ranks), 1))
