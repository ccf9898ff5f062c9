"""The order of documents under a rule, and the rank of each query's first relevant one."""

from collections.abc import Mapping, Sequence

from askalike import Run
from askalike.plugin.measuring import Rule
from askalike.plugin.training import Qrels

FirstRelevantRanks = Mapping[str, int | None]
"""Query id → rank of its first relevant document, from 1; None if the run has none."""


def order_documents(run: Run, query_id: str, rule: Rule) -> Sequence[str]:
    """Return a query's documents in the rule's order, without those that it drops; none if the run lacks the query."""
    return rule.order_hits(query_id, *run.columns(query_id)) if query_id in run else ()


def first_relevant_ranks(run: Run, qrels: Qrels, rule: Rule) -> FirstRelevantRanks:
    """Return the rank of the first relevant document of every query that the rule includes, sorted by query."""
    ranks: dict[str, int | None] = {}
    for query, grades in sorted(qrels.items()):
        if rule.includes_query(grades):
            ids = enumerate(order_documents(run, query, rule), 1)
            ranks[query] = next((rank for rank, document in ids if grades.get(document, 0) > 0), None)
    return ranks
