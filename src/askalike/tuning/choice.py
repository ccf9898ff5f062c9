"""Which candidate is chosen by a table of values: the simplest that no other beats significantly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askalike.evaluation.resampling import bootstrap_means, max_sum_p, percentile_interval, sign_flip_p
from askalike.evaluation.significance import ALPHA, RESAMPLING_DRAWS, RESAMPLING_SEED
from askalike.experiments.measuring import LEADING_MEASURE
from askalike.experiments.trials import QueryValues, Trial, TrialValues
from askalike.tuning.candidates import PRETRAINED_RANKER, Candidate

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EvaluatedTrial:
    """A trial of a candidate with its values, by the measure that chooses and by LEADING_MEASURE, which is reported."""

    candidate: Candidate
    trial: Trial
    values: QueryValues
    reported_values: QueryValues

    @classmethod
    def from_values(cls, candidate: Candidate, trial: Trial, measure: str, values: TrialValues) -> Self:
        """Return a trial with what it is worth by the measure that chooses and by LEADING_MEASURE."""
        return cls(candidate, trial, values[measure], values[LEADING_MEASURE])

    def mean(self, queries: Sequence[str]) -> float:
        """Return the mean over some of the queries."""
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
    """Return first minus second, on the queries of both."""
    differences = np.array([[first[q] - second[q]] for q in sorted(first.keys() & second.keys())])
    low, high = percentile_interval(bootstrap_means(differences, RESAMPLING_DRAWS, RESAMPLING_SEED)[:, 0])
    p = float(sign_flip_p(differences, RESAMPLING_DRAWS, RESAMPLING_SEED)[0])
    return PairedDifference(float(differences.mean()), low, high, p, len(differences))


def choose(trials: Sequence[EvaluatedTrial], queries: Sequence[str]) -> EvaluatedTrial:
    """Return the best trial of the simplest level that beats the lexical choice significantly and is not beaten itself.

    A hybrid competes only if its lexical base is the lexical choice of these queries. Ties go to what was tried first.
    Where a pre-trained encoder beats the lexical choice, a simpler trial has to be as good on average as what that
    encoder brings, alone or in a hybrid: on few queries, not to be beaten significantly says little. Where nothing
    beats the lexical choice, it is the choice.
    """
    lexical = choose_lexical(trials, queries)
    others = [e for e in trials if not e.candidate.is_lexical and e.candidate.lexical_base in (None, lexical.trial)]
    baseline = _value_matrix([lexical], queries)[:, 0]
    levels = _group_by_level(others)
    better = [level for level in levels if beats_significantly(_value_matrix(level, queries), baseline)]
    if not better:
        return lexical
    simplest = _simplest_unbeaten(better, queries)
    encoder = next((e for level in better for e in level if e.trial.ranker == PRETRAINED_RANKER), None)
    if encoder is None:
        return simplest
    with_encoder = [level for level in better if level[0].candidate.level >= encoder.candidate.level]
    encoder_choice = _simplest_unbeaten(with_encoder, queries)
    return simplest if simplest.mean(queries) >= encoder_choice.mean(queries) else encoder_choice


def choose_lexical(trials: Sequence[EvaluatedTrial], queries: Sequence[str]) -> EvaluatedTrial:
    """Return the simplest lexical trial that no other lexical one beats significantly on the queries."""
    return _simplest_unbeaten(_group_by_level([e for e in trials if e.candidate.is_lexical]), queries)


def best_lexical(trials: Sequence[EvaluatedTrial], queries: Sequence[str]) -> EvaluatedTrial:
    """Return the lexical trial with the highest mean on the queries: the one that any other has to beat."""
    return _best_trial([e for e in trials if e.candidate.is_lexical], queries)


def beats_significantly(candidate_values: Floats, baseline_values: Floats) -> bool:
    """Return whether the best of some trials is significantly greater than another ranker.

    candidate_values: (queries, trials). baseline_values: (queries,). The best of many looks better than it is: random
    signs show how good the best of so many would be by chance (Westfall and Young 1993), each trial's sum in units of
    its own spread.
    """
    differences = candidate_values - baseline_values[:, None]
    spread = np.sqrt((differences**2).sum(0))
    differences = differences[:, spread > 0] / spread[spread > 0]
    if not differences.size or differences.sum(0).max() <= 0:
        return False
    return float(max_sum_p(differences, RESAMPLING_DRAWS, RESAMPLING_SEED)) < ALPHA / 2


def _group_by_level(trials: Sequence[EvaluatedTrial]) -> Sequence[Sequence[EvaluatedTrial]]:
    """Return the trials of each level, the simplest level first."""
    levels = sorted({e.candidate.level for e in trials})
    return [[e for e in trials if e.candidate.level == level] for level in levels]


def _best_trial(trials: Sequence[EvaluatedTrial], queries: Sequence[str]) -> EvaluatedTrial:
    return max(trials, key=lambda entry: entry.mean(queries))


def _simplest_unbeaten(levels: Sequence[Sequence[EvaluatedTrial]], queries: Sequence[str]) -> EvaluatedTrial:
    """Return the best trial of the first level that no other level beats; the best of all where each is beaten."""
    tables = [_value_matrix(level, queries) for level in levels]
    for n, level in enumerate(levels):
        best = _best_trial(level, queries)
        best_values = np.array([best.values[q] for q in queries])
        if not any(beats_significantly(table, best_values) for other, table in enumerate(tables) if other != n):
            return best
    return max((_best_trial(level, queries) for level in levels), key=lambda entry: entry.mean(queries))


def _value_matrix(trials: Sequence[EvaluatedTrial], queries: Sequence[str]) -> Floats:
    """Return the values as (queries, trials)."""
    return np.array([[e.values[q] for e in trials] for q in queries])
