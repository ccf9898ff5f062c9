"""Calibrates the scores of another system, from its run file and judgements, by the score of each hit alone."""

from collections.abc import Mapping, Sequence

import numpy as np

from askalike.calibration.calibrate import CalibrationReport, RankerDescription, calibrate_sample
from askalike.calibration.features import CALIBRATION_DEPTH, COLUMN_COUNT, FEATURES, SAMENESS_COLUMN, SIMILARITY_COLUMN
from askalike.calibration.samples import MIN_QUERIES, CalibrationSample, LabelledHits
from askalike.core.counts import format_count
from askalike.core.errors import InputError
from askalike.core.types import Qrels, Run

_Row = tuple[float, bool, int]


def calibrate_run(
    name: str, run: Run, qrels: Qrels, *, precision: float | None = None, guarantee: float | None = None,
    prevalence: float = 1.0, seed: int = 0,
) -> CalibrationReport:  # fmt: skip
    """Return the report on a run: curves from scores to probabilities, and thresholds; see `calibrate`.

    The queries are those with a relevant document; each is a cluster of its own. A hit with the id of its query is
    dropped. Raises InputError if there are too few queries, or too few right or wrong first hits.
    """
    queries = [id for id in run if any(grade > 0 for grade in qrels.get(id, {}).values())]
    rows = [_label_hits(run, id, qrels[id], n) for n, id in enumerate(queries)]
    first = [own[0] for own in rows if own]
    n_right, needed = sum(is_right for _, is_right, _ in first), MIN_QUERIES // 10
    if len(queries) < MIN_QUERIES or min(n_right, len(first) - n_right) < needed:
        found = f"{format_count(len(queries), 'query')} with a relevant document, {n_right} right first hits"
        raise InputError(
            f"{name}: too little to calibrate on: {found}; expected at least {MIN_QUERIES} queries, and {needed} "
            f"right and {needed} wrong first hits"
        )
    later = [row for own in rows for row in own[1:]]
    wrong = [next((row for row in own if not row[1]), None) for own in rows]
    sample = CalibrationSample(
        name, queries, queries, [""] * len(queries), False, _stack(first), _stack(later),
        _stack([row for row in wrong if row]),
    )  # fmt: skip
    described = RankerDescription(name)
    return calibrate_sample(
        sample, described, precision=precision, guarantee=guarantee, prevalence=prevalence, seed=seed
    )


def find_score(report: CalibrationReport, probability: float) -> float | None:
    """Return the lowest score of a first hit of the run with at least this probability; None if none has it."""
    features = report.sample.first_hits.features
    likely = [row for row in features if report.calibration.estimate(row[None])[0] >= probability]
    return float(min(row[FEATURES.index("score")] for row in likely)) if likely else None


def _label_hits(run: Run, query: str, judged: Mapping[str, int], number: int) -> list[_Row]:
    ids, scores = run.columns(query)
    found = zip(ids, scores.tolist(), strict=True)
    hits = [(score, judged.get(id, 0) > 0, number) for id, score in found if id != query]
    return hits[:CALIBRATION_DEPTH]


def _stack(rows: Sequence[_Row]) -> LabelledHits:
    """Return hits as rows whose only feature is the score."""
    features = np.zeros((len(rows), COLUMN_COUNT))
    features[:, FEATURES.index("score")] = [score for score, _, _ in rows]
    features[:, SIMILARITY_COLUMN], features[:, SAMENESS_COLUMN:] = np.nan, 1.0
    labels, numbers = [is_right for _, is_right, _ in rows], [number for _, _, number in rows]
    return LabelledHits(features, np.array(labels, np.bool_), np.array(numbers, np.int64))
