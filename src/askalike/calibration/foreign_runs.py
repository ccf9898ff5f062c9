"""Calibrates the scores of another system, from its run file and judgements, by the score of each hit alone."""

from collections.abc import Mapping

import numpy as np

from askalike.calibration.calibrate import CalibrationReport, RankerDescription, calibrate_sample
from askalike.calibration.features import CALIBRATION_DEPTH, COLUMN_COUNT, FEATURES, SAMENESS_COLUMN, SIMILARITY_COLUMN
from askalike.calibration.samples import MIN_QUERIES, CalibrationSample, QueryRows, collect_labelled_hits
from askalike.core.counts import format_count
from askalike.core.errors import InputError
from askalike.core.types import Qrels, Run


def calibrate_run(
    name: str, run: Run, qrels: Qrels, *, precision: float | None = None, guarantee: float | None = None,
    prevalence: float = 1.0, seed: int = 0,
) -> CalibrationReport:  # fmt: skip
    """Return the report on a run: curves from scores to probabilities, and thresholds; see `calibrate`.

    The queries are those with a relevant document; each is a cluster of its own. A hit with the id of its query is
    dropped. Raises InputError if there are too few queries, or too few right or wrong first hits.
    """
    queries = [id for id in run if any(grade > 0 for grade in qrels.get(id, {}).values())]
    first, later, wrong = collect_labelled_hits(_label_hits(run, id, qrels[id]) for id in queries)
    n_right, needed = int(first.relevant.sum()), MIN_QUERIES // 10
    if len(queries) < MIN_QUERIES or min(n_right, len(first.relevant) - n_right) < needed:
        found = f"{format_count(len(queries), 'query')} with a relevant document, {n_right} right first hits"
        raise InputError(
            f"{name}: too little to calibrate on: {found}; expected at least {MIN_QUERIES} queries, and {needed} "
            f"right and {needed} wrong first hits"
        )
    sample = CalibrationSample(name, queries, queries, [""] * len(queries), False, first, later, wrong)
    return calibrate_sample(
        sample, RankerDescription(name), precision=precision, guarantee=guarantee, prevalence=prevalence, seed=seed
    )


def find_score(report: CalibrationReport, probability: float) -> float | None:
    """Return the lowest score of a first hit of the run with at least this probability; None if none has it."""
    features = report.sample.first_hits.features
    likely = [row for row in features if report.calibration.estimate(row[None])[0] >= probability]
    return float(min(row[FEATURES.index("score")] for row in likely)) if likely else None


def _label_hits(run: Run, query: str, judged: Mapping[str, int]) -> QueryRows:
    """Return the rows of a query's hits, whose only feature is the score."""
    ids, scores = run.columns(query)
    hits = [(judged.get(id, 0) > 0, score) for id, score in zip(ids, scores.tolist(), strict=True) if id != query]
    relevant = [is_right for is_right, _ in hits[:CALIBRATION_DEPTH]]
    features = np.zeros((len(relevant), COLUMN_COUNT))
    features[:, FEATURES.index("score")] = [score for _, score in hits[:CALIBRATION_DEPTH]]
    features[:, SIMILARITY_COLUMN], features[:, SAMENESS_COLUMN:] = np.nan, 1.0
    return features.tolist(), relevant, features[np.logical_not(relevant)][:1].tolist()
