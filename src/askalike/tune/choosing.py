"""Which candidate is chosen by a table of values: the simplest that no other beats significantly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.evaluation.resampling import bootstrap_means, greatest_p, interval, sign_flip_p
from askalike.evaluation.significance import ALPHA, DRAWS, SEED
from askalike.tune.candidates import TUNED, Candidate, Trial

Floats = NDArray[np.float64]
Values = Mapping[str, float]
"""Query → the measure."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A trial of a candidate with what it is worth on each query."""

    candidate: Candidate
    trial: Trial
    values: Values

    def mean(self, queries: Sequence[str]) -> float:
        """Over some of the queries."""
        return float(np.mean([self.values[q] for q in queries]))


@dataclass(frozen=True, slots=True)
class Difference:
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


def difference(first: Values, second: Values) -> Difference:
    """First minus second, on the queries of both."""
    of_query = np.array([[first[q] - second[q]] for q in sorted(first.keys() & second.keys())])
    low, high = interval(bootstrap_means(of_query, DRAWS, SEED)[:, 0])
    return Difference(float(of_query.mean()), low, high, float(sign_flip_p(of_query, DRAWS, SEED)[0]), len(of_query))


def chosen(entries: Sequence[Entry], queries: Sequence[str]) -> Entry:
    """The simplest level's best entry that no other level's best beats significantly on the queries.

    Lexical ones compete among themselves alone, a hybrid only over the lexical ranker that these queries choose. Ties
    go to what was tried first.
    """
    words = chosen_lexical(entries, queries)
    able = [e for e in entries if e.candidate.base is None or e.candidate.base == words.trial]
    best = _simplest(able, queries)
    return words if best.candidate.lexical else best


def chosen_lexical(entries: Sequence[Entry], queries: Sequence[str]) -> Entry:
    """The simplest lexical entry that no other lexical one beats significantly on the queries."""
    return _simplest([e for e in entries if e.candidate.lexical], queries)


def best_lexical(entries: Sequence[Entry], queries: Sequence[str]) -> Entry:
    """The lexical entry with the highest mean on the queries: what a ranker has to beat."""
    return max((e for e in entries if e.candidate.level <= TUNED), key=lambda e: e.mean(queries))


def _simplest(entries: Sequence[Entry], queries: Sequence[str]) -> Entry:
    levels = sorted({entry.candidate.level for entry in entries})
    table = {level: _values([e for e in entries if e.candidate.level == level], queries) for level in levels}
    for level in levels:
        best = max((e for e in entries if e.candidate.level == level), key=lambda e: e.mean(queries))
        own = np.array([best.values[q] for q in queries])
        if not any(beats(table[other], own) for other in levels if other != level):
            return best
    raise ValueError("the level with the greatest mean is beaten by none")  # pragma: no cover


def _values(entries: Sequence[Entry], queries: Sequence[str]) -> Floats:
    return np.array([[e.values[q] for e in entries] for q in queries])


def beats(trials: Floats, own: Floats) -> bool:
    """Whether the best of some trials, (queries, trials), is significantly greater than another ranker, (queries,).

    The best of many looks better than it is: random signs show how good the best of so many would be by chance
    (Westfall and Young 1993), each trial's sum in units of its own spread.
    """
    differences = trials - own[:, None]
    spread = np.sqrt((differences**2).sum(0))
    differences = differences[:, spread > 0] / spread[spread > 0]
    if not differences.size or differences.sum(0).max() <= 0:
        return False
    return float(greatest_p(differences, DRAWS, SEED)) < ALPHA / 2
