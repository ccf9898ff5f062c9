"""*Quality*: how good the ranker in service is, what its probabilities are worth, and what people say of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request, Response

from askalike.archive.asked import VERDICTS
from askalike.archive.serving import Served, history
from askalike.archive.store import Archive
from askalike.engines._calibration import Calibration, Measured
from askalike.engines.local import Local
from askalike.evaluation.reliability import proportion
from askalike.experiment.timeline import quarters
from askalike.service.pages.charts import Share
from askalike.service.pages.people import Reader
from askalike.service.pages.rendering import page

router = APIRouter()
REPLAY = Path("replay", "replay.json")
"""Where in an archive's directory a replay is looked for."""
WEEKS = 26
SAID = {
    "accept": "this answers it",
    "reject": "not the same",
    "none_of_these": "none of these",
    "posted_anyway": "posted anyway",
}


@dataclass(frozen=True, slots=True)
class Replayed:
    """A replay of the ranker in service: how often the original was among the first k, in stretches of time."""

    k: int
    whole: Share
    stretches: Sequence[Share]


@dataclass(frozen=True, slots=True)
class Kept:
    """What the archive keeps of its service: verdicts by week, the last replay, and the rankers put into service."""

    said: Sequence[tuple[str, Mapping[str, int]]]
    replay: Replayed | None
    served: Sequence[Served]


@router.get("/a/{archive}/quality")
async def get_quality(desk: Reader, request: Request) -> Response:
    """The report."""
    calibration, objection = await desk.search(_calibration)
    kept = await desk.store(lambda archive: _kept(archive, desk.model))
    measured = calibration.measured if calibration else None
    return page(
        request, "quality.html", calibration=calibration, objection=objection, measured=measured, kept=kept,
        found=_found(measured) if measured else [], bins=_bins(measured) if measured else [], verdicts=SAID,
    )  # fmt: skip


def _calibration(engine: Local) -> tuple[Calibration | None, str | None]:
    return engine.calibration, engine.uncalibrated


def _found(measured: Measured) -> list[Share]:
    return [_share(str(k), count, measured.queries) for k, count in enumerate(measured.found, 1)]


def _bins(measured: Measured) -> list[Share]:
    return [_share(f"{p:.4f}", round(right * n), n) for p, right, n in measured.bins]


def _kept(archive: Archive, ranker: str) -> Kept:
    return Kept(_feedback(archive), _replay(archive, ranker), history(archive))


def _feedback(archive: Archive) -> list[tuple[str, dict[str, int]]]:
    """Verdicts by week, which begins on Monday: the latest weeks in which somebody said something."""
    sql = "SELECT date(given_at, 'weekday 0', '-6 days'), verdict, COUNT(*) FROM feedback GROUP BY 1, 2 ORDER BY 1"
    weeks: dict[str, dict[str, int]] = {}
    for week, verdict, count in archive.connection.execute(sql):
        weeks.setdefault(week, dict.fromkeys(VERDICTS, 0))[verdict] = count
    return list(weeks.items())[-WEEKS:]


def _replay(archive: Archive, ranker: str) -> Replayed | None:
    """What the last replay found of this ranker, where one was kept."""
    try:
        told = json.loads((archive.path / REPLAY).read_text(encoding="utf-8"))
        k = next(r["k"] for r in told["rankers"] if r["ranker"] == ranker)
        ranks = {q["id"]: q["ranks"][ranker] for q in told["queries"]}
        parts = quarters([(q["asked"], q["id"]) for q in told["queries"]])
    except (OSError, ValueError, LookupError, StopIteration, TypeError):
        return None
    right = {id for id, rank in ranks.items() if rank and rank <= k}
    shares = [_share(p.name, len(right.intersection(p.queries)), len(p.queries)) for p in parts]
    return Replayed(k, _share("all", len(right), len(ranks)), shares)


def _share(label: str, count: int, n: int) -> Share:
    return Share(label, count / n if n else 0.0, *proportion(count, n), n)
