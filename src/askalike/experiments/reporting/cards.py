"""Single queries as cards: what was asked, what is right, and what each system put first."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from askalike.experiments.outcome import ExperimentResult
from askalike.experiments.reporting.measured import DEPTH, HITS_SHOWN, SystemRanks, top_ids
from askalike.experiments.reporting.texts import ReportTexts

MAX_QUERIES = 300
"""Queries in the browser: some megabytes with six systems."""
MAX_HITS = 12_000
"""Hits in the browser, of all its queries and systems: with many systems fewer queries are shown."""
SAMPLE_SIZE, SEED = 20, 0
MAX_RELEVANT_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CardDocument:
    """One document of a list."""

    id: str
    text: str
    right: bool


@dataclass(frozen=True, slots=True)
class SystemHits:
    """What one system found for one query: `rank` is that of the first right document, None where there is none."""

    system: int
    label: str
    rank: int | None
    documents: Sequence[CardDocument]


@dataclass(frozen=True, slots=True)
class Card:
    """One query with every system's first hits. `right` are the first of its `n_right` right documents."""

    id: str
    text: str
    body: str
    right: Sequence[CardDocument]
    n_right: int
    system_hits: Sequence[SystemHits]


def select_contrasting_queries(systems: Sequence[SystemRanks]) -> list[str]:
    """The queries that the browser shows: those that the systems differ most on, then those that all find late."""
    most = min(MAX_QUERIES, MAX_HITS // (HITS_SHOWN * len(systems)))
    places = {q: [_capped_rank(s.first_ranks[q]) for s in systems] for q in systems[0].first_ranks}
    order = sorted(places, key=lambda q: (min(places[q]) / max(places[q]), -min(places[q]), q))
    return order[:most]


def sample_queries(systems: Sequence[SystemRanks]) -> list[str]:
    """Twenty queries drawn by a fixed seed, sorted by id."""
    queries = sorted(systems[0].first_ranks)
    return sorted(random.Random(SEED).sample(queries, min(SAMPLE_SIZE, len(queries))))


def shown_documents(queries: Sequence[str], systems: Sequence[SystemRanks], outcome: ExperimentResult) -> Iterator[str]:
    """The ids of all documents that the cards of these queries show."""
    for query in queries:
        yield from _relevant_ids(outcome, query)[:MAX_RELEVANT_SHOWN]
        for system in systems:
            yield from top_ids(system, query, outcome.rule)


def make_card(query: str, systems: Sequence[SystemRanks], outcome: ExperimentResult, texts: ReportTexts) -> Card:
    """The card of one query."""
    right = _relevant_ids(outcome, query)

    def line(id: str) -> CardDocument:
        return CardDocument(id, texts.document(id), id in right)

    return Card(
        query,
        texts.query(query),
        texts.query_body(query),
        [line(id) for id in right[:MAX_RELEVANT_SHOWN]],
        len(right),
        [
            SystemHits(i, s.label, s.first_ranks[query], [line(id) for id in top_ids(s, query, outcome.rule)])
            for i, s in enumerate(systems)
        ],
    )


def _relevant_ids(outcome: ExperimentResult, query: str) -> list[str]:
    return [id for id, grade in outcome.labels.qrels[query].items() if grade > 0]


def _capped_rank(rank: int | None) -> int:
    return 2 * DEPTH if rank is None else min(rank, 2 * DEPTH)
