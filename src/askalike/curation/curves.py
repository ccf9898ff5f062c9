"""Chooses and fits the curves from features to probability; by log loss on clusters that they were not fitted on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.archive.clusters import folds
from askalike.curation.hits import Rows, Sample
from askalike.engines._features import FEATURES, LIKENESS
from askalike.evaluation.curves import Curve, Floats, Product
from askalike.evaluation.fitting import Fit, isotonic, logistic, usual
from askalike.evaluation.prevalence import before
from askalike.evaluation.reliability import log_loss

OUTER, INNER = 5, 3
SETS = (
    ("score",),
    ("score", "length"),
    ("score", "length", "lead"),
    ("score", "length", "lead", "field"),
    ("score", "length", "shared", "overlap"),
    FEATURES,
)
WAYS: Mapping[str, Fit] = {
    f"logistic over {', '.join(names)}": logistic([FEATURES.index(name) for name in names]) for names in SETS
} | {"isotonic over score": isotonic(FEATURES.index("score"))}
Masks = Sequence[NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Curves:
    """The way that was chosen, the curve of first hits, and that of the hits after them.

    `known`: of a first hit, whether its query was asked before, where half of all were.
    """

    way: str
    first: Curve
    later: Curve
    known: Curve


@dataclass(frozen=True, slots=True)
class Predicted:
    """Probabilities of a sample's hits by curves that saw nothing of their clusters: (first hits,), (later hits,)."""

    first: Floats
    later: Floats
    fold: NDArray[np.int64]
    """(queries,): which fold each query is in."""
    ways: Sequence[str]
    """What each fold's other folds chose."""
    known: Floats
    """Of the first hits: whether the query was asked before, where half of all were."""
    absent: Floats
    """Of what is first where nothing is right: the probability to be right, where half of all were asked before."""

    def told(self, prevalence: float) -> Floats:
        """The first hits' probabilities where this share of the queries was asked before."""
        return self.first * before(self.known, prevalence)


def chosen(sample: Sample, seed: int = 0) -> Curves:
    """The curves for use: chosen by cross-validation over all of a sample, fitted on all of it."""
    everything = np.ones(len(sample.queries), np.bool_)
    return _curves(sample, everything, OUTER, seed)


def predicted(sample: Sample, seed: int = 0) -> Predicted:
    """Nested: each fold is predicted by curves that the other folds choose, by folds of their own, and fit."""
    first, later = np.zeros(len(sample.first.right)), np.zeros(len(sample.later.right))
    place = np.zeros(len(sample.queries), np.int64)
    known, absent = np.zeros(len(first)), np.zeros(len(sample.absent.right))
    ways = []
    for number, own in enumerate(_folds(sample, np.ones(len(sample.queries), np.bool_), OUTER, seed)):
        curves = _curves(sample, ~own, INNER, seed)
        first[own[sample.first.query]] = curves.first.at(sample.first.among(own).features)
        later[own[sample.later.query]] = curves.later.at(sample.later.among(own).features)
        known[own[sample.first.query]] = curves.known.at(sample.first.among(own).features)
        unseen = sample.absent.among(own).features
        absent[own[sample.absent.query]] = curves.first.at(unseen) * curves.known.at(unseen)
        place[own] = number
        ways.append(curves.way)
    return Predicted(first, _falling(sample, first, later), place, ways, known, absent)


def _curves(sample: Sample, queries: NDArray[np.bool_], parts: int, seed: int) -> Curves:
    """Chosen by so many folds of some of the queries, fitted on these."""
    masks = list(_folds(sample, queries, parts, seed))
    rows, later = sample.first.among(queries), sample.later.among(queries)
    way = min(WAYS, key=lambda name: _loss(sample.first, WAYS[name], queries, masks))
    first = WAYS[way](rows.features, rows.right)
    after = WAYS[way](later.features, later.right) if len(later.right) else first
    return Curves(way, first, after, _known(rows, sample.absent.among(queries)))


def _known(rows: Rows, absent: Rows) -> Curve:
    """Tells first hits of queries that were asked before from those that would be first if they had not been.

    All these queries belong here. One whose first hit is less like it than nearly all of theirs does not.
    """
    features = np.concatenate([rows.features, absent.features])
    asked = np.arange(len(features)) < len(rows.features)
    curve = logistic(range(len(FEATURES)))(features, asked)
    if np.isnan(features[:, LIKENESS]).any():
        return curve
    return Product(curves=(curve, usual(features, LIKENESS)))


def _loss(rows: Rows, fit: Fit, queries: NDArray[np.bool_], masks: Masks) -> float:
    """The log loss of rows that the curve was not fitted on."""
    probabilities, right = [], []
    for own in masks:
        known, asked = rows.among(queries & ~own), rows.among(own)
        if len(known.right):
            probabilities.append(fit(known.features, known.right).at(asked.features))
            right.append(asked.right)
    return log_loss(np.concatenate(probabilities), np.concatenate(right))


def _folds(sample: Sample, queries: NDArray[np.bool_], parts: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Masks, (queries,), of folds of some of the queries; no cluster is in two."""
    place = {id: number for number, id in enumerate(sample.queries)}
    cluster_of = dict(zip(sample.queries, sample.clusters, strict=True))
    ids = [id for id, asked in zip(sample.queries, queries, strict=True) if asked]
    for fold in folds(ids, cluster_of, parts, seed):
        mask = np.zeros(len(sample.queries), np.bool_)
        mask[[place[id] for id in fold]] = True
        yield mask


def _falling(sample: Sample, first: Floats, later: Floats) -> Floats:
    """The later hits' probabilities, none above that of a hit before it; rows are in the order of queries and ranks."""
    best = np.ones(len(sample.queries))
    best[sample.first.query] = first
    fallen = later.copy()
    for row, query in enumerate(sample.later.query.tolist()):
        best[query] = fallen[row] = min(best[query], fallen[row])
    return fallen
