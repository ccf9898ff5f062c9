"""Compares runs: the tests by every measure, and the queries that differ most with what each system put first."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from askalike.errors import InputError, SettingsError
from askalike.evaluation.comparison import Comparison, Pair
from askalike.evaluation.measures import evaluate
from askalike.evaluation.ranks import first_relevant, ranked
from askalike.evaluation.rules import named
from askalike.evaluation.significance import compare
from askalike.evaluation.tables import Table
from askalike.evaluation.trec import read_run
from askalike.experiment.reporting.texts import Texts, texts_of
from askalike.experiment.sources import Judged, Source
from askalike.types import Qrels, Run

MOST = 5
"""Queries that are shown of a pair."""


@dataclass(frozen=True, slots=True)
class Top:
    """What one system put first for a query (None: it found nothing), and where it has the first relevant one."""

    system: str
    value: float
    id: str | None
    text: str
    relevant: bool
    rank: int | None


@dataclass(frozen=True, slots=True)
class Contrast:
    """A query on which the two systems of a pair differ, with a document that is relevant to it."""

    query_id: str
    text: str
    relevant_id: str
    relevant_text: str
    first: Top
    second: Top


@dataclass(frozen=True, slots=True)
class Contrasts:
    """The queries that two systems differ most on, by the first measure."""

    first: str
    second: str
    queries: Sequence[Contrast]


@dataclass(frozen=True, slots=True)
class Compared:
    """One comparison a measure, and the contrasts of every pair by the first. `remarks` go with the numbers."""

    comparisons: Sequence[Comparison]
    contrasts: Sequence[Contrasts]
    remarks: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "comparisons": [comparison.as_dict() for comparison in self.comparisons],
            "contrasts": [asdict(contrasts) for contrasts in self.contrasts],
            "remarks": list(self.remarks),
        }

    def pairs_table(self) -> Table:
        """Every pair by every measure."""
        tables = [(c.measure, c.pairs_table()) for c in self.comparisons]
        rows = [(measure, *row) for measure, table in tables for row in table.rows]
        return Table("Differences", ("measure", *tables[0][1].columns), rows)


def compare_runs(
    found: Sequence[Source], judgements: Judged, measures: Sequence[str], rule: str, *, common_only: bool = False
) -> Compared:
    """Compares every pair of systems by every measure. A query without hits counts 0, as the rule says.

    common_only: only the queries that every run has. Single queries are shown as the first seed's run has them.
    Raises InputError for a bad run, and where nothing is in common; SettingsError for fewer than two systems.
    """
    if len(found) < 2:
        raise SettingsError("compare: one system; expected two runs or more, or an experiment of several systems")
    if not measures:
        raise SettingsError("compare: no measure is named; expected for instance AP, RR, P@5, Success@1")
    runs = {source.label: [(path, read_run(path)) for path in source.paths] for source in found}
    every = [(path, run) for of_label in runs.values() for path, run in of_label]
    for path, run in every:
        if not any(query in judgements.qrels for query in run):
            raise InputError(f"{path}: none of its {len(run)} queries (such as {next(iter(run))!r}) is judged")
    qrels = _common(judgements.qrels, [run for _, run in every]) if common_only else judgements.qrels
    evaluations = {
        label: [evaluate(run, qrels, measures, rule) for _, run in of_label] for label, of_label in runs.items()
    }
    comparisons = [compare(evaluations, measure, most=MOST) for measure in measures]
    shown = _Shown({label: of_label[0][1] for label, of_label in runs.items()}, qrels, rule)
    remarks = _remarks(every, judgements.qrels, len(judgements.qrels) - len(qrels))
    return Compared(comparisons, shown.contrasts(comparisons[0], judgements), remarks)


def _common(qrels: Qrels, runs: Sequence[Run]) -> Qrels:
    common = {query: grades for query, grades in qrels.items() if all(query in run for run in runs)}
    if not common:
        raise InputError(f"the runs have no judged query in common ({len(qrels)} are judged)")
    return common


def _remarks(every: Sequence[tuple[Any, Run]], qrels: Qrels, left_out: int) -> list[str]:
    """What of the runs does not count, and which of them lack queries."""
    remarks = [f"{left_out} queries that not all runs have are left out"] if left_out else []
    for path, run in every:
        unknown = [query for query in run if query not in qrels]
        if unknown:
            remarks.append(f"{path}: {len(unknown)} queries are not judged (such as {unknown[0]!r}) and do not count")
        lacking = [query for query in qrels if query not in run]
        if lacking and not left_out:
            remarks.append(f"{path}: lacks {len(lacking)} judged queries (such as {lacking[0]!r}), which count 0")
    return remarks


class _Shown:
    """The runs that single queries are shown from, one a system."""

    def __init__(self, runs: Mapping[str, Run], qrels: Qrels, rule: str) -> None:
        self._runs, self._qrels, self._rule = runs, qrels, named(rule)
        self._ranks = {label: first_relevant(run, qrels, self._rule) for label, run in runs.items()}

    def contrasts(self, comparison: Comparison, judgements: Judged) -> list[Contrasts]:
        """Every pair's queries that differ most, with their texts as far as the archive has them."""
        shown = {d.query_id for pair in comparison.pairs for d in pair.differing}
        ids = [self._first(label, query) for label in self._runs for query in sorted(shown)]
        ids += [self._relevant(query) for query in sorted(shown)]
        wanted = [id for id in ids if id]
        place = judgements.archive
        texts = texts_of(place, judgements.queries, wanted, judgements.of) if place else Texts()
        return [Contrasts(pair.first, pair.second, self._queries(pair, texts)) for pair in comparison.pairs]

    def _queries(self, pair: Pair, texts: Texts) -> list[Contrast]:
        return [
            Contrast(
                d.query_id,
                texts.query(d.query_id),
                self._relevant(d.query_id),
                texts.document(self._relevant(d.query_id)),
                self._top(pair.first, d.query_id, d.first, texts),
                self._top(pair.second, d.query_id, d.second, texts),
            )
            for d in pair.differing
        ]

    def _top(self, label: str, query: str, value: float, texts: Texts) -> Top:
        id, rank = self._first(label, query), self._ranks[label][query]
        return Top(label, value, id, texts.document(id) if id else "", rank == 1, rank)

    def _first(self, label: str, query: str) -> str | None:
        return next(iter(ranked(self._runs[label], query, self._rule)), None)

    def _relevant(self, query: str) -> str:
        return next((id for id, grade in self._qrels[query].items() if grade > 0), "")
