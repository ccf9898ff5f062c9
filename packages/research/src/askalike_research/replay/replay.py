"""Replays an archive: asks each question later closed as a duplicate again, in the archive as it was at that time.

The output folder has the results as JSON, runs and judgements as TREC files, and a plot over time.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from askalike import (
    Archive,
    ArchiveError,
    InputError,
    Progress,
    Question,
    Ranker,
    Run,
    SettingsError,
    build,
    rank,
    write_run,
)
from askalike.plugin.commands import format_count, parse_first_moment, write_atomically
from askalike.plugin.measuring import DEFAULT_DEPTH, BinomialProportion, Columns, PointInTimeArchive
from askalike.plugin.rankers import open_current, resume_runs
from askalike_research.experiments.figures import add_legend, can_plot, open_figure, system_colour, write_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WORDING_REMARK = "texts have today's wording: the archive keeps no earlier edits"


MIN_QUERIES = 10
"""Minimum number of questions per period; quarters with fewer are merged with the next ones."""


class Period(NamedTuple):
    """Consecutive quarters, and the ids of the questions that were asked in them."""

    name: str
    queries: Sequence[str]


@dataclass(frozen=True, slots=True)
class ReplaySelection:
    """The questions to ask again, by ascending date, and the number of links that are left out.

    originals: query id → the ids of the older questions that it was linked to. newer_links: links to a question that
    is not older, so that it could not be found yet. undated_links: links to or from a question without a date.
    """

    queries: Sequence[Question]
    originals: Mapping[str, Sequence[str]]
    newer_links: int
    undated_links: int


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The hits of one ranker at asking time.

    ranks: query id → the rank of its first original, from 1; None if it was not among the hits. k: the number of
    hits among which the original counts as found.
    """

    ranker: str
    run: Run
    ranks: Mapping[str, int | None]
    k: int

    def is_found(self, query_id: str) -> bool:
        """Return whether a question's original was among the first k."""
        rank = self.ranks[query_id]
        return rank is not None and rank <= self.k

    @property
    def found(self) -> BinomialProportion:
        """The questions with an original among the first k."""
        return BinomialProportion(sum(map(self.is_found, self.ranks)), len(self.ranks))

    def describe(self) -> str:
        """Return the result in one line."""
        found = self.found
        low, high = (f"{100 * bound:.0f}" for bound in found.interval)
        return (
            f"of {found.n} questions later closed as duplicate of an older one, the original was among the "
            f"first {self.k} at asking time: {found.count} ({100 * found.value:.0f} %, {low}–{high})"
        )


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay of an archive by one ranker or several."""

    archive: Path
    since: str
    until: str | None
    selection: ReplaySelection
    results: Sequence[ReplayResult]

    def as_dict(self) -> dict[str, Any]:
        """Return everything except the hits, for JSON."""
        return {
            "archive": str(self.archive),
            "after": self.since,
            "before": self.until,
            "questions": len(self.selection.queries),
            "links_to_newer": self.selection.newer_links,
            "links_without_date": self.selection.undated_links,
            "remark": WORDING_REMARK,
            "rankers": [_result_dict(result, self.periods) for result in self.results],
            "queries": [self._query_dict(query) for query in self.selection.queries],
        }

    @property
    def periods(self) -> Sequence[Period]:
        """The questions in periods of enough of them, by their dates."""
        return group_into_periods([(str(query.created_at), query.id) for query in self.selection.queries])

    def _query_dict(self, query: Question) -> dict[str, Any]:
        ranks = {result.ranker: result.ranks[query.id] for result in self.results}
        originals = self.selection.originals[query.id]
        return {"id": query.id, "created_at": query.created_at, "originals": originals, "ranks": ranks}


def replay(
    archive: Archive,
    ranker_settings: Mapping[str, Mapping[str, Any]],
    since: str,
    until: str | None = None,
    k: int = 5,
    progress: Progress | None = None,
) -> Replay:
    """Ask every question of [since, until) that was later linked as a duplicate again, at its original time.

    Each is ranked against the questions created strictly before it, with the term statistics of that moment: the
    archive grows from date to date, and the indexes are updated. A ranker that is trained learns only from data that
    existed at `since`. The hits of each moment are saved in the archive's `index/`: the next call resumes, and another
    k up to DEFAULT_DEPTH needs no search. Training is repeated.
    Raises ArchiveError if there is nothing to ask, SettingsError for an unknown ranker or setting, and for a ranker
    that was trained on data newer than the first question.
    """
    since = parse_moment(since)
    until = parse_moment(until) if until else None
    opened = {name: build(name, settings, archive.path) for name, settings in ranker_settings.items()}
    selection = select_queries(archive, since, until)
    if not selection.queries:
        links = f"{format_count(selection.newer_links, 'link')} to newer ones, {selection.undated_links} without dates"
        problem = f"no question from {since} on was later linked as duplicate of an older one ({links})"
        raise ArchiveError(f"{archive.path}: {problem}; choose an earlier date")
    hits: dict[str, dict[str, Columns]] = {name: {} for name in opened}
    with (
        TemporaryDirectory(prefix="askalike-replay-") as folder,
        PointInTimeArchive(archive, Path(folder) / "archive") as past,
    ):
        past.advance_to(since)
        for name, ranker in opened.items():
            fitted = ranker.fit(past.archive.training_view(()))  # the measured labels do not exist yet
            opened[name] = check_trained_before(fitted, selection.queries[0])
        moments = [list(group) for _, group in groupby(selection.queries, key=lambda q: q.created_at)]
        depth = max(k, DEFAULT_DEPTH)
        replayed = (_replay_moments(archive, ranker, past, moments, depth) for ranker in opened.values())
        for done, runs in enumerate(zip(*replayed, strict=True), 1):
            for columns, run in zip(hits.values(), runs, strict=True):
                columns |= {query: run.columns(query) for query in run}
            if progress:
                progress(done, len(moments))
    ranks = {name: _first_original_ranks(columns, selection.originals) for name, columns in hits.items()}
    results = [ReplayResult(name, Run(columns), ranks[name], k) for name, columns in hits.items()]
    return Replay(archive.path, since, until, selection, results)


def select_queries(archive: Archive, since: str, until: str | None = None) -> ReplaySelection:
    """Return the questions of [since, until) that are linked as duplicates of older ones, and counts of the others."""
    view = archive.view()
    links = [link for link in view.links("duplicate") if link.source != link.target]
    ends = view.get_questions({end for link in links for end in (link.source, link.target)})
    originals: dict[str, list[str]] = {}
    newer = undated = 0
    for link in links:
        asked_at, original_at = ends[link.source].created_at, ends[link.target].created_at
        if asked_at is not None and (asked_at < since or (until is not None and asked_at >= until)):
            continue
        if asked_at is None or original_at is None:
            undated += 1
        elif original_at >= asked_at:
            newer += 1
        else:
            originals.setdefault(link.source, []).append(link.target)
    queries = sorted((ends[id] for id in originals), key=lambda q: (str(q.created_at), q.id))
    return ReplaySelection(queries, originals, newer, undated)


def _replay_moments(
    archive: Archive, ranker: Ranker, past: PointInTimeArchive, moments: Sequence[Sequence[Question]], depth: int
) -> Iterator[Run]:
    """Yield the hits of the questions of each moment, reusing those of an earlier call."""

    def rank_from(done: int) -> Iterator[Run]:
        for moment in moments[done:]:
            past.advance_to(str(moment[0].created_at))
            yield rank(open_current(ranker, past.archive.view()), {q.id: q for q in moment}, depth)

    return resume_runs("replay", ranker, archive.view(), [depth, moments], len(moments), rank_from)


def parse_moment(text: str) -> str:
    """Return a date in the archive's format. Raises SettingsError for a text that is not a date."""
    try:
        return parse_first_moment(text)
    except ValueError as error:
        raise SettingsError(f"replay: {error}") from None


def check_trained_before(ranker: Ranker, first_query: Question) -> Ranker:
    """Return the ranker unchanged. Raises SettingsError if its training data is not older than the first question."""
    if ranker.trained_until and ranker.trained_until >= str(first_query.created_at):
        raise SettingsError(
            f"{ranker.name} knows data up to {ranker.trained_until}, and the first question asked again is of "
            f"{first_query.created_at}: it would know the future; choose a later --after, name another ranker with "
            "--ranker, or train it on older data"
        )
    return ranker


def _first_original_ranks(hits: Mapping[str, Columns], originals: Mapping[str, Sequence[str]]) -> dict[str, int | None]:
    return {
        query: next((rank for rank, id in enumerate(ids, 1) if id in originals[query]), None)
        for query, (ids, _) in hits.items()
    }


def _result_dict(result: ReplayResult, periods: Sequence[Period]) -> dict[str, Any]:
    """Return a result for JSON; the quality page of the service draws its periods."""
    found = result.found
    low, high = found.interval
    figures = {"n": found.n, "found": found.count, "share": found.value, "low": low, "high": high}
    by_period = [
        {"name": period.name, "n": len(period.queries), "found": sum(map(result.is_found, period.queries))}
        for period in periods
    ]
    return {"ranker": result.ranker, "k": result.k, **figures, "sentence": result.describe(), "periods": by_period}


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
    periods = replay.periods
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
