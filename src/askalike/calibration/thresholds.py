"""Thresholds above which hits are shown: for a precision, or with a guarantee.

With a guarantee, with 95 % confidence, no more of the first hits shown are wrong than was asked for. The curves are
fitted on half of the duplicate clusters, and thresholds tested on the other half, of which each cluster counts once. A
threshold holds if the exact upper bound of the share of wrong hits above it (Clopper and Pearson 1934) is low enough;
several are tested, each with a part of the allowed error (Learn then Test with Bonferroni's correction, Angelopoulos et
al. 2021). The thresholds are fixed by the number of hits above them and not by labels, so that the test is exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from askalike.calibration.calibration import Calibration, Threshold
from askalike.calibration.samples import CalibrationSample
from askalike.core.arrays import Bools, Floats, Ints
from askalike.evaluation.intervals import BinomialProportion, binomial_upper_bound
from askalike.index.rows import find_distinct

THRESHOLD_GRID = tuple(step / 20 for step in range(20))
MIN_HITS_ABOVE = 30
"""Minimum number of first hits above a threshold."""
CONFIDENCE = 0.95
TESTED_SHARES = (1.0, 0.7, 0.5, 0.35, 0.2)
"""Shares of the hits that are shown at the thresholds tested."""


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """Measures of first hits at a threshold: the precision of those shown; recall and coverage over all queries."""

    probability: float
    precision: BinomialProportion
    recall: BinomialProportion
    coverage: BinomialProportion

    def as_dict(self) -> Mapping[str, Any]:
        """Return the row for JSON."""
        proportions = {"precision": self.precision, "recall": self.recall, "coverage": self.coverage}
        return {"probability": self.probability} | {name: p.as_dict() for name, p in proportions.items()}


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """The lowest threshold with a precision, None if out of reach, with its row and cross-validated precision."""

    target_precision: float
    threshold: float | None
    in_sample: ThresholdRow | None
    cross_validated: BinomialProportion

    def as_dict(self) -> Mapping[str, Any]:
        """Return the choice for JSON."""
        row = self.in_sample.as_dict() if self.in_sample else None
        cross_validated = self.cross_validated.as_dict()
        return {"target_precision": self.target_precision, "in_sample": row, "cross_validated": cross_validated}


def measure_thresholds(probabilities: Floats, relevant: Bools, query_count: int) -> list[ThresholdRow]:
    """Return the row of each threshold of the grid for first hits, (n,), of `query_count` queries."""
    return [measure_threshold(probabilities, relevant, query_count, threshold) for threshold in THRESHOLD_GRID]


def measure_threshold(probabilities: Floats, relevant: Bools, query_count: int, threshold: float) -> ThresholdRow:
    """Return the row of one threshold for first hits, (n,), of `query_count` queries."""
    shown = probabilities >= threshold
    n_right, n_shown = int(relevant[shown].sum()), int(shown.sum())
    counts = ((n_right, n_shown), (n_right, query_count), (n_shown, query_count))
    return ThresholdRow(threshold, *(BinomialProportion(*pair) for pair in counts))


def choose_threshold(
    probabilities: Floats, relevant: Bools, fold_of_hit: Ints, query_count: int, target_precision: float
) -> ThresholdChoice:
    """Choose the lowest threshold with a precision on first hits, (n,), and measure the choice by cross-validation."""
    threshold = find_lowest_threshold(probabilities, relevant, target_precision)
    n_right = n_shown = 0
    for in_fold in (fold_of_hit == fold for fold in find_distinct(fold_of_hit)):
        fold_threshold = find_lowest_threshold(probabilities[~in_fold], relevant[~in_fold], target_precision)
        if fold_threshold is not None:
            shown = in_fold & (probabilities >= fold_threshold)
            n_right, n_shown = n_right + int(relevant[shown].sum()), n_shown + int(shown.sum())
    row = None if threshold is None else measure_threshold(probabilities, relevant, query_count, threshold)
    return ThresholdChoice(target_precision, threshold, row, BinomialProportion(n_right, n_shown))


def find_lowest_threshold(probabilities: Floats, relevant: Bools, target_precision: float) -> float | None:
    """Return the lowest probability above which there are at least MIN_HITS_ABOVE hits with the target precision.

    The mean of their probabilities must also reach the precision, so that a lucky run of few hits does not decide.
    None if the precision is out of reach.
    """
    order = np.argsort(-probabilities, kind="stable")
    count = np.arange(1, len(order) + 1)
    precision = np.cumsum(relevant[order]) / count
    expected_precision = np.cumsum(probabilities[order]) / count
    is_last_of_ties = np.append(np.diff(probabilities[order]) < 0, True)
    fits = is_last_of_ties & (count >= MIN_HITS_ABOVE)
    fits &= (precision >= target_precision) & (expected_precision >= target_precision)
    return float(probabilities[order][fits.nonzero()[0][-1]]) if fits.any() else None


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A threshold that holds, None if none does, and the hits on which it was tested.

    precision: the requested share of right hits. wrong: of the hits shown, those that are wrong. coverage: of the
    queries tested, those with a hit shown.
    """

    precision: float
    threshold: float | None
    wrong: BinomialProportion
    coverage: BinomialProportion

    @property
    def saved_threshold(self) -> Threshold | None:
        """The threshold in the form stored in a calibration."""
        if self.threshold is None:
            return None
        return Threshold(probability=self.threshold, criterion="guarantee", share=self.precision)

    def as_dict(self) -> Mapping[str, Any]:
        """Return everything, for JSON."""
        shares = {"wrong": self.wrong.as_dict(), "coverage": self.coverage.as_dict()}
        return {"precision": self.precision, "confidence": CONFIDENCE, "threshold": self.threshold, **shares}


def find_guarantee(probabilities: Floats, wrong: Bools, query_count: int, precision: float) -> Guarantee:
    """Test thresholds on first hits, (n,), of independent queries that had no part in their probabilities.

    The lowest one that holds is chosen. The hit with the threshold's own probability only fixes it and is not counted.
    """
    descending = np.sort(probabilities)[::-1]
    for share in TESTED_SHARES if len(descending) else ():
        threshold = descending[max(round(share * len(descending)) - 1, 0)]
        shown = probabilities > threshold
        n_wrong, n_shown = int(wrong[shown].sum()), int(shown.sum())
        if n_shown and binomial_upper_bound(n_wrong, n_shown, (1 - CONFIDENCE) / len(TESTED_SHARES)) <= 1 - precision:
            lowest = float(np.nextafter(threshold, 2.0))
            proportions = BinomialProportion(n_wrong, n_shown), BinomialProportion(n_shown, query_count)
            return Guarantee(precision, lowest, *proportions)
    return Guarantee(precision, None, BinomialProportion(0, 0), BinomialProportion(0, query_count))


def split_clusters(sample: CalibrationSample, seed: int) -> tuple[Bools, Bools]:
    """Return masks, (queries,): those on which curves are fitted, and of each other cluster the first query."""
    names = sorted(set(sample.clusters))
    drawn = np.random.default_rng(seed).permutation(len(names))
    fitted = {names[at] for at in drawn[: len(names) // 2].tolist()}
    first = dict(zip(reversed(sample.clusters), range(len(sample.clusters) - 1, -1, -1), strict=True))
    is_fitted = np.array([cluster in fitted for cluster in sample.clusters], np.bool_)
    is_tested = np.array([c not in fitted and first[c] == n for n, c in enumerate(sample.clusters)], np.bool_)
    return is_fitted, is_tested


def certify(
    sample: CalibrationSample, calibration: Calibration, tested: Bools, precision: float, seed: int
) -> Guarantee:
    """Return the guarantee of a calibration whose curves were not fitted on the tested queries, (queries,).

    Where only a share of the queries in use has a duplicate, the same share of the tested ones, drawn at random, is as
    it is; the others get their first wrong hit, as if the archive had no right question.
    """
    answerable = np.random.default_rng(seed).random(len(sample.queries)) < calibration.prevalence
    parts = (sample.first_hits.select(tested & answerable), sample.first_wrong_hits.select(tested & ~answerable))
    features = np.concatenate([part.features for part in parts])
    probabilities: Floats = np.array([calibration.estimate(row[None])[0] for row in features], np.float64)
    wrong = ~np.concatenate([part.relevant for part in parts])
    return find_guarantee(probabilities, wrong, int(tested.sum()), precision)
