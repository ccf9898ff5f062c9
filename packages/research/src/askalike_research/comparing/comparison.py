"""Compares runs: tests each measure, finds the queries that differ most, and formats what was found."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from askalike import InputError, Run, SettingsError, compare, read_run
from askalike.plugin.commands import format_count
from askalike.plugin.measuring import (
    ALPHA,
    ComparedSystem,
    Comparison,
    ResultTable,
    SystemPair,
    TableCell,
    as_evaluation,
    evaluate_groups,
    get_rule,
    to_csv,
    to_latex,
    to_text,
)
from askalike.plugin.training import Qrels
from askalike_research.comparing.agreement import PERSISTENCE, RankingAgreement, compare_rankings
from askalike_research.comparing.power import POWER, detectable_difference, significant_difference
from askalike_research.comparing.run_sources import RunJudgements, RunSource
from askalike_research.pages import render
from askalike_research.relevant_ranks import first_relevant_ranks, order_documents
from askalike_research.texts import ReportTexts, load_texts

SYSTEMS_NOTE = (
    f"In brackets 95 % intervals; raised letters: significantly better than that system (paired randomisation test, "
    f"Holm over all pairs, p < {ALPHA})"
)
POWER_NOTE = (
    f"needed: the smallest difference that is significant by itself on these queries; detectable: the true difference "
    f"that they show with a probability of {POWER:.0%}"
)
AGREEMENT_NOTE = (
    f"RBO: rank-biased overlap, p = {PERSISTENCE}; tau: Kendall's τ of the documents that both list; means over queries"
)
PAGE = Path(__file__).parent / "templates" / "compare.html"
SHOWN_QUERIES = 5
"""Number of queries that are shown for a pair of systems."""


@dataclass(frozen=True, slots=True)
class TopHit:
    """A system's first document for a query (id None: it has none), and the rank of its first relevant one."""

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
    """The queries on which two systems differ most by the first measure."""

    first: str
    second: str
    queries: Sequence[QueryContrast]


@dataclass(frozen=True, slots=True)
class RunComparison:
    """One comparison per measure, the contrasts of every pair by the first measure, and remarks on the numbers.

    agreements: how similar the systems rank, if that was asked for.
    """

    comparisons: Sequence[Comparison]
    contrasts: Sequence[PairContrasts]
    remarks: Sequence[str]
    agreements: Sequence[RankingAgreement] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return {
            "comparisons": [comparison.as_dict() for comparison in self.comparisons],
            "power": [row._asdict() for row in self.power()],
            "agreements": [asdict(agreement) for agreement in self.agreements],
            "contrasts": [asdict(contrasts) for contrasts in self.contrasts],
            "remarks": list(self.remarks),
        }

    def power(self) -> list["PairPower"]:
        """Return how large a difference each pair of systems would need, by each measure."""
        pairs = ((comparison.measure, pair) for comparison in self.comparisons for pair in comparison.pairs)
        return [
            PairPower(measure, pair.first, pair.second, significant_difference(pair), detectable_difference(pair))
            for measure, pair in pairs
        ]

    def systems_table(self) -> ResultTable:
        """Return one row per system: each measure's mean with its interval, and the letters of the systems it beats.

        The best mean of each measure is marked, and ± is the standard deviation over seeds.
        """
        best = [max(system.mean for system in comparison.systems) for comparison in self.comparisons]
        rows: list[list[str | TableCell]] = []
        for system in zip(*(comparison.systems for comparison in self.comparisons), strict=True):
            cells = [_format_system(s, s.mean == highest) for s, highest in zip(system, best, strict=True)]
            rows.append([f"{system[0].letter} {system[0].name}", *cells])
        measures = (comparison.measure for comparison in self.comparisons)
        return ResultTable(
            f"n = {format_count(self.comparisons[0].n, 'query')}", ("system", *measures), rows, (SYSTEMS_NOTE,)
        )

    def pairs_table(self) -> ResultTable:
        """Return every pair by every measure, with the difference that it would need."""
        tables = [(c.measure, c.pairs_table()) for c in self.comparisons]
        rows = [(measure, *row) for measure, table in tables for row in table.rows]
        needed = [(f"{power.needed:.4f}", f"{power.detectable:.4f}") for power in self.power()]
        columns = ("measure", *tables[0][1].columns, "needed", "detectable")
        return ResultTable(
            "Differences", columns, [(*row, *cells) for row, cells in zip(rows, needed, strict=True)], (POWER_NOTE,)
        )

    def agreements_table(self) -> ResultTable:
        """Return how similar each pair of systems ranks."""
        rows = [
            (a.first, a.second, f"{a.rbo:.3f}", "–" if a.tau is None else f"{a.tau:+.3f}", f"{a.queries:,}")
            for a in self.agreements
        ]
        return ResultTable("Rankings", ("first", "second", "RBO", "tau", "queries"), rows, (AGREEMENT_NOTE,))


class PairPower(NamedTuple):
    """How large a difference of two systems by one measure has to be, see `power`."""

    measure: str
    first: str
    second: str
    needed: float
    detectable: float


def _format_system(system: ComparedSystem, best: bool) -> TableCell:
    sd = "" if system.sd is None else f" ± {system.sd:.3f}"
    return TableCell(f"{system.mean:.3f}{sd} [{system.low:.3f}, {system.high:.3f}]", "".join(system.beats), best)


def compare_runs(
    sources: Sequence[RunSource], truth: RunJudgements, measures: Sequence[str], rule: str, common_only: bool = False,
    agreement: bool = False,
) -> RunComparison:  # fmt: skip
    """Compare every pair of systems by every measure. The rule decides how queries without hits count.

    common_only: only the queries that every run has. agreement: also compare the rankings, whatever is relevant.
    Single queries are shown, and rankings compared, from the run of the first seed.
    Raises InputError for an invalid run, and if no query is in common; SettingsError for fewer than two systems.
    """
    if len(sources) < 2:
        advice = "expected several runs, or an experiment with several systems; one is measured by evaluate --run FILE"
        raise SettingsError(f"compare: only one system; {advice}")
    if not measures:
        raise SettingsError("compare: no measure is named; expected for instance AP, RR, P@5, Success@1")
    runs = {source.label: [(path, read_run(path)) for path in source.paths] for source in sources}
    all_runs = [(path, run) for label_runs in runs.values() for path, run in label_runs]
    for path, run in all_runs:
        if not any(query in truth.qrels for query in run):
            raise InputError(f"{path}: none of its {len(run)} queries (such as {next(iter(run))!r}) is judged")
    qrels = truth.qrels
    if common_only:
        qrels = {query: grades for query, grades in qrels.items() if all(query in run for _, run in all_runs)}
        if not qrels:
            raise InputError(f"the runs have no judged query in common ({len(truth.qrels)} are judged)")
    evaluations = {
        name: [as_evaluation(evaluate_groups(run, qrels, truth.groups, measures, rule)) for _, run in pairs]
        for name, pairs in runs.items()
    }
    comparisons = [compare(evaluations, measure, max_differing=SHOWN_QUERIES) for measure in measures]
    shown_runs = {label: label_runs[0][1] for label, label_runs in runs.items()}
    contrasts = _ContrastBuilder(shown_runs, qrels, rule).contrasts(comparisons[0], truth)
    remarks = _remarks(all_runs, truth.qrels, len(truth.qrels) - len(qrels))
    return RunComparison(comparisons, contrasts, remarks, compare_rankings(shown_runs) if agreement else ())


def _remarks(labelled_runs: Sequence[tuple[Any, Run]], qrels: Qrels, n_excluded: int) -> list[str]:
    """Return remarks on parts of the runs that do not count, and on runs that lack queries."""
    remarks = [f"left out: {format_count(n_excluded, 'query')} that not all runs have"] if n_excluded else []
    for path, run in labelled_runs:
        unknown = [query for query in run if query not in qrels]
        if unknown:
            remarks.append(
                f"{path}: {format_count(len(unknown), 'query')} not judged (such as {unknown[0]!r}), and not counted"
            )
        missing = [query for query in qrels if query not in run]
        if missing and not n_excluded:
            remarks.append(
                f"{path}: lacks {format_count(len(missing), 'judged query')} (such as {missing[0]!r}), which count 0"
            )
    return remarks


class _ContrastBuilder:
    """The runs from which single queries are shown, one per system."""

    def __init__(self, runs: Mapping[str, Run], qrels: Qrels, rule: str) -> None:
        self._runs, self._qrels, self._rule = runs, qrels, get_rule(rule)
        self._ranks = {label: first_relevant_ranks(run, qrels, self._rule) for label, run in runs.items()}

    def contrasts(self, comparison: Comparison, judgements: RunJudgements) -> list[PairContrasts]:
        """Return the queries on which each pair differs most, with their texts if the archive has them."""
        shown = {d.query_id for pair in comparison.pairs for d in pair.differing}
        ids = [self._first_id(label, query) for label in self._runs for query in sorted(shown)]
        ids += [self._relevant_id(query) for query in sorted(shown)]
        texts = ReportTexts()
        if judgements.archive:
            texts = load_texts(judgements.archive, judgements.queries, filter(None, ids), judgements.kind)
        return [PairContrasts(pair.first, pair.second, self._query_contrasts(pair, texts)) for pair in comparison.pairs]

    def _query_contrasts(self, pair: SystemPair, texts: ReportTexts) -> list[QueryContrast]:
        contrasts = []
        for d in pair.differing:
            id = d.query_id
            relevant = self._relevant_id(d.query_id)
            hits = self._top_hit(pair.first, id, d.first, texts), self._top_hit(pair.second, id, d.second, texts)
            contrasts.append(QueryContrast(id, texts.query(id), relevant, texts.document(relevant), *hits))
        return contrasts

    def _top_hit(self, label: str, query_id: str, value: float, texts: ReportTexts) -> TopHit:
        id = self._first_id(label, query_id)
        rank = self._ranks[label][query_id]
        return TopHit(label, value, id, texts.document(id) if id else "", rank == 1, rank)

    def _first_id(self, label: str, query_id: str) -> str | None:
        return next(iter(order_documents(self._runs[label], query_id, self._rule)), None)

    def _relevant_id(self, query_id: str) -> str:
        return next((id for id, grade in self._qrels[query_id].items() if grade > 0), "")


def format_comparison(comparison: RunComparison, format: str) -> str:
    """Return the comparison in a format by name. Raises SettingsError for an unknown one."""
    if format not in FORMATS:
        raise SettingsError(f"no format is called {format!r}; there are: {', '.join(FORMATS)}")
    return FORMATS[format](comparison)


def format_text(comparison: RunComparison) -> str:
    """Return tables for each measure, then the queries that differ most."""
    parts = [to_text(c.systems_table()) for c in comparison.comparisons[:1]]
    parts += [to_text(replace(c.systems_table(), notes=())) for c in comparison.comparisons[1:]]
    parts.append(to_text(comparison.pairs_table()))
    parts += [to_text(comparison.agreements_table())] if comparison.agreements else []
    parts += [f"{remark}\n" for remark in comparison.remarks]
    measure = comparison.comparisons[0].measure
    for contrasts in comparison.contrasts:
        if contrasts.queries:
            lines = [line for query in contrasts.queries for line in _contrast_lines(query)]
            heading = f"{contrasts.first} and {contrasts.second}: the queries that differ most in {measure}"
            parts.append("\n".join((heading, *lines, "")))
    return "\n".join(parts)


def _contrast_lines(query: QueryContrast) -> Iterator[str]:
    width = max(len(query.first.system), len(query.second.system))
    yield f"  {query.query_id}  {query.text}" if query.text != query.query_id else f"  {query.query_id}"
    for top in (query.first, query.second):
        yield f"    {top.system.ljust(width)}  {top.value:.4f}  {_describe_hit(top)}"
    if query.relevant_id and 1 not in (query.first.rank, query.second.rank):
        yield f"    {'relevant'.ljust(width)}  {_id_and_text(query.relevant_id, query.relevant_text)}"


def _describe_hit(hit: TopHit) -> str:
    if hit.id is None:
        return "found nothing"
    place = "relevant" if hit.relevant else f"relevant at {hit.rank}" if hit.rank else "none relevant found"
    return f"{_id_and_text(hit.id, hit.text)}  ({place})"


def _id_and_text(id: str, text: str) -> str:
    return id if text == id else f"{id} {text}"


def format_html(comparison: RunComparison) -> str:
    """Return a self-contained page that opens offline."""
    title = " and ".join([system.name for system in comparison.comparisons[0].systems])
    return render(PAGE, compared=comparison, title=title)


def format_latex(comparison: RunComparison) -> str:
    """Return a LaTeX table of systems by measures, for a paper (package booktabs)."""
    return to_latex(comparison.systems_table())


FORMATS: Mapping[str, Callable[[RunComparison], str]] = {
    "text": format_text,
    "html": format_html,
    "latex": format_latex,
    "csv": lambda comparison: to_csv(comparison.pairs_table()),
    "json": lambda comparison: json.dumps(comparison.as_dict(), ensure_ascii=False) + "\n",
}
