"""Abstention: how many off-topic queries get nothing, against how many right first hits stay, at each probability."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from askalike.calibration.calibrating import CalibrationReport, proportion_as_dict
from askalike.calibration.calibration import Threshold
from askalike.calibration.curves import Floats
from askalike.calibration.samples import rank_with_features
from askalike.calibration.thresholds import THRESHOLD_GRID
from askalike.evaluation.proportion import BinomialProportion
from askalike.rankers import Ranker, build_with_retry
from askalike.readers._queries import read_queries
from askalike.store.archive import Archive
from askalike.store.samples import sample_questions
from askalike.types import Question

MAX_QUERIES = 1_000
TARGET_ABSTENTION = 0.9


@dataclass(frozen=True, slots=True)
class AbstentionPoint:
    """At a line: the off-topic queries that abstain, and the right first hits that are kept."""

    threshold: float
    abstained: BinomialProportion
    retained: BinomialProportion


@dataclass(frozen=True, slots=True)
class AbstentionCurve:
    """The whole curve, and the lowest line at which WANTED of the off-topic queries abstain."""

    query_count: int
    points: Sequence[AbstentionPoint]
    target_point: AbstentionPoint

    @property
    def threshold(self) -> Threshold:
        """That line, to be put into a calibration."""
        return Threshold(probability=min(self.target_point.threshold, 1.0), of="abstention", share=TARGET_ABSTENTION)

    def as_dict(self) -> Mapping[str, Any]:
        """For JSON."""
        return {
            "queries": self.query_count,
            "curve": [_point_as_dict(p) for p in self.points],
            "wanted": _point_as_dict(self.target_point),
        }


def measure_abstention(
    archive: Archive, ranker: Ranker, calibration_report: CalibrationReport, queries: Sequence[Question]
) -> AbstentionCurve:
    """Asks queries that have nothing to do with the archive. Bodies are asked only where labelled queries have some.

    The right first hits have the probabilities that curves give which saw nothing of their clusters.
    """
    bodies = calibration_report.sample.has_bodies
    asked = [replace(query, id=f" off {n} ", body=query.body if bodies else "") for n, query in enumerate(queries)]
    rows = rank_with_features(
        build_with_retry(ranker, archive.view()), archive.view(), {query.id: query for query in asked}
    )
    best = [calibration_report.calibration.estimate(features[:1]) for _, _, features in rows]
    highest = np.array([p[0] if len(p) else -1.0 for p in best])
    right = calibration_report.predictions.adjust_to_prevalence(calibration_report.calibration.prevalence)[
        calibration_report.sample.first_hits.relevant
    ]
    # the lowest line that so many stay below is just above the probability of the last of them
    last = np.sort(highest)[int(np.ceil(TARGET_ABSTENTION * len(highest))) - 1]
    line = max(float(np.nextafter(last, 2.0)), 0.0)
    return AbstentionCurve(
        len(asked), [_measure_point(p, highest, right) for p in THRESHOLD_GRID], _measure_point(line, highest, right)
    )


def load_off_topic_queries(path: Path, max_queries: int = MAX_QUERIES, seed: int = 0) -> list[Question]:
    """Queries of a file of JSON lines, or the questions of an archive; so many of them, drawn without replacement.

    Raises InputError for a file that cannot be read, ArchiveError for an archive that cannot.
    """
    if not path.is_dir():
        queries = list(read_queries(path).values())
        drawn = np.random.default_rng(seed).permutation(len(queries))[:max_queries]
        return [queries[i] for i in np.sort(drawn)]
    with Archive.open(path) as archive:
        return list(sample_questions(archive.view(), max_queries, seed))


def _measure_point(threshold: float, best_probabilities: Floats, relevant_probabilities: Floats) -> AbstentionPoint:
    abstain = BinomialProportion(int((best_probabilities < threshold).sum()), len(best_probabilities))
    return AbstentionPoint(
        threshold,
        abstain,
        BinomialProportion(int((relevant_probabilities >= threshold).sum()), len(relevant_probabilities)),
    )


def _point_as_dict(point: AbstentionPoint) -> Mapping[str, Any]:
    return {
        "probability": point.threshold,
        "abstain": proportion_as_dict(point.abstained),
        "kept": proportion_as_dict(point.retained),
    }
