"""Compares runs: significance tests by every measure, and the queries that the systems differ most on."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from askalike.errors import InputError, SettingsError
from askalike.evaluation.comparison import Comparison, SystemPair
from askalike.evaluation.evaluate import evaluate, first_relevant_ranks, order_documents
from askalike.evaluation.rules import get_rule
from askalike.evaluation.significance import compare
from askalike.evaluation.tables import ResultTable
from askalike.evaluation.trec import read_run
from askalike.experiments.reporting.texts import ReportTexts, load_texts
from askalike.experiments.sources import RunJudgements, RunSource
from askalike.types import Qrels, Run

SHOWN_QUERIES = 5
"""The queries that are shown of a pair."""


@dataclass(frozen=True, slots=True)
class TopHit:
    """One system's first document for a query (id None: it has none), and the rank of its first relevant one."""

    system: str
    value: float
    id: str | None
    text: str
    relevant: bool
    rank: int | None


@dataclass(frozen=True, slots=True)
class QueryContrast:
    """A query on which the two systems of a pair differ, with a document that is relevant to it."""

    query_id: str
    text: str
    relevant_id: str
    relevant_text: str
    first: TopHit
    second: TopHit


@dataclass(frozen=True, slots=True)
class PairContrasts:
    """The queries that two systems differ most on by the first measure."""

    first: str
    second: str
    queries: Sequence[QueryContrast]


@dataclass(frozen=True, slots=True)
class RunComparison:
    """One comparison a measure, the contrasts of every pair by the first measure, and remarks on the numbers."""

    comparisons: Sequence[Comparison]
    contrasts: Sequence[PairContrasts]
    remarks: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return {
            "comparisons": [comparison.as_dict() for comparison in self.comparisons],
            "contrasts": [asdict(contrasts) for contrasts in self.contrasts],
            "remarks": list(self.remarks),
        }

    def pairs_table(self) -> ResultTable:
        """Return every pair by every measure."""
        tables = [(c.measure, c.pairs_table()) for c in self.comparisons]
        rows = [(measure, *row) for measure, table in tables for row in table.rows]
        return ResultTable("Differences", ("measure", *tables[0][1].columns), rows)


def compare_runs(
    sources: Sequence[RunSource],
    judgements: RunJudgements,
    measures: Sequence[str],
    rule: str,
    *,
    common_only: bool = False,
) -> RunComparison:
    """Compare every pair of systems by every measure. A query without hits counts 0, as the rule says.

    common_only: only the queries that every run has. Single queries are shown as the first seed's run has them.
    Raises InputError for a bad run, and where nothing is in common; SettingsError for fewer than two systems.
    """
    if len(sources) < 2:
        raise SettingsError("compare: one system; expected two runs or more, or an experiment of several systems")
    if not measures:
        raise SettingsError("compare: no measure is named; expected for instance AP, RR, P@5, Success@1")
    runs = {source.label: [(path, read_run(path)) for path in source.paths] for source in sources}
    all_runs = [(path, run) for of_label in runs.values() for path, run in of_label]
    for path, run in all_runs:
        if not any(query in judgements.qrels for query in run):
            raise InputError(f"{path}: none of its {len(run)} queries (such as {next(iter(run))!r}) is judged")
    qrels = _common_qrels(judgements.qrels, [run for _, run in all_runs]) if common_only else judgements.qrels
    evaluations = {
        label: [evaluate(run, qrels, measures, rule) for _, run in of_label] for label, of_label in runs.items()
    }
    comparisons = [compare(evaluations, measure, max_differing=SHOWN_QUERIES) for measure in measures]
    builder = _ContrastBuilder({label: of_label[0][1] for label, of_label in runs.items()}, qrels, rule)
    remarks = _remarks(all_runs, judgements.qrels, len(judgements.qrels) - len(qrels))
    return RunComparison(comparisons, builder.contrasts(comparisons[0], judgements), remarks)


def _common_qrels(qrels: Qrels, runs: Sequence[Run]) -> Qrels:
    common = {query: grades for query, grades in qrels.items() if all(query in run for run in runs)}
    if not common:
        raise InputError(f"the runs have no judged query in common ({len(qrels)} are judged)")
    return common


def _remarks(labelled_runs: Sequence[tuple[Any, Run]], qrels: Qrels, n_excluded: int) -> list[str]:
    """Return what of the runs does not count, and which of them lack queries."""
    remarks = [f"{n_excluded} queries that not all runs have are left out"] if n_excluded else []
    for path, run in labelled_runs:
        unknown = [query for query in run if query not in qrels]
        if unknown:
            remarks.append(f"{path}: {len(unknown)} queries are not judged (such as {unknown[0]!r}) and do not count")
        missing = [query for query in qrels if query not in run]
        if missing and not n_excluded:
            remarks.append(f"{path}: lacks {len(missing)} judged queries (such as {missing[0]!r}), which count 0")
    return remarks


class _ContrastBuilder:
    """The runs that single queries are shown from, one a system."""

    def __init__(self, runs: Mapping[str, Run], qrels: Qrels, rule: str) -> None:
        self._runs, self._qrels, self._rule = runs, qrels, get_rule(rule)
        self._ranks = {label: first_relevant_ranks(run, qrels, self._rule) for label, run in runs.items()}

    def contrasts(self, comparison: Comparison, judgements: RunJudgements) -> list[PairContrasts]:
        """Return every pair's queries that differ most, with their texts as far as the archive has them."""
        shown = {d.query_id for pair in comparison.pairs for d in pair.differing}
        ids = [self._first_id(label, query) for label in self._runs for query in sorted(shown)]
        ids += [self._relevant_id(query) for query in sorted(shown)]
        texts = ReportTexts()
        if judgements.archive:
            texts = load_texts(judgements.archive, judgements.queries, filter(None, ids), judgements.kind)
        return [PairContrasts(pair.first, pair.second, self._query_contrasts(pair, texts)) for pair in comparison.pairs]

    def _query_contrasts(self, pair: SystemPair, texts: ReportTexts) -> list[QueryContrast]:
        return [
            QueryContrast(
                d.query_id,
                texts.query(d.query_id),
                self._relevant_id(d.query_id),
                texts.document(self._relevant_id(d.query_id)),
                self._top_hit(pair.first, d.query_id, d.first, texts),
                self._top_hit(pair.second, d.query_id, d.second, texts),
            )
            for d in pair.differing
        ]

    def _top_hit(self, label: str, query_id: str, value: float, texts: ReportTexts) -> TopHit:
        id, rank = self._first_id(label, query_id), self._ranks[label][query_id]
        return TopHit(label, value, id, texts.document(id) if id else "", rank == 1, rank)

    def _first_id(self, label: str, query_id: str) -> str | None:
        return next(iter(order_documents(self._runs[label], query_id, self._rule)), None)

    def _relevant_id(self, query_id: str) -> str:
        return next((id for id, grade in self._qrels[query_id].items() if grade > 0), "")
