"""Evaluates a run against judgements under a rule; ir_measures computes trec_eval's measures.

The rules determine ties, self-hits, unanswered queries and cut-offs; they are all here.
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from askalike.core.arrays import Bools, Floats, Ints
from askalike.core.errors import InputError, SettingsError
from askalike.core.hits import Columns, Hit, Run
from askalike.core.iteration import check_list
from askalike.core.records import Qrels
from askalike.evaluation.measures import (
    AVG_REC,
    CALCULATOR,
    SEMEVAL_DEPTH,
    average_precision,
    average_recall,
    canonical_name,
    parse_measure,
    reciprocal_rank,
)
from askalike.evaluation.outcome import Evaluation, means_and_intervals

RuleMeasure = Callable[[Bools, Ints], Floats]
Hits = Sequence[Hit] | Mapping[str, float]
AnyRun = Run | Mapping[str, Hits]

MAX_GRADE = 1_000_000
"""Maximum grade of a document: trec_eval's code allocates eight bytes for each grade up to a query's highest."""
NOT_RETRIEVED = ""
"""An id that no document has."""
TIES_MATTER = 0.1
"""Share of tied hits above which a run is also measured with its ties in random order."""
TIES_SEED = 0
CHUNK_SIZE = 256
"""Number of queries passed to ir_measures at once: its dictionaries for a whole run would take gigabytes."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Determines the order of hits, and which hits and queries count.

    A query without hits in the run counts 0 under every rule. own_measures: measures that the rule defines itself.
    """

    name: str
    ties_by_id: bool
    drops_self_hits: bool = False
    drops_unanswerable: bool = False
    own_measures: Mapping[str, RuleMeasure] = field(default_factory=dict)
    remark: str = ""

    def describe(self) -> str:
        """Return a one-line description, which is printed with every table."""
        by_id, by_run = "as 32-bit float, ties by document id, descending", "ties in the order of the run"
        parts = (
            f"hits by score {by_id}" if self.ties_by_id else f"hits by score, {by_run}",
            f"the query itself, where a run lists it, {'is dropped' if self.drops_self_hits else 'counts'}",
            f"queries without a relevant document {'are dropped' if self.drops_unanswerable else 'count 0'}",
            "queries without hits count 0",
        )
        return f"rule {self.name}: {'; '.join(filter(None, (*parts, self.remark)))}"

    def includes_query(self, grades: Mapping[str, int]) -> bool:
        """Return whether a query with these judgements is measured."""
        return not self.drops_unanswerable or any(grade > 0 for grade in grades.values())

    def order_hits(self, query_id: str, ids: Sequence[str], scores: Floats) -> Sequence[str]:
        """Return the document ids, best first, without the dropped ones."""
        with np.errstate(over="ignore"):
            compared = scores.astype(np.float32) if self.ties_by_id else scores
        if not np.all(compared[1:] < compared[:-1]):
            positions = list(range(len(ids)))
            if self.ties_by_id:
                positions.sort(key=ids.__getitem__, reverse=True)
            ids = [ids[positions[i]] for i in np.argsort(-compared[positions], kind="stable").tolist()]
        if self.drops_self_hits and query_id in ids:
            ids = [i for i in ids if i != query_id]
        return ids


_SEMEVAL_MEASURES = {"AP": average_precision, "RR": reciprocal_rank}
_SEMEVAL_MEASURES |= {f"{name}@10": function for name, function in _SEMEVAL_MEASURES.items()}
RULES = {
    rule.name: rule
    for rule in (
        Rule("trec_eval", ties_by_id=True, remark="as trec_eval -c"),
        Rule(
            "semeval",
            ties_by_id=False,
            own_measures=_SEMEVAL_MEASURES,
            remark="AP and RR over the first 10 hits, AP divided by the relevant hits found there, RR times 100",
        ),
        Rule("beir", ties_by_id=True, drops_self_hits=True, remark="BEIR's own tool ignores queries without hits"),
        Rule("lei", ties_by_id=False, drops_unanswerable=True),
    )
}


def get_rule(name: str) -> Rule:
    """Return the rule of that name. Raises SettingsError for an unknown one."""
    if name not in RULES:
        raise SettingsError(f"no rule is called {name!r}; there are: {', '.join(RULES)}")
    return RULES[name]


def count_tied(scores: Floats) -> int:
    """Return the number of hits that are tied with another one."""
    sizes = np.bincount(_number_ties(scores)[1])
    return int(sizes[sizes > 1].sum())


def shuffle_ties(queries: Sequence[tuple[str, Columns]], seed: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Return each query's documents with new scores, which fall by 1: the same order, with ties in a random one."""
    random = np.random.default_rng(seed)
    for query, (ids, scores) in queries:
        order, numbers = _number_ties(scores)
        shuffled = order[np.lexsort((random.random(len(order)), numbers))].tolist()
        yield query, {ids[n]: float(len(ids) - place) for place, n in enumerate(shuffled)}


def _number_ties(scores: Floats) -> tuple[Ints, Ints]:
    """Return the order of hits by falling score, and each ordered hit's number: tied hits have the same.

    Scores are tied if they are equal as 32-bit floats, or neighbours: run files separate tied hits by that much.
    """
    with np.errstate(over="ignore"):
        compared = scores.astype(np.float32)
    order = np.argsort(-compared, kind="stable")
    falling = compared[order]
    begins = falling[1:] < np.nextafter(falling[:-1], np.float32(-np.inf))
    return order, np.r_[0, np.cumsum(begins)][: len(order)]


def evaluate(run: AnyRun, qrels: Qrels, measures: Sequence[str], rule: str = "trec_eval") -> Evaluation:
    """Evaluate a run, per query and as the mean over all judged queries that the rule includes.

    run: query id → hits, or → document id → score. measures: names such as `AP`, `MAP`, `P@5`, `Success@1`; the
    result keeps their spelling. Raises SettingsError for an unknown rule or measure, and InputError if run and
    judgements have no query in common, a document occurs twice in a query, or a score or grade is not a number.
    """
    for name, value in (("run", run), ("qrels", qrels)):
        if not isinstance(value, Mapping):
            raise InputError(f"{name}: expected a mapping, got {value!r}; askalike.read_{name} reads a file")
    chosen_rule = get_rule(rule)
    canonical_names = {name: canonical_name(name) for name in check_list("measures", measures)}
    if not canonical_names:
        raise SettingsError("no measure is named; expected for example AP, RR, P@5, Success@1")
    unjudged = _count_unjudged(run, qrels)
    queries = sorted(q for q, grades in qrels.items() if chosen_rule.includes_query(_validate_grades(q, grades)))
    if not queries:
        raise InputError(f"none of {len(qrels)} queries is left to measure ({chosen_rule.describe()})")
    tally = _Tally(queries, set(canonical_names.values()), chosen_rule)
    for start in range(0, len(queries), CHUNK_SIZE):
        tally.measure_chunk(start, run, qrels)
    columns = {name: tally.get_values(canonical).tolist() for name, canonical in canonical_names.items()}
    values = {name: dict(zip(queries, column, strict=True)) for name, column in columns.items()}
    means, intervals = means_and_intervals(values)
    tied_share = tally.tied / max(tally.hits, 1)
    means_of_random_ties = {}
    if tied_share > TIES_MATTER:
        columns_of = [(query, _validate_columns(query, run)) for query in queries if query in run]
        means_of_random_ties = dict(evaluate(dict(shuffle_ties(columns_of, TIES_SEED)), qrels, measures, rule).means)
    return Evaluation(
        rule=chosen_rule.name, describe=chosen_rule.describe(), values=values, means=means, intervals=intervals,
        n=len(queries), unanswered=tally.unanswered, unanswerable=int((tally.relevant == 0).sum()),
        dropped=len(qrels) - len(queries), unjudged=unjudged, self_hits=tally.self_hits,
        tied_share=tied_share, means_of_random_ties=means_of_random_ties,
    )  # fmt: skip


class _Tally:
    """Values per query: those of ir_measures, and the first hits for the rule's own measures."""

    def __init__(self, queries: Sequence[str], names: set[str], rule: Rule) -> None:
        self._queries, self._rule = queries, rule
        self._own_measures = {AVG_REC: average_recall, **rule.own_measures}
        self._measures = [parse_measure(name) for name in sorted(names - self._own_measures.keys())]
        self._values = {str(measure): np.zeros(len(queries)) for measure in self._measures}
        self._hits = np.zeros((len(queries), SEMEVAL_DEPTH), np.bool_)
        self.relevant = np.zeros(len(queries), np.int64)
        self.unanswered = self.self_hits = self.hits = self.tied = 0

    def get_values(self, name: str) -> Floats:
        """Return a measure's values by its canonical name: (queries,)."""
        own_measure = self._own_measures.get(name)
        return self._values[name] if own_measure is None else own_measure(self._hits, self.relevant)

    def measure_chunk(self, start: int, run: AnyRun, qrels: Qrels) -> None:
        """Measure at most CHUNK_SIZE queries, beginning at `start`."""
        rows = {query: row for row, query in enumerate(self._queries[start : start + CHUNK_SIZE], start)}
        grades = {query: _validate_grades(query, qrels[query]) for query in rows}
        ranked = {query: self._order_hits(query, run) for query in rows}
        for query, row in rows.items():
            first = [grades[query].get(document, 0) > 0 for document in ranked[query][:SEMEVAL_DEPTH]]
            self._hits[row, : len(first)] = first
            self.relevant[row] = sum(grade > 0 for grade in grades[query].values())
            self.unanswered += not first
        falling = {query: np.arange(len(ids), 0.0, -1.0).tolist() for query, ids in ranked.items()}  # the rule's order
        scored = {query: dict(zip(ids, falling[query], strict=True)) for query, ids in ranked.items() if ids}
        judged = {query: _with_a_grade_of_0(grades[query]) for query in rows}
        for metric in CALCULATOR.iter_calc(self._measures, judged, scored) if self._measures else ():
            self._values[str(metric.measure)][rows[metric.query_id]] = metric.value

    def _order_hits(self, query: str, run: AnyRun) -> Sequence[str]:
        if query not in run:
            return ()
        ids, scores = _validate_columns(query, run)
        ranked = self._rule.order_hits(query, ids, scores)
        self.self_hits += len(ids) - len(ranked)
        self.hits += len(ids)
        self.tied += count_tied(scores)
        return ranked


def _validate_columns(query: str, run: AnyRun) -> Columns:
    if isinstance(run, Run):
        ids, scores = run.columns(query)
    else:
        hits = run[query]
        pairs = list(hits.items() if isinstance(hits, Mapping) else ((hit.id, hit.score) for hit in hits))
        ids = [i for i, _ in pairs]
        scores = np.array([score for _, score in pairs], np.float64)
    if not np.all(np.isfinite(scores)):
        raise InputError(f"run, query {query!r}: a score is NaN or infinite")
    if len(set(ids)) < len(ids):
        raise InputError(f"run, query {query!r}: a document occurs twice")
    return ids, scores


def _validate_grades(query: str, grades: Mapping[str, int]) -> dict[str, int]:
    if wrong := next((id for id in (query, *grades) if not isinstance(id, str)), None):
        raise InputError(
            f"judgements: the ids of queries and documents are strings, got {wrong!r}; expected {str(wrong)!r}"
        )
    try:
        numbers = {document: operator.index(grade) for document, grade in grades.items()}
    except TypeError:
        raise InputError(f"judgements, query {query!r}: a grade is not a whole number") from None
    if any(abs(grade) > MAX_GRADE for grade in numbers.values()):
        raise InputError(f"judgements, query {query!r}: a grade is out of range; expected at most {MAX_GRADE:,}")
    return numbers


def _with_a_grade_of_0(grades: Mapping[str, int]) -> Mapping[str, int]:
    """Return grades that are not all negative, since those make trec_eval's code write out of bounds.

    If no document is relevant, adding one that is neither relevant nor retrieved changes no measure.
    """
    return {**grades, NOT_RETRIEVED: 0} if grades and max(grades.values()) < 0 else grades


def _count_unjudged(run: AnyRun, qrels: Qrels) -> int:
    """Return the number of the run's queries without judgements. Raises InputError if that is all of them."""
    unjudged = sum(query not in qrels for query in run)
    if not run:
        raise InputError("the run has no query")
    if not qrels:
        raise InputError("the judgements have no query")
    if unjudged == len(run):
        example, known = next(iter(run)), next(iter(qrels))
        judged = f"is in the judgements (such as {known!r})"
        raise InputError(f"none of the run's {unjudged} queries (such as {example!r}) {judged}")
    return unjudged
