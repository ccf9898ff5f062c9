"""Single queries as cards: what was asked, what is right, and what each system put first."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from askalike.experiment.outcome import Outcome
from askalike.experiment.reporting.measured import DEPTH, SHOWN, Measured, top
from askalike.experiment.reporting.texts import Texts

MOST = 300
"""Queries in the browser: some megabytes with six systems."""
HITS = 12_000
"""Hits in the browser, of all its queries and systems: with many systems fewer queries are shown."""
SAMPLE, SEED = 20, 0
RIGHT_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Line:
    """One document of a list."""

    id: str
    text: str
    right: bool


@dataclass(frozen=True, slots=True)
class Found:
    """What one system found for one query: `rank` is that of the first right document, None where there is none."""

    system: int
    label: str
    rank: int | None
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Card:
    """One query with every system's first hits. `right` are the first of its `n_right` right documents."""

    id: str
    text: str
    body: str
    right: Sequence[Line]
    n_right: int
    found: Sequence[Found]


def browsed(systems: Sequence[Measured]) -> list[str]:
    """The queries that the browser shows: those that the systems differ most on, then those that all find late."""
    most = min(MOST, HITS // (SHOWN * len(systems)))
    places = {q: [_place(s.first[q]) for s in systems] for q in systems[0].first}
    order = sorted(places, key=lambda q: (min(places[q]) / max(places[q]), -min(places[q]), q))
    return order[:most]


def sampled(systems: Sequence[Measured]) -> list[str]:
    """Twenty queries drawn by a fixed seed, sorted by id."""
    queries = sorted(systems[0].first)
    return sorted(random.Random(SEED).sample(queries, min(SAMPLE, len(queries))))


def documents(queries: Sequence[str], systems: Sequence[Measured], outcome: Outcome) -> Iterator[str]:
    """The ids of all documents that the cards of these queries show."""
    for query in queries:
        yield from _right(outcome, query)[:RIGHT_SHOWN]
        for system in systems:
            yield from top(system, query, outcome.rule)


def card(query: str, systems: Sequence[Measured], outcome: Outcome, texts: Texts) -> Card:
    """The card of one query."""
    right = _right(outcome, query)

    def line(id: str) -> Line:
        return Line(id, texts.document(id), id in right)

    return Card(
        query,
        texts.query(query),
        texts.query_body(query),
        [line(id) for id in right[:RIGHT_SHOWN]],
        len(right),
        [
            Found(i, s.label, s.first[query], [line(id) for id in top(s, query, outcome.rule)])
            for i, s in enumerate(systems)
        ],
    )


def _right(outcome: Outcome, query: str) -> list[str]:
    return [id for id, grade in outcome.labels.qrels[query].items() if grade > 0]


def _place(rank: int | None) -> int:
    return 2 * DEPTH if rank is None else min(rank, 2 * DEPTH)
