"""*Quality*: how good the deployed ranker is, how reliable its probabilities are, how it is used,
and users' verdicts on its hits."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from fastapi import APIRouter, Request, Response

from askalike.evaluation.intervals import wilson_interval
from askalike.replay.report import group_into_periods
from askalike.service.pages.auth import UserArchive
from askalike.service.pages.charts import ProportionBar
from askalike.service.pages.languages import format_short_day, mark
from askalike.service.pages.rendering import render_page
from askalike.store import Archive
from askalike.store.deployments import get_archive_encoder, serving_history
from askalike.store.encoding import EncodingProgress, read_encoding
from askalike.store.query_log import DailyUse, daily_use, sum_use, weekly_verdicts

router = APIRouter()
REPLAY_PATH = Path("replay", "replay.json")
"""The report of a replay, in the archive's directory."""
MAX_WEEKS, USE_DAYS = 26, 30
WeeklyVerdicts = tuple[str, dict[str, int]]
VERDICT_LABELS = {
    "accept": mark("this answers it"),
    "reject": mark("not the same"),
    "none_of_these": mark("none of these"),
    "posted_anyway": mark("posted anyway"),
}


USE_LABELS = {"not_asked": mark("read instead of asking"), "posted": mark("asked anyway"), "other": mark("neither")}
"""The outcome of a page view with similar questions."""


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """A replay of the deployed ranker: how often the original was among its first k hits, over time."""

    k: int
    overall: ProportionBar
    periods: Sequence[ProportionBar]


@router.get("/a/{archive}/quality")
async def get_quality(archive: UserArchive, request: Request) -> Response:
    """Show the report."""
    calibration, stale_reason, threshold = await archive.run_on_engine(
        lambda engine: (engine.calibration, engine.stale_reason, engine.typical_threshold)
    )
    measured = calibration.quality if calibration else None
    verdicts = await archive.run_on_store(lambda store: weekly_verdicts(store, MAX_WEEKS))
    use = await archive.run_on_store(lambda store: daily_use(store, USE_DAYS))
    bars: dict[str, list[ProportionBar]] = {}
    if measured:
        counts, n = measured.found_by_rank, measured.queries
        bars["accuracies"] = [_to_proportion(str(k), count, n) for k, count in enumerate(counts, 1)]
        bars["bins"] = [_to_proportion(f"{p:.4f}", round(right * n), n) for p, right, n in measured.bins]
    return render_page(
        request,
        "quality.html",
        calibration=calibration,
        stale_reason=stale_reason,
        threshold=threshold,
        measured=measured,
        bars=bars,
        replay=await archive.run_on_store(lambda store: _load_replay(store, archive.model)),
        weeks=[(format_short_day(monday), counts) for monday, counts in fill_weeks(verdicts)[-MAX_WEEKS:]],
        encoding=await archive.run_on_store(_find_encoding),
        served=await archive.run_on_store(serving_history),
        verdicts=VERDICT_LABELS,
        use=use,
        use_total=sum_use(use),
        use_bars=[(format_short_day(each.day), _outcomes(each)) for each in use],
        outcomes=USE_LABELS,
    )


def _find_encoding(archive: Archive) -> tuple[str, EncodingProgress] | None:
    """Return the archive's encoder and how far its vectors are; None if none are missing."""
    encoder = get_archive_encoder(archive)
    progress = read_encoding(archive.path, encoder.name) if encoder else None
    return (encoder.name, progress) if encoder and progress else None


def fill_weeks(weeks: Sequence[WeeklyVerdicts]) -> list[WeeklyVerdicts]:
    """Return the weeks, by the dates of their Mondays, with the weeks between them that have no verdicts."""
    counts = dict(weeks)
    if not weeks:
        return []
    first, last = (date.fromisoformat(monday) for monday in (weeks[0][0], weeks[-1][0]))
    mondays = [(first + timedelta(days=n)).isoformat() for n in range(0, (last - first).days + 1, 7)]
    return [(monday, counts.get(monday, dict.fromkeys(VERDICT_LABELS, 0))) for monday in mondays]


def _outcomes(use: DailyUse) -> dict[str, int]:
    """Return the number of views in which somebody read instead of asking, asked anyway, or did neither."""
    posted = use.counts["posted"]
    return {"not_asked": use.not_asked, "posted": posted, "other": max(0, use.counts["shown"] - use.not_asked - posted)}


def _load_replay(archive: Archive, ranker: str) -> ReplaySummary | None:
    """Return the ranker's results in the last replay; None without one."""
    try:
        report = json.loads((archive.path / REPLAY_PATH).read_text(encoding="utf-8"))
        k = next(r["k"] for r in report["rankers"] if r["ranker"] == ranker)
        ranks = {q["id"]: q["ranks"][ranker] for q in report["queries"]}
        parts = group_into_periods([(q["created_at"], q["id"]) for q in report["queries"]])
    except (OSError, ValueError, LookupError, StopIteration, TypeError):
        return None
    right = {id for id, rank in ranks.items() if rank and rank <= k}
    shares = [_to_proportion(p.name, len(right.intersection(p.queries)), len(p.queries)) for p in parts]
    return ReplaySummary(k, _to_proportion("all", len(right), len(ranks)), shares)


def _to_proportion(label: str, count: int, n: int) -> ProportionBar:
    return ProportionBar(label, count / n if n else 0.0, *wilson_interval(count, n), n)
