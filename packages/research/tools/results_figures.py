"""The figures of the results pages: gain over BM25, quality over speed, calibration, speed over size."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import Any

from askalike.evaluation.intervals import wilson_interval
from askalike_research.experiments.figures import (
    DASHES,
    FAINT,
    INK,
    MARKERS,
    RIGHT,
    WRONG,
    add_legend,
    open_figure,
    render_figure,
    system_colour,
)

WIDTH = 620
BASELINE, MEASURE = "BM25", "AP"
FULL_COLOUR = 20.0
"""The gain in points shown in the full colour of the heat map."""
QUERIES = {"title": "titles as queries", "title+body": "titles and bodies as queries"}
Reports = Mapping[str, Mapping[str, Any]]
Rows = Sequence[Mapping[str, Any]]


def draw_figures(reports: Reports, calibration: Any) -> dict[str, tuple[str, str]]:
    """Return file name → heading and caption on two lines, SVG. reports: heading of a data set → its report."""
    drawn = {"gain": _draw_heat_map(reports), "speed": _draw_quality_over_speed(reports)} if reports else {}
    if calibration:
        drawn["calibration"] = _draw_calibration(calibration)
    return drawn


def _labels(reports: Reports) -> list[str]:
    """Return the labels of all systems; that of a system with few reports stands last."""
    return list(dict.fromkeys(system["label"] for report in reports.values() for system in report["systems"]))


def _gains(report: Mapping[str, Any]) -> Iterator[tuple[str, float, bool]]:
    """Yield label, gain over BM25 in points, and whether it is significant, of each system."""
    pairs = report["comparisons"][MEASURE]["pairs"]
    p = {pair["second"] if pair["first"] == BASELINE else pair["first"]: pair["p_holm"]
         for pair in pairs if BASELINE in (pair["first"], pair["second"])}  # fmt: skip
    means = {system["label"]: system["measures"][MEASURE]["mean"] for system in report["systems"]}
    for label, mean in means.items():
        yield label, 100 * (mean - means[BASELINE]), p.get(label, 1.0) < 0.05


def _draw_heat_map(reports: Reports) -> tuple[str, str]:
    labels = [label for label in _labels(reports) if label != BASELINE]
    with open_figure(WIDTH, 60 + 26 * len(labels)) as (figure, (axes,)):
        for x, report in enumerate(reports.values()):
            for label, gain, significant in _gains(report):
                if label != BASELINE:
                    _draw_cell(axes, x, labels.index(label), gain, significant)
        axes.set_xticks(range(len(reports)), [fill(name, 17) for name in reports])
        axes.set_yticks(range(len(labels)), labels)
        axes.set(xlim=(-0.5, len(reports) - 0.5), ylim=(len(labels) - 0.5, -0.5))
        axes.grid(visible=False)
        axes.tick_params(labelsize=8.5, length=0)
        svg = render_figure(figure, "gain", "Gain of each ranker over BM25 on each data set").svg
    return (
        "Gain over BM25\nMean average precision, in points above or below BM25. Bold differences are significant (Holm "
        "over all pairs of systems of the data set, p < .05).",
        svg,
    )


def _draw_cell(axes: Any, x: int, y: int, gain: float, significant: bool) -> None:
    from matplotlib.patches import Rectangle

    strength = min(1.0, abs(gain) / FULL_COLOUR)
    axes.add_patch(
        Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=RIGHT if gain > 0 else WRONG, alpha=0.08 + 0.6 * strength)
    )
    weight = "bold" if significant else "normal"
    axes.text(x, y, f"{gain:+.1f}".replace("-", "−"), ha="center", va="center", weight=weight, size=9.5)


def _draw_quality_over_speed(reports: Reports) -> tuple[str, str]:
    shown = dict(list(reports.items())[:3])
    with open_figure(WIDTH, 210 * len(shown), rows=len(shown)) as (figure, panels):
        for axes, (name, report) in zip(panels, shown.items(), strict=True):
            for i, system in enumerate(system for system in report["systems"] if system["cost"]):
                value, ms = system["measures"][MEASURE], system["cost"]["ms_per_query"]
                y, low, high = (100 * value[key] for key in ("mean", "low", "high"))
                axes.plot([ms, ms], [low, high], color=system_colour(i), linewidth=1, alpha=0.6)
                style = {"color": system_colour(i), "marker": MARKERS[i % 7], "linestyle": "none"}
                axes.plot([ms], [y], label=system["label"] if axes is panels[-1] else None, **style)
            axes.set_xscale("log")
            _label_plainly(axes.xaxis)
            axes.set(ylabel=f"{MEASURE}, %", title=name, xlim=_span(reports))
        panels[-1].set_xlabel("ms of processor time a query")
        add_legend(figure, panels[-1], "best")
        svg = render_figure(figure, "speed", "Mean average precision over processor time a query").svg
    return (
        "Quality over speed\nFurther up is better, further left is faster. Lines are 95 % intervals. The speeds come "
        "from a busy machine; compare them only with one another.",
        svg,
    )


def _span(reports: Reports) -> tuple[float, float]:
    """Return the limits of the axis of all times, so that the panels can be compared."""
    times = [
        system["cost"]["ms_per_query"] for report in reports.values() for system in report["systems"] if system["cost"]
    ]
    return 0.8 * min(times), 1.25 * max(times)


def _label_plainly(axis: Any, steps: Sequence[float] = (1.0, 2.0, 5.0)) -> None:
    """Label a logarithmic axis with plain numbers: 0.1, 20, 1,000."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def _draw_calibration(rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    with open_figure(WIDTH * 0.7, 360) as (figure, (axes,)):
        axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1)
        for i, row in enumerate(rows):
            bins = row["first_hits"]["bins"]
            style: dict[str, Any] = {"color": system_colour(i), "linestyle": DASHES[i % 7], "marker": MARKERS[i % 7]}
            for b in bins:
                bounds = wilson_interval(round(b["n"] * b["right"]), b["n"])
                axes.plot([b["probability"]] * 2, bounds, color=system_colour(i), linewidth=1, alpha=0.5)
            axes.plot([b["probability"] for b in bins], [b["right"] for b in bins], label=row["archive"], **style)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability that was shown", ylabel="share that was right")
        axes.spines["left"].set_color(INK)
        add_legend(figure, axes, "upper left")
        svg = render_figure(figure, "calibration", "Share of right first hits by probability").svg
    errors = "\n".join(
        f"- {row['archive']} (n = {row['queries']:,}): reliability error {row['first_hits']['error']:.3f}; exact "
        f"probabilities would show {row['first_hits']['chance']:.3f}."
        for row in rows
    )
    command = rows[0]["provenance"]["command"]
    return (
        "Calibration\nFirst hits of the default ranker in bins of equal mass, with titles as queries, by nested "
        "cross-validation. On the diagonal, a probability is exact. Lines are 95 % Wilson intervals.\n\n"
        f"{errors}\n\nCommand: `{command}`, commit `{rows[0]['provenance']['commit']}`.",
        svg,
    )


def draw_engines(lucene: Rows, others: Rows) -> tuple[str, str]:
    """Return heading and caption on two lines, and the SVG, of the queries per second of each engine over size.

    lucene, others: of lexical search beside Lucene, and beside other engines. Rates of the second are scaled so that
    askalike has the same in both, as they were measured at different times.
    """
    first, second = _select_rates(lucene), _select_rates(others)
    found: dict[tuple[str, str], dict[int, float]] = {}
    for (kind, size, engine), rate in {**second, **first}.items():
        ours, theirs = first.get((kind, size, "askalike")), second.get((kind, size, "askalike"))
        scale = 1.0 if (kind, size, engine) in first or not ours or not theirs else ours / theirs
        found.setdefault((kind, engine), {})[size] = scale * rate
    engines = sorted({engine for _, engine in found}, key=lambda engine: (engine != "askalike", engine))
    with open_figure(WIDTH, 560, rows=len(QUERIES)) as (figure, panels):
        for axes, (kind, title) in zip(panels, QUERIES.items(), strict=True):
            for i, engine in enumerate(engines):
                points = sorted(found.get((kind, engine), {}).items())
                style = {"color": system_colour(i), "linestyle": DASHES[i % 7], "marker": MARKERS[i % 7]}
                axes.plot(*zip(*points, strict=True), label=engine if axes is panels[-1] else None, **style)
            axes.set_xscale("log")
            axes.set_yscale("log")
            _label_plainly(axes.xaxis, (1.0,))
            _label_plainly(axes.yaxis, (1.0,))
            axes.set(ylabel="queries per second", title=title)
        panels[-1].set_xlabel("questions in the archive")
        add_legend(figure, panels[-1], "best")
        svg = render_figure(figure, "engines", "Queries per second of each engine over the size of the archive").svg
    return (
        "Queries per second over size\nThe kernels, with one thread, by BM25, ten hits, synthetic questions with "
        "titles and bodies. Both axes are logarithmic. bm25s and tantivy were measured at another time than Lucene, in "
        "turns with askalike, too; their rates are scaled by that of askalike.",
        svg,
    )


def _select_rates(rows: Rows) -> dict[tuple[str, int, str], float]:
    """Return (queries, questions, engine) → queries per second by BM25 for ten hits, of synthetic questions."""
    return {
        (row["queries"].replace(" ", ""), int(row["data"].rpartition("-")[2]), row["engine"]): row["per_s"]
        for row in rows
        if row["similarity"] == "bm25" and row.get("k", 10) == 10 and "made-" in row["data"]
    }
