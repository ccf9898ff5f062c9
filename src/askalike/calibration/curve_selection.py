"""Chooses curves by cross-validated log loss; no curve is measured on clusters that it was fitted on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from askalike.calibration.curves import (
    Curve,
    CurveFitter,
    IsotonicCurve,
    LogisticCurve,
    ProductCurve,
    logistic_fitter,
    shift_balanced_prior,
)
from askalike.calibration.differences import FULL_SAMENESS
from askalike.calibration.features import FAMILIAR_COLUMN, FEATURES, SAMENESS_COLUMN
from askalike.calibration.reliability import log_loss
from askalike.calibration.samples import CalibrationSample, LabelledHits
from askalike.core.arrays import Bools, Floats, Ints
from askalike.labels.partitions import assign_folds

OUTER_FOLDS, INNER_FOLDS = 5, 3
MIN_FACTOR = 0.9
"""Minimum factor of a hit's probability by the sameness of both titles. Labels are of rephrasings, of which many are
one word apart, and say nothing of new questions that are; so it keeps such hits from being sure, and no more."""
UNFAMILIAR_FACTOR = 0.45
"""Factor of a hit's probability if the query asks more than the hit, in words that the archive hardly knows."""
FEATURE_SETS = (*(FEATURES[:n] for n in range(1, 5)), ("score", "length", "shared", "overlap"), FEATURES)
CURVE_METHODS: Mapping[str, CurveFitter] = {
    f"logistic over {', '.join(names)}": logistic_fitter([FEATURES.index(name) for name in names])
    for names in FEATURE_SETS
}


class FittedCurves(NamedTuple):
    """The chosen method, and the curves fitted with it.

    answerable_curve: from the features of a first hit to the probability that its query has a duplicate, if half of
    the queries have one.
    """

    method: str
    first_hit_curve: Curve
    later_hit_curve: Curve
    answerable_curve: Curve


class OutOfFoldPredictions(NamedTuple):
    """Probabilities of a sample's hits from curves that were not fitted on their clusters.

    first_probabilities: (first hits,). later_probabilities: (later hits,). fold_of_query: (queries,).
    methods: for each fold, the method chosen on the other folds.
    answerable_probabilities: (first hits,), that the query has a duplicate, if half of the queries have one.
    first_wrong_probabilities: (first wrong hits,), to be right, if half of the queries have a duplicate.
    """

    first_probabilities: Floats
    later_probabilities: Floats
    fold_of_query: Ints
    methods: Sequence[str]
    answerable_probabilities: Floats
    first_wrong_probabilities: Floats

    def select(self, sample: CalibrationSample, query_mask: Bools) -> "OutOfFoldPredictions":
        """Return the predictions for queries of the sample in a mask, (queries,)."""
        hits = (sample.first_hits, sample.later_hits, sample.first_wrong_hits)
        first, later, wrong = (query_mask[part.query_index] for part in hits)
        return OutOfFoldPredictions(
            self.first_probabilities[first], self.later_probabilities[later], self.fold_of_query[query_mask],
            self.methods, self.answerable_probabilities[first], self.first_wrong_probabilities[wrong],
        )  # fmt: skip

    def adjust_to_prevalence(self, prevalence: float) -> Floats:
        """Return the first hits' probabilities if this share of the queries has a duplicate, (first hits,)."""
        return self.first_probabilities * shift_balanced_prior(self.answerable_probabilities, prevalence)


def select_curves(sample: CalibrationSample, seed: int, query_mask: Bools | None) -> FittedCurves:
    """Choose a method by cross-validation over the sample, or queries in a mask, and fit its curves on all of it."""
    everything = np.ones(len(sample.queries), np.bool_)
    return _select_curves(sample, everything if query_mask is None else query_mask, OUTER_FOLDS, seed)


def predict_out_of_fold(sample: CalibrationSample, seed: int = 0) -> OutOfFoldPredictions:
    """Predict each fold with curves chosen on the other folds, by inner cross-validation, and fitted on them."""
    first, later = np.zeros(len(sample.first_hits.relevant)), np.zeros(len(sample.later_hits.relevant))
    answerable, first_wrong = np.zeros(len(first)), np.zeros(len(sample.first_wrong_hits.relevant))
    fold_of_query = np.zeros(len(sample.queries), np.int64)
    methods = []
    everything = np.ones(len(sample.queries), np.bool_)
    for fold, in_fold in enumerate(_split_into_fold_masks(sample, everything, OUTER_FOLDS, seed)):
        curves = _select_curves(sample, ~in_fold, INNER_FOLDS, seed)
        first_features = sample.first_hits.select(in_fold).features
        later_features = sample.later_hits.select(in_fold).features
        wrong_features = sample.first_wrong_hits.select(in_fold).features
        in_first = in_fold[sample.first_hits.query_index]
        first[in_first] = curves.first_hit_curve.predict(first_features)
        answerable[in_first] = curves.answerable_curve.predict(first_features)
        later[in_fold[sample.later_hits.query_index]] = curves.later_hit_curve.predict(later_features)
        wrong_probabilities = curves.first_hit_curve.predict(wrong_features)
        wrong_probabilities *= curves.answerable_curve.predict(wrong_features)
        first_wrong[in_fold[sample.first_wrong_hits.query_index]] = wrong_probabilities
        fold_of_query[in_fold] = fold
        methods.append(curves.method)
    later = _make_non_increasing(sample, first, later)
    return OutOfFoldPredictions(first, later, fold_of_query, methods, answerable, first_wrong)


def _select_curves(sample: CalibrationSample, query_mask: Bools, fold_count: int, seed: int) -> FittedCurves:
    """Choose a method by folds of the queries in a mask, (queries,), and fit its curves on these queries."""
    masks = list(_split_into_fold_masks(sample, query_mask, fold_count, seed))
    first = sample.first_hits.select(query_mask)
    later = sample.later_hits.select(query_mask)
    losses = {name: _held_out_loss(sample.first_hits, fit, query_mask, masks) for name, fit in CURVE_METHODS.items()}
    method = min(losses, key=lambda name: losses[name])
    fit = CURVE_METHODS[method]
    first_hit_curve = _lower_where_one_word_differs(fit(first.features, first.relevant))
    later_hit_curve = first_hit_curve
    if len(later.relevant):
        later_hit_curve = _lower_where_one_word_differs(fit(later.features, later.relevant))
    answerable_curve = _fit_answerable_curve(first, sample.first_wrong_hits.select(query_mask))
    return FittedCurves(method, first_hit_curve, later_hit_curve, answerable_curve)


def _lower_where_one_word_differs(curve: LogisticCurve) -> Curve:
    """Return the curve times a factor from MIN_FACTOR to 1, by the sameness of both titles, and UNFAMILIAR_FACTOR."""
    scores = (MIN_FACTOR * FULL_SAMENESS, FULL_SAMENESS)
    same = IsotonicCurve(columns=(SAMENESS_COLUMN,), scores=scores, probabilities=(MIN_FACTOR, 1.0))
    familiar = IsotonicCurve(columns=(FAMILIAR_COLUMN,), scores=(0.0, 1.0), probabilities=(UNFAMILIAR_FACTOR, 1.0))
    return ProductCurve(curves=(curve, same, familiar))


def _fit_answerable_curve(first_hits: LabelledHits, first_wrong_hits: LabelledHits) -> Curve:
    """Fit the curve that separates first hits of queries with a duplicate from first hits of queries without one."""
    features = np.concatenate([first_hits.features, first_wrong_hits.features])
    has_duplicate = np.arange(len(features)) < len(first_hits.features)
    return logistic_fitter(range(len(FEATURES)))(features, has_duplicate)


def _held_out_loss(hits: LabelledHits, fit: CurveFitter, query_mask: Bools, fold_masks: Sequence[Bools]) -> float:
    """Return the log loss of the hits in each fold with a curve fitted on the other folds."""
    probabilities, labels = [], []
    for in_fold in fold_masks:
        fitted_on, held_out = hits.select(query_mask & ~in_fold), hits.select(in_fold)
        if len(fitted_on.relevant):
            probabilities.append(fit(fitted_on.features, fitted_on.relevant).predict(held_out.features))
            labels.append(held_out.relevant)
    return log_loss(np.concatenate(probabilities), np.concatenate(labels))


def _split_into_fold_masks(sample: CalibrationSample, query_mask: Bools, fold_count: int, seed: int) -> Iterator[Bools]:
    """Yield masks, (queries,), of folds of the queries in a mask; no cluster is in two folds."""
    index_of = {id: index for index, id in enumerate(sample.queries)}
    cluster_of = dict(zip(sample.queries, sample.clusters, strict=True))
    ids = [id for id, is_included in zip(sample.queries, query_mask, strict=True) if is_included]
    for fold in assign_folds(ids, cluster_of, fold_count, seed):
        mask = np.zeros(len(sample.queries), np.bool_)
        mask[[index_of[id] for id in fold]] = True
        yield mask


def _make_non_increasing(sample: CalibrationSample, first_probabilities: Floats, later_probabilities: Floats) -> Floats:
    """Return the later hits' probabilities, each at most that of the hit before it; rows are by query and rank."""
    lowest = np.ones(len(sample.queries))
    lowest[sample.first_hits.query_index] = first_probabilities
    limited = later_probabilities.copy()
    for row, query in enumerate(sample.later_hits.query_index.tolist()):
        lowest[query] = limited[row] = min(lowest[query], limited[row])
    return limited
