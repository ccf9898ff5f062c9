"""Chooses and fits the curves from features to probability; by log loss on clusters that they were not fitted on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.calibration.curves import (
    Curve,
    CurveFitter,
    Floats,
    ProductCurve,
    fit_typicality,
    isotonic_fitter,
    logistic_fitter,
    shift_balanced_prior,
)
from askalike.calibration.features import FEATURES, SIMILARITY_COLUMN
from askalike.calibration.reliability import log_loss
from askalike.calibration.samples import CalibrationSample, LabelledHits
from askalike.labels.clusters import assign_folds

OUTER_FOLDS, INNER_FOLDS = 5, 3
FEATURE_SETS = (
    ("score",),
    ("score", "length"),
    ("score", "length", "lead"),
    ("score", "length", "lead", "field"),
    ("score", "length", "shared", "overlap"),
    FEATURES,
)
CURVE_METHODS: Mapping[str, CurveFitter] = {
    f"logistic over {', '.join(names)}": logistic_fitter([FEATURES.index(name) for name in names])
    for names in FEATURE_SETS
} | {"isotonic over score": isotonic_fitter(FEATURES.index("score"))}
Masks = Sequence[NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class FittedCurves:
    """The way that was chosen, the curve of first hits, and that of the hits after them.

    `known`: of a first hit, whether its query was asked before, where half of all were.
    """

    method: str
    first_hit_curve: Curve
    later_hit_curve: Curve
    answerable_curve: Curve


@dataclass(frozen=True, slots=True)
class OutOfFoldPredictions:
    """Probabilities of a sample's hits by curves that saw nothing of their clusters: (first hits,), (later hits,)."""

    first_probabilities: Floats
    later_probabilities: Floats
    fold_of_query: NDArray[np.int64]
    """(queries,): which fold each query is in."""
    methods: Sequence[str]
    """What each fold's other folds chose."""
    answerable_probabilities: Floats
    """Of the first hits: whether the query was asked before, where half of all were."""
    first_wrong_probabilities: Floats
    """Of what is first where nothing is right: the probability to be right, where half of all were asked before."""

    def adjust_to_prevalence(self, prevalence: float) -> Floats:
        """The first hits' probabilities where this share of the queries was asked before."""
        return self.first_probabilities * shift_balanced_prior(self.answerable_probabilities, prevalence)


def select_curves(sample: CalibrationSample, seed: int = 0) -> FittedCurves:
    """The curves for use: chosen by cross-validation over all of a sample, fitted on all of it."""
    everything = np.ones(len(sample.queries), np.bool_)
    return _select_curves(sample, everything, OUTER_FOLDS, seed)


def predict_out_of_fold(sample: CalibrationSample, seed: int = 0) -> OutOfFoldPredictions:
    """Nested: each fold is predicted by curves that the other folds choose, by folds of their own, and fit."""
    first, later = np.zeros(len(sample.first_hits.relevant)), np.zeros(len(sample.later_hits.relevant))
    place = np.zeros(len(sample.queries), np.int64)
    known, absent = np.zeros(len(first)), np.zeros(len(sample.first_wrong_hits.relevant))
    ways = []
    for number, own in enumerate(
        _split_into_fold_masks(sample, np.ones(len(sample.queries), np.bool_), OUTER_FOLDS, seed)
    ):
        curves = _select_curves(sample, ~own, INNER_FOLDS, seed)
        first[own[sample.first_hits.query_index]] = curves.first_hit_curve.predict(
            sample.first_hits.select(own).features
        )
        later[own[sample.later_hits.query_index]] = curves.later_hit_curve.predict(
            sample.later_hits.select(own).features
        )
        known[own[sample.first_hits.query_index]] = curves.answerable_curve.predict(
            sample.first_hits.select(own).features
        )
        unseen = sample.first_wrong_hits.select(own).features
        absent[own[sample.first_wrong_hits.query_index]] = curves.first_hit_curve.predict(
            unseen
        ) * curves.answerable_curve.predict(unseen)
        place[own] = number
        ways.append(curves.method)
    return OutOfFoldPredictions(first, _make_non_increasing(sample, first, later), place, ways, known, absent)


def _select_curves(
    sample: CalibrationSample, query_mask: NDArray[np.bool_], fold_count: int, seed: int
) -> FittedCurves:
    """Chosen by so many folds of some of the queries, fitted on these."""
    masks = list(_split_into_fold_masks(sample, query_mask, fold_count, seed))
    rows, later = sample.first_hits.select(query_mask), sample.later_hits.select(query_mask)
    way = min(
        CURVE_METHODS, key=lambda name: _cross_validated_loss(sample.first_hits, CURVE_METHODS[name], query_mask, masks)
    )
    first = CURVE_METHODS[way](rows.features, rows.relevant)
    after = CURVE_METHODS[way](later.features, later.relevant) if len(later.relevant) else first
    return FittedCurves(way, first, after, _fit_answerable_curve(rows, sample.first_wrong_hits.select(query_mask)))


def _fit_answerable_curve(first_hits: LabelledHits, first_wrong_hits: LabelledHits) -> Curve:
    """Tells first hits of queries that were asked before from those that would be first if they had not been.

    All these queries belong here. One whose first hit is less like it than nearly all of theirs does not.
    """
    features = np.concatenate([first_hits.features, first_wrong_hits.features])
    asked = np.arange(len(features)) < len(first_hits.features)
    curve = logistic_fitter(range(len(FEATURES)))(features, asked)
    if np.isnan(features[:, SIMILARITY_COLUMN]).any():
        return curve
    return ProductCurve(curves=(curve, fit_typicality(features, SIMILARITY_COLUMN)))


def _cross_validated_loss(
    hits: LabelledHits, fit: CurveFitter, query_mask: NDArray[np.bool_], fold_masks: Masks
) -> float:
    """The log loss of rows that the curve was not fitted on."""
    probabilities, right = [], []
    for own in fold_masks:
        known, asked = hits.select(query_mask & ~own), hits.select(own)
        if len(known.relevant):
            probabilities.append(fit(known.features, known.relevant).predict(asked.features))
            right.append(asked.relevant)
    return log_loss(np.concatenate(probabilities), np.concatenate(right))


def _split_into_fold_masks(
    sample: CalibrationSample, query_mask: NDArray[np.bool_], fold_count: int, seed: int
) -> Iterator[NDArray[np.bool_]]:
    """Masks, (queries,), of folds of some of the queries; no cluster is in two."""
    place = {id: number for number, id in enumerate(sample.queries)}
    cluster_of = dict(zip(sample.queries, sample.clusters, strict=True))
    ids = [id for id, asked in zip(sample.queries, query_mask, strict=True) if asked]
    for fold in assign_folds(ids, cluster_of, fold_count, seed):
        mask = np.zeros(len(sample.queries), np.bool_)
        mask[[place[id] for id in fold]] = True
        yield mask


def _make_non_increasing(sample: CalibrationSample, first_probabilities: Floats, later_probabilities: Floats) -> Floats:
    """The later hits' probabilities, none above that of a hit before it; rows are in the order of queries and ranks."""
    best = np.ones(len(sample.queries))
    best[sample.first_hits.query_index] = first_probabilities
    fallen = later_probabilities.copy()
    for row, query in enumerate(sample.later_hits.query_index.tolist()):
        best[query] = fallen[row] = min(best[query], fallen[row])
    return fallen
