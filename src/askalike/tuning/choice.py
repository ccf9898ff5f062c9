"""Which candidate is chosen by a table of values: the simplest that no other beats significantly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.evaluation.resampling import bootstrap_means, max_sum_p, percentile_interval, sign_flip_p
from askalike.evaluation.significance import ALPHA, RESAMPLING_DRAWS, RESAMPLING_SEED
from askalike.tuning.candidates import PRETRAINED_RANKER, Candidate, Trial

Floats = NDArray[np.float64]
QueryValues = Mapping[str, float]
"""Query → the measure."""


@dataclass(frozen=True, slots=True)
class EvaluatedTrial:
    """A trial of a candidate with what it is worth on each query."""

    candidate: Candidate
    trial: Trial
    values: QueryValues
    reported_values: QueryValues
    """The measure that is told beside."""

    def mean(self, queries: Sequence[str]) -> float:
        """Over some of the queries."""
        return float(np.mean([self.values[q] for q in queries]))


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of first minus second over n queries, its 95 % interval, and p (two-sided, paired randomisation)."""

    mean: float
    low: float
    high: float
    p: float
    n: int

    @property
    def better(self) -> bool:
        """Whether the first is significantly better."""
        return self.mean > 0 and self.p < ALPHA

    @property
    def worse(self) -> bool:
        """Whether the first is significantly worse."""
        return self.mean < 0 and self.p < ALPHA


def paired_difference(first: QueryValues, second: QueryValues) -> PairedDifference:
    """First minus second, on the queries of both."""
    of_query = np.array([[first[q] - second[q]] for q in sorted(first.keys() & second.keys())])
    low, high = percentile_interval(bootstrap_means(of_query, RESAMPLING_DRAWS, RESAMPLING_SEED)[:, 0])
    return PairedDifference(
        float(of_query.mean()),
        low,
        high,
        float(sign_flip_p(of_query, RESAMPLING_DRAWS, RESAMPLING_SEED)[0]),
        len(of_query),
    )


def choose(trials: Sequence[EvaluatedTrial], queries: Sequence[str]) -> EvaluatedTrial:
    """The simplest level's best entry that beats words significantly and that no other such one beats; else words.

    A hybrid competes only over the lexical ranker that these queries choose. Ties go to what was tried first. Where a
    pre-trained encoder beats words, what is simpler has to be as good on average as what that encoder brings, alone or
    in a hybrid: that it is not beaten significantly says little of few queries.
    """
    words = choose_lexical(trials, queries)
    others = [e for e in trials if not e.candidate.is_lexical and e.candidate.lexical_base in (None, words.trial)]
    levels = _group_by_level(others)
    own = _value_matrix([words], queries)[:, 0]
    better = [of_level for of_level in levels if beats_significantly(_value_matrix(of_level, queries), own)]
    if not better:
        return words
    simplest = _simplest_unbeaten(better, queries)
    encoder = next((e for of_level in better for e in of_level if e.trial.ranker == PRETRAINED_RANKER), None)
    if encoder is None:
        return simplest
    brought = _simplest_unbeaten(
        [of_level for of_level in better if of_level[0].candidate.level >= encoder.candidate.level], queries
    )
    return simplest if simplest.mean(queries) >= brought.mean(queries) else brought


def choose_lexical(trials: Sequence[EvaluatedTrial], queries: Sequence[str]) -> EvaluatedTrial:
    """The simplest lexical entry that no other lexical one beats significantly on the queries."""
    return _simplest_unbeaten(_group_by_level([e for e in trials if e.candidate.is_lexical]), queries)


def best_lexical(trials: Sequence[EvaluatedTrial], queries: Sequence[str]) -> EvaluatedTrial:
    """The lexical entry with the highest mean on the queries: what a ranker has to beat."""
    return _best_trial([e for e in trials if e.candidate.is_lexical], queries)


def _group_by_level(trials: Sequence[EvaluatedTrial]) -> Sequence[Sequence[EvaluatedTrial]]:
    """The entries level by level, the simplest first."""
    levels = sorted({e.candidate.level for e in trials})
    return [[e for e in trials if e.candidate.level == level] for level in levels]


def _best_trial(trials: Sequence[EvaluatedTrial], queries: Sequence[str]) -> EvaluatedTrial:
    return max(trials, key=lambda entry: entry.mean(queries))


def _simplest_unbeaten(levels: Sequence[Sequence[EvaluatedTrial]], queries: Sequence[str]) -> EvaluatedTrial:
    """The best entry of the first level whose best no other level beats."""
    tables = [_value_matrix(of_level, queries) for of_level in levels]
    for n, of_level in enumerate(levels):
        best = _best_trial(of_level, queries)
        own = np.array([best.values[q] for q in queries])
        if not any(beats_significantly(table, own) for other, table in enumerate(tables) if other != n):
            return best
    return max((_best_trial(of_level, queries) for of_level in levels), key=lambda entry: entry.mean(queries))


def _value_matrix(trials: Sequence[EvaluatedTrial], queries: Sequence[str]) -> Floats:
    return np.array([[e.values[q] for e in trials] for q in queries])


def beats_significantly(candidate_values: Floats, baseline_values: Floats) -> bool:
    """Whether the best of some trials, (queries, trials), is significantly greater than another ranker, (queries,).

    The best of many looks better than it is: random signs show how good the best of so many would be by chance
    (Westfall and Young 1993), each trial's sum in units of its own spread.
    """
    differences = candidate_values - baseline_values[:, None]
    spread = np.sqrt((differences**2).sum(0))
    differences = differences[:, spread > 0] / spread[spread > 0]
    if not differences.size or differences.sum(0).max() <= 0:
        return False
    return float(max_sum_p(differences, RESAMPLING_DRAWS, RESAMPLING_SEED)) < ALPHA / 2
