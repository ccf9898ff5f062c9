"""Single queries as cards: the query, its relevant documents, and the first hits of each system."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from askalike.experiments.outcome import ExperimentResult
from askalike.experiments.reporting.ranks import HITS_SHOWN, SystemRanks, cap_rank, top_ids
from askalike.experiments.reporting.texts import ReportTexts

MAX_QUERIES = 300
"""The most queries in the browser: some megabytes with six systems."""
MAX_HITS = 12_000
"""The most hits in the browser, over all queries and systems: with many systems fewer queries are shown."""
SAMPLE_SIZE, SEED = 20, 0
MAX_RELEVANT_SHOWN = 5
MAX_RANK = 200
"""The rank that counts for a query without a relevant hit."""


@dataclass(frozen=True, slots=True)
class CardDocument:
    """One document of a list, and whether it is relevant."""

    id: str
    text: str
    right: bool


@dataclass(frozen=True, slots=True)
class SystemHits:
    """One system's first documents for one query. rank: that of the first relevant document; None without one."""

    system: int
    label: str
    rank: int | None
    documents: Sequence[CardDocument]


@dataclass(frozen=True, slots=True)
class Card:
    """One query with every system's first hits. right: the first of its `n_right` relevant documents."""

    id: str
    text: str
    body: str
    right: Sequence[CardDocument]
    n_right: int
    system_hits: Sequence[SystemHits]


def select_contrasting_queries(systems: Sequence[SystemRanks]) -> list[str]:
    """Return the queries of the browser: first those that the systems differ most on, then those that all find late."""
    limit = min(MAX_QUERIES, MAX_HITS // (HITS_SHOWN * len(systems)))
    ranks = {q: [cap_rank(s.first_ranks[q], MAX_RANK, MAX_RANK) for s in systems] for q in systems[0].first_ranks}
    order = sorted(ranks, key=lambda q: (min(ranks[q]) / max(ranks[q]), -min(ranks[q]), q))
    return order[:limit]


def sample_queries(systems: Sequence[SystemRanks]) -> list[str]:
    """Return twenty queries drawn with a fixed seed, sorted by id."""
    queries = sorted(systems[0].first_ranks)
    return sorted(random.Random(SEED).sample(queries, min(SAMPLE_SIZE, len(queries))))


def shown_documents(queries: Sequence[str], systems: Sequence[SystemRanks], outcome: ExperimentResult) -> Iterator[str]:
    """Yield the ids of all documents that the cards of these queries show."""
    for query in queries:
        yield from _relevant_ids(outcome, query)[:MAX_RELEVANT_SHOWN]
        for system in systems:
            yield from top_ids(system, query, outcome.rule)


def make_card(query: str, systems: Sequence[SystemRanks], outcome: ExperimentResult, texts: ReportTexts) -> Card:
    """Return the card of one query."""
    relevant = _relevant_ids(outcome, query)

    def document(id: str) -> CardDocument:
        return CardDocument(id, texts.document(id), id in relevant)

    return Card(
        query,
        texts.query(query),
        texts.query_body(query),
        [document(id) for id in relevant[:MAX_RELEVANT_SHOWN]],
        len(relevant),
        [
            SystemHits(i, s.label, s.first_ranks[query], [document(id) for id in top_ids(s, query, outcome.rule)])
            for i, s in enumerate(systems)
        ],
    )


def _relevant_ids(outcome: ExperimentResult, query: str) -> list[str]:
    return [id for id, grade in outcome.labels.qrels[query].items() if grade > 0]
