"""The output folder of a replay: results as JSON, runs and judgements as TREC files, and a plot over time."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from askalike.core.errors import InputError
from askalike.core.files import write_atomically
from askalike.evaluation.intervals import BinomialProportion
from askalike.evaluation.trec import write_run
from askalike.experiments.plotting import add_legend, can_plot, open_figure, system_colour, write_svg
from askalike.replay.replay import Replay, ReplayResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIN_QUERIES = 10
"""Minimum number of questions per period; quarters with fewer are merged with the next ones."""


class Period(NamedTuple):
    """Consecutive quarters, and the ids of the questions that were asked in them."""

    name: str
    queries: Sequence[str]


def write_replay(replay: Replay, folder: Path) -> list[Path]:
    """Write replay.json, replay.svg, qrels.txt, and run.trec or, for several rankers, run-NAME.trec each.

    Return the paths. Without matplotlib, there is no replay.svg. Raises InputError if a file cannot be written.
    """
    qrels = "".join(f"{q} 0 {original} 1\n" for q, ids in replay.selection.originals.items() for original in ids)
    plots = ["replay.svg"] if can_plot() else []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "replay.json", json.dumps(replay.as_dict(), ensure_ascii=False, indent=1) + "\n")
        write_atomically(folder / "qrels.txt", qrels)
        for name in plots:
            plot_timeline(replay, folder / name)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    runs = {f"run-{result.ranker}.trec" if len(replay.results) > 1 else "run.trec": result for result in replay.results}
    for name, result in runs.items():
        write_run(result.run, folder / name, result.ranker)
    return [folder / name for name in ("replay.json", *plots, "qrels.txt", *runs)]


def plot_timeline(replay: Replay, path: Path) -> None:
    """Plot the shares of questions whose original was found, with 95 % Wilson intervals, by period and ranker.

    Raises OSError if the SVG file cannot be written.
    """
    periods = group_into_periods([(str(q.created_at), q.id) for q in replay.selection.queries])
    with open_figure(max(360.0, 79.0 * len(periods) + 144), 288) as (figure, (axes,)):
        for i, result in enumerate(replay.results):
            _draw_ranker(axes, result, periods, system_colour(i), 0.08 * (i - (len(replay.results) - 1) / 2))
        axes.set_xticks(range(len(periods)), [f"{period.name}\nn = {len(period.queries)}" for period in periods])
        axes.set_ylim(0, 100)
        axes.set_ylabel(f"original among the first {replay.results[0].k}, %")
        add_legend(figure, axes, "best")
        write_svg(figure, path)


def group_into_periods(dated_queries: Sequence[tuple[str, str]], min_queries: int = MIN_QUERIES) -> list[Period]:
    """Return the quarters of queries, given as (ISO date, id), merged until each period has at least min_queries.

    Quarters are merged with later ones; the rest at the end is merged with the last period.
    """
    dated = [(quarter_name(date), query) for date, query in dated_queries]
    counts = Counter(name for name, _ in dated)
    groups: list[list[str]] = [[]]
    for name in sorted(counts):
        if sum(counts[n] for n in groups[-1]) >= min_queries:
            groups.append([])
        groups[-1].append(name)
    if len(groups) > 1 and sum(counts[n] for n in groups[-1]) < min_queries:
        groups[-2:] = [groups[-2] + groups[-1]]
    names = [group[0] if len(group) == 1 else f"{group[0]}–\n{group[-1]}" for group in groups]
    ids = [[id for name, id in dated if name in group] for group in groups]
    return list(map(Period, names, ids))


def quarter_name(date: str) -> str:
    """Return the quarter of an ISO date: `2013 Q2` for a day in May 2013."""
    return f"{date[:4]} Q{(int(date[5:7]) + 2) // 3}"


def _draw_ranker(axes: "Axes", result: ReplayResult, periods: Sequence[Period], colour: str, shift: float) -> None:
    found = [BinomialProportion(sum(map(result.is_found, each.queries)), len(each.queries)) for each in periods]
    shares = 100 * np.array([each.value for each in found])
    bounds = 100 * np.array([each.interval for each in found]).T
    x = np.arange(len(periods)) + shift
    axes.errorbar(x, shares, np.abs(bounds - shares), color=colour, marker="o", capsize=2, label=result.ranker)
