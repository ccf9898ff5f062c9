"""Compares runs: reads runs and judgements, tests each measure, and finds the queries with the largest differences."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from askalike.core.errors import InputError, SettingsError
from askalike.core.types import DocumentKind, Qrels, Question, Run, Split
from askalike.core.values import format_count
from askalike.evaluation.evaluate import first_relevant_ranks, get_rule, order_documents
from askalike.evaluation.significance import ALPHA, Comparison, SystemPair, compare
from askalike.evaluation.tables import ResultTable, TableCell, to_csv, to_latex, to_text
from askalike.evaluation.trec import read_qrels, read_run
from askalike.experiments.cards import ReportTexts, load_texts
from askalike.experiments.folder import file_name
from askalike.experiments.measuring import RankingTask, as_evaluation, evaluate_groups, evaluation_split
from askalike.experiments.pages import render
from askalike.labels.splits import document_kind, group_names, sample_queries
from askalike.store import Archive

RUN_ENDINGS = (".trec", ".trec.gz")
_SEED_SUFFIX = re.compile(r"(.+)-seed(\d+)")
_RUN_EXTENSION = re.compile(r"\.(trec|run|txt|tsv|pred|res)?(\.gz)?$")
SYSTEMS_NOTE = (
    f"In brackets 95 % intervals; raised letters: significantly better than that system (paired randomisation test, "
    f"Holm over all pairs, p < {ALPHA})"
)
SHOWN_QUERIES = 5
"""Number of queries that are shown for a pair of systems."""


@dataclass(frozen=True, slots=True)
class RunSource:
    """A system: its run files, one per seed. folder: that of their experiment, if any."""

    label: str
    paths: Sequence[Path]
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class RunJudgements:
    """Judgements, with the texts of the queries and the archive with the documents, if these are known.

    groups: the names of the archive's groups, which have equal weight.
    """

    qrels: Qrels
    queries: Mapping[str, Question] = field(default_factory=dict)
    archive: Path | None = None
    kind: DocumentKind = "questions"
    groups: Sequence[str] = ()


def parse_sources(arguments: Sequence[str]) -> list[RunSource]:
    """Return the systems given by the arguments: `FILE`, or `FOLDER` of an experiment, optionally after `NAME=`.

    Systems of an experiment have its labels, prefixed with the folder's name if two would be equal. Raises
    InputError for a folder that is not an experiment's, SettingsError for a label given twice.
    """
    groups = [list(_parse_argument(argument)) for argument in arguments]
    labels = [source.label for group in groups for source in group]
    sources = [_disambiguate(source, labels) for group in groups for source in group]
    names = [source.label for source in sources]
    if twice := next((name for name in names if names.count(name) > 1), None):
        example = f"NAME={sources[0].paths[0]}"
        raise SettingsError(f"two systems are called {twice!r}; give one another name, as in {example}")
    return sources


def _parse_argument(argument: str) -> Iterator[RunSource]:
    name, sign, file = argument.partition("=")
    if not (sign and name) or Path(argument).exists():
        name, file = "", argument
    if not (path := Path(file)).is_dir():
        yield RunSource(name or _RUN_EXTENSION.sub("", path.name) or path.name, [path])
        return
    runs = _find_runs(path)
    for label, files in runs.items():
        yield RunSource(label if not name else name if len(runs) == 1 else f"{name}/{label}", files, path)


def _find_runs(folder: Path) -> dict[str, list[Path]]:
    """Return label → the runs of an experiment's folder by ascending seed, in the order of its configuration."""
    files = sorted(p for p in (folder / "runs").glob("*") if p.name.endswith(RUN_ENDINGS))
    if not files:
        expected = "a run file, or a folder made by askalike experiment"
        raise InputError(f"{folder}: no runs/*.trec in it; expected {expected}")
    runs: dict[str, list[tuple[int, Path]]] = {}
    for path in files:
        stem = _RUN_EXTENSION.sub("", path.name)
        seeded = _SEED_SUFFIX.fullmatch(stem)
        runs.setdefault(seeded[1] if seeded else stem, []).append((int(seeded[2]) if seeded else 0, path))
    labels = {file_name(system["label"]): system["label"] for system in _read_config(folder).get("system", ())}
    order = [*(stem for stem in labels if stem in runs), *(stem for stem in runs if stem not in labels)]
    return {labels.get(stem, stem): [path for _, path in sorted(runs[stem])] for stem in order}


def _disambiguate(source: RunSource, labels: Sequence[str]) -> RunSource:
    if source.folder is None or labels.count(source.label) == 1:
        return source
    return RunSource(f"{source.folder.resolve().name}/{source.label}", source.paths, source.folder)


def declared_value(sources: Sequence[RunSource], key: str) -> Any:
    """Return the value of a key in the config.toml of all experiments; None if it is missing or they differ."""
    folders = dict.fromkeys(source.folder for source in sources if source.folder)
    values = [_read_config(folder).get(key) for folder in folders]
    return values[0] if values and all(value == values[0] for value in values) else None


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def load_judgements(
    sources: Sequence[RunSource], qrels: Path | None, archive: Path | None, split_name: str | None
) -> RunJudgements:
    """Return the judgements of a file, else of an archive's split, else of the split of the experiments.

    With both, the judgements are those of the file and the texts those of the archive. Raises SettingsError if there
    are none.
    """
    path = archive or _find_archive(sources)
    if path is None and qrels is None:
        raise SettingsError(
            "compare: no judgements; expected --qrels FILE, or --archive DIR with --split NAME, or folders "
            "made by askalike experiment on one split of an archive that is still there"
        )
    if path is None and split_name:
        raise SettingsError(f"compare: split {split_name!r} of no archive; name the archive: --archive DIR")
    judged = read_qrels(qrels) if qrels else None
    if path is None:
        return RunJudgements(judged or {})
    with Archive.open(path) as opened:
        name = split_name or declared_value(sources, "split") or (evaluation_split(opened) if judged is None else None)
        kind: DocumentKind = declared_value(sources, "task") or (document_kind(opened, name) if name else "questions")
        labels = RankingTask.from_archive(opened, kind).labels(name) if name else Split({}, {})
        if limit := declared_value(sources, "max_queries"):
            labels = sample_queries(labels, limit)
        groups = group_names(opened)
    return RunJudgements(labels.qrels if judged is None else judged, labels.queries, path, kind, groups)


def _find_archive(sources: Sequence[RunSource]) -> Path | None:
    """Return the path of the experiments' archive, relative to the working directory or to their folder."""
    value = declared_value(sources, "archive")
    folder = next((source.folder for source in sources if source.folder), None)
    if not isinstance(value, str) or folder is None:
        return None
    return next((p for p in (Path(value), folder / value) if (p / "archive.sqlite").is_file()), None)


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
    """One comparison per measure, the contrasts of every pair by the first measure, and remarks on the numbers."""

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

    def systems_table(self) -> ResultTable:
        """Return one row per system: each measure's mean with its interval, and the letters of the systems it beats."""
        rows: list[list[str | TableCell]] = []
        for system in zip(*(comparison.systems for comparison in self.comparisons), strict=True):
            cells = (TableCell(f"{s.mean:.3f} [{s.low:.3f}, {s.high:.3f}]", "".join(s.beats)) for s in system)
            rows.append([f"{system[0].letter} {system[0].name}", *cells])
        measures = (comparison.measure for comparison in self.comparisons)
        return ResultTable(
            f"n = {format_count(self.comparisons[0].n, 'query')}", ("system", *measures), rows, (SYSTEMS_NOTE,)
        )

    def pairs_table(self) -> ResultTable:
        """Return every pair by every measure."""
        tables = [(c.measure, c.pairs_table()) for c in self.comparisons]
        rows = [(measure, *row) for measure, table in tables for row in table.rows]
        return ResultTable("Differences", ("measure", *tables[0][1].columns), rows)


def compare_runs(
    sources: Sequence[RunSource], truth: RunJudgements, measures: Sequence[str], rule: str, common_only: bool = False
) -> RunComparison:
    """Compare every pair of systems by every measure. The rule decides how queries without hits count.

    common_only: only the queries that every run has. Single queries are shown from the run of the first seed.
    Raises InputError for an invalid run, and if no query is in common; SettingsError for fewer than two systems.
    """
    if len(sources) < 2:
        raise SettingsError("compare: only one system; expected several runs, or an experiment with several systems")
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
    builder = _ContrastBuilder({label: label_runs[0][1] for label, label_runs in runs.items()}, qrels, rule)
    remarks = _remarks(all_runs, truth.qrels, len(truth.qrels) - len(qrels))
    return RunComparison(comparisons, builder.contrasts(comparisons[0], truth), remarks)


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
            id, relevant = d.query_id, self._relevant_id(d.query_id)
            hits = self._top_hit(pair.first, id, d.first, texts), self._top_hit(pair.second, id, d.second, texts)
            contrasts.append(QueryContrast(id, texts.query(id), relevant, texts.document(relevant), *hits))
        return contrasts

    def _top_hit(self, label: str, query_id: str, value: float, texts: ReportTexts) -> TopHit:
        id, rank = self._first_id(label, query_id), self._ranks[label][query_id]
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
    return render("compare.html", compared=comparison, title=title)


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
