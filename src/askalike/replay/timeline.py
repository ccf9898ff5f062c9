"""How often the original was found, over time: one line a ranker, in quarters or longer stretches with enough data."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from askalike.evaluation.proportion import wilson_interval
from askalike.replay.replay import Replay, ReplayResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIN_QUERIES = 10
"""Quarters with fewer questions are joined to the next ones."""
GREY = "#808080"
"""Readable on white and on black."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's, which the colour-blind tell apart; of a middle lightness, for light and dark pages."""


class Period(NamedTuple):
    """Some quarters in a row, and the questions that were asked in them."""

    name: str
    queries: Sequence[str]


def replay_periods(replay: Replay, min_queries: int = MIN_QUERIES) -> list[Period]:
    """The quarters in which questions were asked again, joined until each has enough; the last may join backwards."""
    return group_into_periods([(str(q.created_at), q.id) for q in replay.selection.queries], min_queries)


def group_into_periods(dated_queries: Sequence[tuple[str, str]], min_queries: int = MIN_QUERIES) -> list[Period]:
    """The same of (ISO date, query)."""
    dated = [(quarter_name(date), query) for date, query in dated_queries]
    counts = Counter(name for name, _ in dated)
    groups: list[list[str]] = [[]]
    for name in sorted(counts):
        if sum(counts[n] for n in groups[-1]) >= min_queries:
            groups.append([])
        groups[-1].append(name)
    if len(groups) > 1 and sum(counts[n] for n in groups[-1]) < min_queries:
        groups[-2:] = [groups[-2] + groups[-1]]
    return [Period(_period_name(group), [id for name, id in dated if name in group]) for group in groups]


def quarter_name(date: str) -> str:
    """`2013 Q2` for an ISO date of May 2013."""
    return f"{date[:4]} Q{(int(date[5:7]) + 2) // 3}"


def plot_timeline(replay: Replay, path: Path) -> None:
    """Writes the plot as SVG: shares with 95 % Wilson intervals, and how many questions each stretch has."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    parts = replay_periods(replay)
    style: Any = {
        "svg.hashsalt": "askalike", "svg.fonttype": "none", "text.color": GREY, "axes.edgecolor": GREY,
        "axes.labelcolor": GREY, "xtick.color": GREY, "ytick.color": GREY,
    }  # fmt: skip
    with rc_context(style):
        figure = Figure(figsize=(max(5.0, 1.1 * len(parts) + 2), 4), layout="constrained")
        axes = figure.add_subplot()
        for at, result in enumerate(replay.results):
            _draw_ranker(axes, result, parts, COLOURS[at % len(COLOURS)], 0.08 * (at - (len(replay.results) - 1) / 2))
        axes.set_xticks(range(len(parts)), [f"{part.name}\nn = {len(part.queries)}" for part in parts])
        axes.set_ylim(0, 100)
        axes.set_ylabel(f"original among the first {replay.results[0].k}, %")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        figure.savefig(path, format="svg", transparent=True, metadata={"Date": None})


def _draw_ranker(axes: "Axes", result: ReplayResult, periods: Sequence[Period], colour: str, shift: float) -> None:
    found = [sum(_is_found(result, q) for q in part.queries) for part in periods]
    sizes = [len(part.queries) for part in periods]
    share = np.array([100 * hits / n for hits, n in zip(found, sizes, strict=True)])
    bounds = 100 * np.array([wilson_interval(hits, n) for hits, n in zip(found, sizes, strict=True)]).T
    errors = np.abs(bounds - share)
    x = np.arange(len(periods)) + shift
    axes.errorbar(x, share, errors, color=colour, marker="o", markersize=4, capsize=2, label=result.ranker)


def _is_found(result: ReplayResult, query: str) -> bool:
    rank = result.ranks[query]
    return rank is not None and rank <= result.k


def _period_name(quarters: Sequence[str]) -> str:
    return quarters[0] if len(quarters) == 1 else f"{quarters[0]}–\n{quarters[-1]}"
