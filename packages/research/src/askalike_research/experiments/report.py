"""`report.html`: an experiment as one page that opens offline, to read and to publish with a paper."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from askalike.plugin.commands import format_count, write_output
from askalike.plugin.index import Floats
from askalike.plugin.measuring import (
    ALPHA,
    LEADING_MEASURE,
    ComparedSystem,
    Comparison,
    ResultTable,
    canonical_name,
    format_p,
)
from askalike_research.experiments import cards
from askalike_research.experiments.cards import SystemRanks, cap_rank
from askalike_research.experiments.figures import (
    DASHES,
    FAINT,
    INK,
    MARKERS,
    NO_FIGURES,
    RIGHT,
    WRONG,
    Drawing,
    add_legend,
    can_plot,
    open_figure,
    render_figure,
    system_colour,
)
from askalike_research.experiments.outcome import ExperimentResult, SystemResult
from askalike_research.pages import render
from askalike_research.relevant_ranks import FirstRelevantRanks
from askalike_research.texts import load_texts

TEMPLATE = Path(__file__).parent / "templates" / "report.html"
REPORT_FILE = "report.html"
FIGURES_FOLDER = "figures"
MAX_PAIRS = 5
"""Maximum number of pairs of systems that are plotted against each other."""
BASELINE = "bm25"
WIDTH = 372.0
TICKS = (1, 2, 5, 10, 20, 50, 100)
MISSED_RANK = 180
"""The position on the axis of a query without a right question."""


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A drawing with its caption. numbers: the same values as a table, if there are values to read."""

    name: str
    title: str
    caption: str
    drawing: Drawing
    numbers: ResultTable | None = None


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
        write_output(outcome.folder / FIGURES_FOLDER / f"{figure.name}.svg", figure.drawing.svg)
        write_output(outcome.folder / FIGURES_FOLDER / f"{figure.name}.pdf", figure.drawing.pdf)
    return write_output(outcome.folder / REPORT_FILE, _render_page(outcome, systems, drawn))


def _render_page(outcome: ExperimentResult, systems: Sequence[SystemRanks], drawn: Sequence[ReportFigure]) -> str:
    order = order_systems(outcome)
    browsed = cards.select_contrasting_queries(systems)
    sampled = cards.sample_queries(systems)
    documents = cards.shown_documents([*browsed, *sampled], systems, outcome)
    texts = load_texts(outcome.archive, outcome.labels.queries, documents, outcome.task)
    return render(
        TEMPLATE,
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
    drawn = [plot_accuracy_curves({s.label: cards.compute_accuracy_curves(s) for s in systems})]
    measure, curves = typing_points(outcome)
    if curves:
        drawn.append(plot_typing_curve(curves, measure, {s.label: i for i, s in enumerate(systems)}))
    reference = next((i for i, s in enumerate(systems) if s.label == outcome.baseline), 0)
    for number, (i, j) in enumerate(select_pairs(order, reference)):
        first, second = systems[i], systems[j]
        ranks = (first.first_ranks, second.first_ranks)
        drawn.append(plot_rank_scatter(f"scatter{number}", first.label, second.label, ranks, (i, j)))
    return [*drawn, plot_score_histograms({s.label: cards.scores_by_relevance(s, outcome) for s in systems})]


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
    m = measures.get(LEADING_MEASURE, next(iter(measures.values())))
    points = {}
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
    means = {m: [s.mean(m) for s in outcome.systems] for m in outcome.measures}
    rows = []
    for i, system in enumerate(outcome.systems):
        compared = _find_system(next(iter(outcome.comparisons.values()), None), system.label)
        letter = compared.letter if compared else ""
        seconds = [r.seconds for r in system.seed_results.values()]
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


def plot_accuracy_curves(curves: Mapping[str, Floats]) -> ReportFigure:
    """Plot Accuracy@k over k. curves: system → (seeds, k), each row one seed's Accuracy@1 … Accuracy@k."""
    depth = max(c.shape[1] for c in curves.values())
    ticks = [k for k in TICKS if k <= depth]
    with open_figure(WIDTH, 300) as (figure, (axes,)):
        for i, (label, seed_curves) in enumerate(curves.items()):
            k = np.arange(1, seed_curves.shape[1] + 1)
            axes.plot(k, 100 * seed_curves.mean(axis=0), color=system_colour(i), linestyle=DASHES[i % 7], label=label)
            if len(seed_curves) > 1:
                low, high = 100 * seed_curves.min(axis=0), 100 * seed_curves.max(axis=0)
                axes.fill_between(k, low, high, color=system_colour(i), alpha=0.2, linewidth=0)
        axes.set_xscale("log")
        axes.set_xticks(ticks, [str(k) for k in ticks])
        axes.minorticks_off()
        axes.set(xlabel="k", ylabel="queries answered by rank k, %", xlim=(1, max(depth, 2)))
        axes.set_ylim(*_axis_limits(np.concatenate([c.ravel() for c in curves.values()])))
        add_legend(figure, axes, "lower right")
        drawing = render_figure(figure, "accuracy", f"Accuracy at k from 1 to {depth} of {', '.join(curves)}")
    means = {label: [c[:, min(k, c.shape[1]) - 1].mean() for k in ticks] for label, c in curves.items()}
    rows = [[label, *map(_format_percent, values)] for label, values in means.items()]
    caption = "The share of queries that have a right question among their first k."
    if any(len(c) > 1 for c in curves.values()):
        caption += " Shaded: from the worst to the best seed."
    numbers = ResultTable("Accuracy@k, %", ("system", *map(str, ticks)), rows)
    return ReportFigure("accuracy", "Accuracy@k", caption, drawing, numbers)


def plot_typing_curve(
    shares: Mapping[str, Mapping[float, float]], measure: str, colours: Mapping[str, int]
) -> ReportFigure:
    """Plot a measure while the question is being typed. shares: system → share of the words typed → mean."""
    ticks = sorted({share for points in shares.values() for share in points})
    with open_figure(WIDTH, 300) as (figure, (axes,)):
        for label, points in shares.items():
            i = colours[label]
            typed = sorted(points)
            style: dict[str, Any] = {"color": system_colour(i), "linestyle": DASHES[i % 7], "marker": MARKERS[i % 7]}
            axes.plot(typed, [100 * points[x] for x in typed], label=label, **style)
        axes.set_xticks(ticks, [f"{x:.0%}".replace("%", " %") for x in ticks])
        axes.set(xlabel="of the question's words typed", ylabel=f"{measure}, %")
        axes.set_ylim(*_axis_limits(np.array([x for points in shares.values() for x in points.values()])))
        add_legend(figure, axes, "upper left")
        drawing = render_figure(figure, "typing", f"{measure} by the share of the question's words typed")
    rows = [
        [label, *(_format_percent(points[x]) if x in points else "" for x in ticks)] for label, points in shares.items()
    ]
    caption = "How much is found before the question is finished: the moment a person could stop typing."
    numbers = ResultTable(f"{measure}, %", ("system", *(f"{x:.0%}" for x in ticks)), rows)
    return ReportFigure("typing", "The typing curve", caption, drawing, numbers)


def _axis_limits(shares: Floats) -> tuple[float, float]:
    """Return the limits of the axis: all values, rounded outward to multiples of 10 %."""
    low, high = 10 * np.floor(10 * shares.min() - 0.2), 10 * np.ceil(10 * shares.max() + 0.2)
    return max(0.0, float(low)), min(100.0, float(high))


def plot_rank_scatter(
    name: str, first: str, second: str, ranks: tuple[FirstRelevantRanks, FirstRelevantRanks], colours: tuple[int, int]
) -> ReportFigure:
    """Plot the ranks of each query's first right question by two systems; a circle's area is its number of queries."""
    places = Counter(zip(*(map(_plot_position, query_ranks.values()) for query_ranks in ranks), strict=True))
    (x, y), size = np.array(list(places)).T, np.array(list(places.values()))
    sides = [int(size[x > y].sum()), int(size[x < y].sum()), int(size[x == y].sum())]
    with open_figure(WIDTH, WIDTH) as (figure, (axes,)):
        axes.plot((0.8, MISSED_RANK * 1.3), (0.8, MISSED_RANK * 1.3), color=FAINT, linewidth=0.8, linestyle="--")
        one, two = (system_colour(i) for i in colours)
        palette = [two if a > b else one if a < b else FAINT for a, b in zip(x, y, strict=True)]
        axes.scatter(x, y, 16 + 700 * size / size.sum(), color=palette, alpha=0.7, linewidth=0)
        for direction in ("x", "y"):
            getattr(axes, f"set_{direction}scale")("log")
            getattr(axes, f"set_{direction}lim")(0.8, MISSED_RANK * 1.3)
            getattr(axes, f"set_{direction}ticks")((*TICKS, MISSED_RANK), (*map(str, TICKS), "none"))
        axes.minorticks_off()
        axes.set_aspect("equal")
        axes.set(xlabel=f"rank by {first}", ylabel=f"rank by {second}")
        corners = ((0.97, "right", "baseline", second, sides[0], two), (0.03, "left", "top", first, sides[1], one))
        for x_share, ha, va, system, n, colour in corners:
            text = f"{system} better: {format_count(n, 'query')}"
            axes.text(x_share, 1 - x_share, text, transform=axes.transAxes, color=colour, ha=ha, va=va)
        drawing = render_figure(figure, name, f"Ranks of the first right question by {first} and by {second}")
    caption = (
        f"Each query's first right question: {second} has it higher in {sides[0]} (below the line), {first} in "
        f"{sides[1]}, both at one rank in {sides[2]}. Area: number of queries; none: not among the first 100."
    )
    return ReportFigure(name, f"{first} and {second}, query by query", caption, drawing)


def _plot_position(rank: int | None) -> int:
    return cap_rank(rank, TICKS[-1], MISSED_RANK)


def plot_score_histograms(scores: Mapping[str, tuple[Floats, Floats]]) -> ReportFigure:
    """Plot the scores of duplicates and others. scores: system → (scores of duplicates, of the best others)."""
    with open_figure(WIDTH, 40 + 105 * len(scores), len(scores)) as (figure, axes):
        for each, (label, (right, wrong)) in zip(axes, scores.items(), strict=True):
            bins = np.histogram_bin_edges(np.concatenate((right, wrong)), 30).tolist()
            kinds: Sequence[tuple[Floats, str, str]] = ((wrong, WRONG, "best other"), (right, RIGHT, "duplicate"))
            for values, tint, kind in kinds:
                weights = np.full(len(values), 100 / max(len(values), 1))
                each.hist(values, bins, weights=weights, color=tint, alpha=0.25, histtype="stepfilled")
                each.hist(values, bins, weights=weights, color=tint, histtype="step", linewidth=1.4, label=kind)
            counts = f"{format_count(len(right), 'duplicate')}, {format_count(len(wrong), 'best other')}"
            each.set_title(f"{label}: {counts}", loc="left", fontsize=10, color=INK)
            each.set_ylabel("% of each kind")
        axes[0].legend(loc="upper right")
        axes[-1].set_xlabel("score (each system on its own scale)")
        drawing = render_figure(figure, "scores", f"Histograms of the scores that {', '.join(scores)} give")
    rows = [
        [label, str(len(right)), *_format_quartiles(right), str(len(wrong)), *_format_quartiles(wrong)]
        for label, (right, wrong) in scores.items()
    ]
    head = ("system", "duplicates", "25 %", "median", "75 %", "best others", "25 %", "median", "75 %")
    caption = (
        "Scores of the right questions found, and of each query's best hit that is not one. The less the two overlap, "
        "the better a threshold can tell when there is nothing to show."
    )
    numbers = ResultTable("Quartiles of scores", head, rows)
    return ReportFigure("scores", "Scores of duplicates and others", caption, drawing, numbers)


def _format_quartiles(values: Floats) -> list[str]:
    return [f"{q:.2f}" for q in np.percentile(values, (25, 50, 75))] if len(values) else ["–"] * 3


def _format_percent(share: float) -> str:
    return f"{100 * share:.1f}"
