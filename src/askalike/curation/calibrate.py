"""Calibrates a ranker on an archive: what its scores mean, measured on clusters that had no part in saying so."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.archive.store import Archive
from askalike.curation.curves import Predicted, chosen, predicted
from askalike.curation.hits import PER_CLUSTER, QUERIES, Sample, found_within, sample
from askalike.curation.thresholds import Picked, Share, Threshold, pick, table
from askalike.engines._calibration import Calibration, Line, Measured, State, fingerprint, settings_of
from askalike.errors import SettingsError
from askalike.evaluation.curves import Floats
from askalike.evaluation.reliability import Reliability, reliability
from askalike.rankers import Ranker
from askalike.rankers._ranker import Progress


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A calibration, and what was measured of it: by curves that saw nothing of the same clusters."""

    calibration: Calibration
    way: str
    sample: Sample
    predicted: Predicted
    first: Reliability
    """Of the first hits."""
    later: Reliability | None
    """Of the hits after them, down to the tenth; None where there are none."""
    mixed: Reliability
    """Of first hits where half of the queries have nothing right in the archive."""
    thresholds: list[Threshold]
    picked: Picked | None
    """None where no precision was asked for."""

    def as_dict(self) -> Mapping[str, Any]:
        """Everything but the single hits, for JSON."""
        return {
            "ranker": self.calibration.ranker,
            "split": self.sample.split,
            "queries": len(self.sample.queries),
            "way": self.way,
            "first": asdict(self.first),
            "later": asdict(self.later) if self.later else None,
            "mixed": asdict(self.mixed),
            "thresholds": [_threshold(t) for t in self.thresholds],
            "picked": self._line(),
        }

    def _line(self) -> Mapping[str, Any] | None:
        if self.picked is None:
            return None
        here = _threshold(self.picked.here) if self.picked.here else None
        return {"asked": self.picked.asked, "line": here, "elsewhere": share(self.picked.elsewhere)}


def calibrate(
    archive: Archive,
    ranker: Ranker,
    split: str | None = None,
    *,
    precision: float | None = None,
    prevalence: float = 1.0,
    titles: bool = False,
    most: int = QUERIES,
    per_cluster: int = PER_CLUSTER,
    seed: int = 0,
    progress: Progress | None = None,
) -> Calibrated:
    """Fits and measures; nothing is kept until `.calibration.save(archive.path)`.

    Nested cross-validation over folds that keep duplicate clusters whole. The index holds everything. The ranker must
    not have learned from the split. prevalence: the share of what will be asked that was asked before, by which
    searches lower their probabilities. Raises what `sample` raises, and SettingsError for a precision outside (0, 1)
    or a prevalence outside (0, 1].
    """
    if precision is not None and not 0 < precision < 1:
        raise SettingsError(f"--precision {precision}: expected a share between 0 and 1, such as 0.9")
    if not 0 < prevalence <= 1:
        raise SettingsError(f"--prevalence {prevalence}: expected a share above 0 and at most 1, such as 0.3")
    rows = sample(
        archive, ranker, split, titles=titles, most=most, per_cluster=per_cluster, seed=seed, progress=progress
    )
    outside, curves = predicted(rows, seed), chosen(rows, seed)
    picked = None if precision is None else _picked(rows, outside.told(prevalence), outside.fold, precision)
    line = picked and picked.probability
    first, later = _measured(rows, outside, seed)
    calibration = Calibration(
        ranker=ranker.name,
        settings=settings_of(ranker.values),
        weights=fingerprint(ranker),
        state=State.of(archive.view()),
        split=rows.split,
        bodies=rows.bodies,
        queries=len(rows.queries),
        base_rate=float(rows.first.right.mean()),
        first=curves.first,
        later=curves.later,
        known=curves.known,
        prevalence=prevalence,
        line=None if line is None else Line(probability=line, of="precision", share=precision or 0.0),
        measured=_told(rows, first),
    )
    mixed = _mixed(rows, outside, seed)
    steps = table(outside.told(prevalence), rows.first.right, len(rows.queries))
    return Calibrated(calibration, curves.way, rows, outside, first, later, mixed, steps, picked)


def _told(rows: Sample, first: Reliability) -> Measured:
    """What is kept of the measurements."""
    return Measured(
        queries=len(rows.queries),
        found=found_within(rows),
        bins=tuple((b.probability, b.right, b.n) for b in first.bins),
        error=first.error,
        chance=first.chance,
    )


def share(share: Share) -> Mapping[str, Any]:
    """A share for JSON."""
    return {"value": share.value, "interval": share.interval, "count": share.count, "n": share.n}


def _threshold(at: Threshold) -> Mapping[str, Any]:
    return {"probability": at.probability} | {
        name: share(getattr(at, name)) for name in ("precision", "recall", "coverage")
    }


def _mixed(rows: Sample, outside: Predicted, seed: int) -> Reliability:
    """Each query counts twice: as it is, and as if the right ones were not there."""
    told = np.concatenate([outside.told(0.5), outside.absent])
    right = np.concatenate([rows.first.right, rows.absent.right])
    queries = np.concatenate([rows.first.query, rows.absent.query])
    return reliability(told, right, np.array(rows.clusters)[queries].tolist(), seed)


def _picked(rows: Sample, told: Floats, place: NDArray[np.int64], precision: float) -> Picked:
    fold = place[rows.first.query]
    return pick(told, rows.first.right, fold, len(rows.queries), precision)


def _measured(rows: Sample, outside: Predicted, seed: int) -> tuple[Reliability, Reliability | None]:
    clusters = np.array(rows.clusters)
    first = reliability(outside.first, rows.first.right, clusters[rows.first.query].tolist(), seed)
    if not len(outside.later):
        return first, None
    return first, reliability(outside.later, rows.later.right, clusters[rows.later.query].tolist(), seed)
