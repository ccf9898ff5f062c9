"""Calibrates a ranker on an archive: what its scores mean, measured on clusters that had no part in saying so."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.calibration.calibration import (
    ArchiveState,
    Calibration,
    CalibrationQuality,
    Threshold,
    model_fingerprint,
    settings_json,
)
from askalike.calibration.curve_selection import OutOfFoldPredictions, predict_out_of_fold, select_curves
from askalike.calibration.curves import Floats
from askalike.calibration.reliability import Reliability, measure_reliability
from askalike.calibration.samples import (
    MAX_PER_CLUSTER,
    MAX_QUERIES,
    CalibrationSample,
    count_found_by_rank,
    draw_sample,
)
from askalike.calibration.thresholds import (
    ThresholdChoice,
    ThresholdRow,
    choose_threshold,
    measure_thresholds,
)
from askalike.errors import SettingsError
from askalike.evaluation.proportion import BinomialProportion
from askalike.rankers import Ranker
from askalike.store.archive import Archive
from askalike.types import Progress


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """A calibration, and what was measured of it: by curves that saw nothing of the same clusters."""

    calibration: Calibration
    method: str
    sample: CalibrationSample
    predictions: OutOfFoldPredictions
    first_hits: Reliability
    """Of the first hits."""
    later_hits: Reliability | None
    """Of the hits after them, down to the tenth; None where there are none."""
    half_answerable: Reliability
    """Of first hits where half of the queries have nothing right in the archive."""
    thresholds: list[ThresholdRow]
    threshold_choice: ThresholdChoice | None
    """None where no precision was asked for."""

    def as_dict(self) -> Mapping[str, Any]:
        """Everything but the single hits, for JSON."""
        return {
            "ranker": self.calibration.ranker,
            "split": self.sample.split,
            "queries": len(self.sample.queries),
            "way": self.method,
            "first": asdict(self.first_hits),
            "later": asdict(self.later_hits) if self.later_hits else None,
            "mixed": asdict(self.half_answerable),
            "thresholds": [_threshold_row_as_dict(t) for t in self.thresholds],
            "picked": self._threshold_choice_as_dict(),
        }

    def _threshold_choice_as_dict(self) -> Mapping[str, Any] | None:
        if self.threshold_choice is None:
            return None
        here = _threshold_row_as_dict(self.threshold_choice.in_sample) if self.threshold_choice.in_sample else None
        return {
            "asked": self.threshold_choice.target_precision,
            "line": here,
            "elsewhere": proportion_as_dict(self.threshold_choice.cross_validated),
        }


def calibrate(
    archive: Archive,
    ranker: Ranker,
    split: str | None = None,
    *,
    precision: float | None = None,
    prevalence: float = 1.0,
    titles_only: bool = False,
    max_queries: int = MAX_QUERIES,
    max_per_cluster: int = MAX_PER_CLUSTER,
    seed: int = 0,
    progress: Progress | None = None,
) -> CalibrationReport:
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
    rows = draw_sample(
        archive,
        ranker,
        split,
        titles_only=titles_only,
        max_queries=max_queries,
        max_per_cluster=max_per_cluster,
        seed=seed,
        progress=progress,
    )
    outside, curves = predict_out_of_fold(rows, seed), select_curves(rows, seed)
    picked = (
        None
        if precision is None
        else _choose_threshold(rows, outside.adjust_to_prevalence(prevalence), outside.fold_of_query, precision)
    )
    line = picked and picked.threshold
    first, later = _measure_reliability(rows, outside, seed)
    calibration = Calibration(
        ranker=ranker.name,
        settings=settings_json(ranker.values),
        weights=model_fingerprint(ranker),
        state=ArchiveState.from_view(archive.view()),
        split=rows.split,
        bodies=rows.has_bodies,
        queries=len(rows.queries),
        base_rate=float(rows.first_hits.relevant.mean()),
        first=curves.first_hit_curve,
        later=curves.later_hit_curve,
        known=curves.answerable_curve,
        prevalence=prevalence,
        line=None if line is None else Threshold(probability=line, of="precision", share=precision or 0.0),
        measured=_summarise_measurements(rows, first),
    )
    mixed = _measure_half_answerable(rows, outside, seed)
    steps = measure_thresholds(outside.adjust_to_prevalence(prevalence), rows.first_hits.relevant, len(rows.queries))
    return CalibrationReport(calibration, curves.method, rows, outside, first, later, mixed, steps, picked)


def _summarise_measurements(sample: CalibrationSample, first_hits: Reliability) -> CalibrationQuality:
    """What is kept of the measurements."""
    return CalibrationQuality(
        queries=len(sample.queries),
        found=count_found_by_rank(sample),
        bins=tuple((b.probability, b.right, b.n) for b in first_hits.bins),
        error=first_hits.error,
        chance=first_hits.chance,
    )


def proportion_as_dict(proportion: BinomialProportion) -> Mapping[str, Any]:
    """A share for JSON."""
    return {"value": proportion.value, "interval": proportion.interval, "count": proportion.count, "n": proportion.n}


def _threshold_row_as_dict(row: ThresholdRow) -> Mapping[str, Any]:
    return {"probability": row.probability} | {
        name: proportion_as_dict(getattr(row, name)) for name in ("precision", "recall", "coverage")
    }


def _measure_half_answerable(sample: CalibrationSample, predictions: OutOfFoldPredictions, seed: int) -> Reliability:
    """Each query counts twice: as it is, and as if the right ones were not there."""
    told = np.concatenate([predictions.adjust_to_prevalence(0.5), predictions.first_wrong_probabilities])
    right = np.concatenate([sample.first_hits.relevant, sample.first_wrong_hits.relevant])
    queries = np.concatenate([sample.first_hits.query_index, sample.first_wrong_hits.query_index])
    return measure_reliability(told, right, np.array(sample.clusters)[queries].tolist(), seed)


def _choose_threshold(
    sample: CalibrationSample, probabilities: Floats, fold_of_query: NDArray[np.int64], target_precision: float
) -> ThresholdChoice:
    fold = fold_of_query[sample.first_hits.query_index]
    return choose_threshold(probabilities, sample.first_hits.relevant, fold, len(sample.queries), target_precision)


def _measure_reliability(
    sample: CalibrationSample, predictions: OutOfFoldPredictions, seed: int
) -> tuple[Reliability, Reliability | None]:
    clusters = np.array(sample.clusters)
    first = measure_reliability(
        predictions.first_probabilities,
        sample.first_hits.relevant,
        clusters[sample.first_hits.query_index].tolist(),
        seed,
    )
    if not len(predictions.later_probabilities):
        return first, None
    return first, measure_reliability(
        predictions.later_probabilities,
        sample.later_hits.relevant,
        clusters[sample.later_hits.query_index].tolist(),
        seed,
    )
