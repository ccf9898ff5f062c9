"""The single queries of a report: their texts, their ranks by each system, and cards with the first hits of each."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from askalike import Run
from askalike.plugin.index import Floats
from askalike.plugin.measuring import DEFAULT_DEPTH, get_rule, separate_ties
from askalike_research.experiments.outcome import ExperimentResult
from askalike_research.relevant_ranks import FirstRelevantRanks, first_relevant_ranks, order_documents
from askalike_research.texts import ReportTexts

HITS_SHOWN = 5
"""Number of hits of a system that are shown for a query."""

MAX_QUERIES = 300
"""Maximum number of queries in the query browser: a few megabytes with six systems."""
MAX_HITS = 12_000
"""Maximum number of hits in the query browser, over all queries and systems: more systems mean fewer queries."""
SAMPLE_SIZE, SEED = 20, 0
MAX_RELEVANT_SHOWN = 5
MAX_RANK = 200
"""The rank assigned to a query without a relevant hit."""


@dataclass(frozen=True, slots=True)
class SystemRanks:
    """The run of a system's first seed, from which single queries are shown.

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
    rule = get_rule(outcome.rule)
    systems = []
    for system in outcome.systems:
        runs = {seed: separate_ties(result.run) for seed, result in system.seed_results.items()}
        ranks = {seed: first_relevant_ranks(run, outcome.labels.qrels, rule) for seed, run in runs.items()}
        systems.append(SystemRanks(system.label, next(iter(runs.values())), ranks))
    return systems


def compute_accuracy_curves(system: SystemRanks) -> Floats:
    """Return Accuracy@1 … Accuracy@100, or up to the depth of the run: (seeds, k)."""
    deepest = max((len(system.run.columns(q)[0]) for q in system.run), default=1)
    return np.array([_success_by_depth(ranks, max(1, min(DEFAULT_DEPTH, deepest))) for ranks in system.ranks.values()])


def _success_by_depth(ranks: FirstRelevantRanks, max_depth: int) -> Floats:
    """Return Success@k (Accuracy@k) for k = 1 … max_depth: (max_depth,)."""
    reached = np.array([rank for rank in ranks.values() if rank is not None and rank <= max_depth], np.int64)
    return np.asarray(np.bincount(reached, minlength=max_depth + 1)[1:].cumsum() / max(len(ranks), 1))


def cap_rank(rank: int | None, limit: int, otherwise: int) -> int:
    """Return a rank up to a limit, and `otherwise` for a deeper rank or None."""
    return rank if rank is not None and rank <= limit else otherwise


def top_ids(system: SystemRanks, query_id: str, rule: str) -> Sequence[str]:
    """Return a query's first HITS_SHOWN documents in the rule's order."""
    return order_documents(system.run, query_id, get_rule(rule))[:HITS_SHOWN]


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
    """Return the queries of the browser: first those on which systems differ most, then those hard for all of them."""
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

    hits = []
    right = [document(id) for id in relevant[:MAX_RELEVANT_SHOWN]]
    for i, system in enumerate(systems):
        first = [document(id) for id in top_ids(system, query, outcome.rule)]
        hits.append(SystemHits(i, system.label, system.first_ranks[query], first))
    return Card(query, texts.query(query), texts.query_body(query), right, len(relevant), hits)


def _relevant_ids(outcome: ExperimentResult, query: str) -> list[str]:
    return [id for id, grade in outcome.labels.qrels[query].items() if grade > 0]
