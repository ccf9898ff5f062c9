"""`report.html`: an experiment as one page that opens offline, to read and to publish with a paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from askalike.evaluation.measures import canonical_name
from askalike.evaluation.significance import ALPHA, ComparedSystem, Comparison
from askalike.evaluation.tables import format_p
from askalike.experiments.measuring import LEADING_MEASURE
from askalike.experiments.outcome import ExperimentResult, SystemResult
from askalike.experiments.plotting import NO_FIGURES, can_plot
from askalike.experiments.reporting import cards, figures
from askalike.experiments.reporting.cards import SystemRanks
from askalike.experiments.reporting.figures import ReportFigure
from askalike.experiments.reporting.page import render, write_file
from askalike.experiments.texts import load_texts

REPORT_FILE = "report.html"
FIGURES_FOLDER = "figures"
MAX_PAIRS = 5
"""Maximum number of pairs of systems that are plotted against each other."""
BASELINE = "bm25"


def write_report(outcome: ExperimentResult) -> Path:
    """Write `report.html`, and its figures as SVG and PDF, into the outcome's folder, with bytes that are reproducible.

    The page loads nothing: plots are inline SVG, style and script are inline too. Document texts are read from the
    archive; if it is gone, their ids are shown. Without matplotlib, there are no figures. Raises InputError if a file
    cannot be written.
    """
    systems = cards.collect_ranks(outcome)
    drawn = draw_figures(outcome, systems, order_systems(outcome)) if can_plot() else []
    (outcome.folder / FIGURES_FOLDER).mkdir(exist_ok=True)
    for figure in drawn:
        write_file(outcome.folder / FIGURES_FOLDER / f"{figure.name}.svg", figure.drawing.svg)
        write_file(outcome.folder / FIGURES_FOLDER / f"{figure.name}.pdf", figure.drawing.pdf)
    return write_file(outcome.folder / REPORT_FILE, _render_page(outcome, systems, drawn))


def _render_page(outcome: ExperimentResult, systems: Sequence[SystemRanks], drawn: Sequence[ReportFigure]) -> str:
    order = order_systems(outcome)
    browsed, sampled = cards.select_contrasting_queries(systems), cards.sample_queries(systems)
    documents = cards.shown_documents([*browsed, *sampled], systems, outcome)
    texts = load_texts(outcome.archive, outcome.labels.queries, documents, outcome.task)
    return render(
        "report.html",
        outcome=outcome,
        n=outcome.systems[0].seed_results[next(iter(outcome.systems[0].seed_results))].evaluation,
        rows=headline_rows(outcome),
        order=order,
        beside=compare_with_paper(outcome),
        settings=[format_settings(system) for system in outcome.systems],
        figures=drawn,
        no_figures=NO_FIGURES,
        browsed=[cards.make_card(query, systems, outcome, texts) for query in browsed],
        sampled=[cards.make_card(query, systems, outcome, texts) for query in sampled],
        found=[finding for finding in outcome.findings if finding.count],
    )


def draw_figures(outcome: ExperimentResult, systems: Sequence[SystemRanks], order: Sequence[int]) -> list[ReportFigure]:
    """Return every figure for which the outcome has the numbers."""
    drawn = [figures.plot_accuracy_curves({s.label: cards.compute_accuracy_curves(s) for s in systems})]
    measure, curves = typing_points(outcome)
    if curves:
        drawn.append(figures.plot_typing_curve(curves, measure, {s.label: i for i, s in enumerate(systems)}))
    reference = next((i for i, s in enumerate(systems) if s.label == outcome.baseline), 0)
    for number, (i, j) in enumerate(select_pairs(order, reference)):
        first, second = systems[i], systems[j]
        ranks = (first.first_ranks, second.first_ranks)
        drawn.append(figures.plot_rank_scatter(f"scatter{number}", first.label, second.label, ranks, (i, j)))
    return [*drawn, figures.plot_score_histograms({s.label: cards.scores_by_relevance(s, outcome) for s in systems})]


def select_pairs(order: Sequence[int], reference: int = 0) -> list[tuple[int, int]]:
    """Return the pairs to plot: the best two, then the reference system with each other one."""
    pairs = [(min(order[:2]), max(order[:2]))] if len(order) > 1 else []
    pairs += [(min(reference, i), max(reference, i)) for i in range(len(order)) if i != reference]
    return list(dict.fromkeys(pairs))[:MAX_PAIRS]


def typing_points(outcome: ExperimentResult) -> tuple[str, dict[str, dict[float, float]]]:
    """Return Success@5 (else the first measure) by the share of words typed, for each system that has a curve."""
    curves = [values for shares in outcome.typing.values() for values in shares.values()]
    measures = {canonical_name(measure): measure for values in curves for measure in values}
    if not measures:
        return "", {}
    m, points = measures.get(LEADING_MEASURE, next(iter(measures.values()))), {}
    for label, shares in outcome.typing.items():
        points[label] = {float(share): values[m] for share, values in shares.items() if m in values}
    return m, points


@dataclass(frozen=True, slots=True)
class HeadlineValue:
    """A system's mean by one measure, with its interval. sd: over seeds. letters: of the systems that it beats."""

    mean: float
    sd: float | None
    low: float
    high: float
    best: bool
    letters: str


@dataclass(frozen=True, slots=True)
class HeadlineRow:
    """A system's line of the headline table."""

    system: int
    letter: str
    label: str
    seeds: int
    seconds: float
    values: Sequence[HeadlineValue]


@dataclass(frozen=True, slots=True)
class PaperComparison:
    """A paper's value and ours. baseline: how ours compares with BM25; "–" if that was not tested."""

    label: str
    measure: str
    paper: float
    ours: float
    sd: float | None
    baseline: str

    @property
    def difference(self) -> float:
        """Ours minus the paper's."""
        return self.ours - self.paper


def headline_rows(outcome: ExperimentResult) -> list[HeadlineRow]:
    """Return one row per system."""
    means, rows = {m: [s.mean(m) for s in outcome.systems] for m in outcome.measures}, []
    for i, system in enumerate(outcome.systems):
        compared = _find_system(next(iter(outcome.comparisons.values()), None), system.label)
        letter, seconds = compared.letter if compared else "", [r.seconds for r in system.seed_results.values()]
        values = [_headline_value(outcome, system, m, means[m][i] == max(means[m])) for m in outcome.measures]
        rows.append(HeadlineRow(i, letter, system.label, len(seconds), fmean(seconds), values))
    return rows


def order_systems(outcome: ExperimentResult) -> list[int]:
    """Return the systems' numbers, best first by the first measure."""
    means = [s.mean(outcome.measures[0]) for s in outcome.systems]
    return sorted(range(len(means)), key=lambda i: (-means[i], i))


def compare_with_paper(outcome: ExperimentResult) -> list[PaperComparison]:
    """Return each value of the paper for a system and a measure of this experiment."""
    systems = {system.label: system for system in outcome.systems}
    names = {canonical_name(measure): measure for measure in outcome.measures}
    baseline = next((s.label for s in outcome.systems if s.ranker == BASELINE), None)
    rows = []
    for label, name, paper in [(label, *item) for label, values in outcome.paper.items() for item in values.items()]:
        if (system := systems.get(label)) and (m := names.get(canonical_name(name))):
            test = _describe_baseline_test(outcome.comparisons.get(m), label, baseline)
            rows.append(PaperComparison(label, m, paper, system.mean(m), system.sd(m), test))
    return rows


def _describe_baseline_test(comparison: Comparison | None, label: str, baseline: str | None) -> str:
    if comparison is None or baseline is None or label == baseline:
        return "–"
    pair = next(p for p in comparison.pairs if {p.first, p.second} == {label, baseline})
    difference = pair.difference if pair.first == label else -pair.difference
    verdict = "not significant" if pair.p_holm >= ALPHA else "better" if difference > 0 else "worse"
    return f"{round(difference, 4) + 0.0:+.4f}, {verdict} (p {format_p(pair.p_holm)})"


def _headline_value(outcome: ExperimentResult, system: SystemResult, measure: str, best: bool) -> HeadlineValue:
    compared = _find_system(outcome.comparisons.get(measure), system.label)
    letters = "".join(compared.beats) if compared else ""
    return HeadlineValue(system.mean(measure), system.sd(measure), *system.interval(measure), best, letters)


def _find_system(comparison: Comparison | None, label: str) -> ComparedSystem | None:
    return next((s for s in comparison.systems if s.name == label), None) if comparison else None


def format_settings(system: SystemResult) -> Mapping[str, str]:
    """Return a system's settings as text, the tuned ones marked."""
    return {key: f"{value} (tuned)" if key in system.tuned else f"{value}" for key, value in system.settings.items()}
