"""The probability that two questions ask the same, from their similarity and the decisions of moderators.

A logistic curve over the similarity was fitted to pairs of three sites that were read one by one (see
`experiments/pairs.py`). The more questions an archive has, the more are similar by chance. The decisions on an
archive's pairs shift its curve, each from the first on.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from askalike.rankers import Ranker
from askalike.store import Archive
from askalike.store.candidate_pairs import read_decisions

INTERCEPT, SIMILARITY_WEIGHT, SIZE_WEIGHT = -9.58, 18.92, -0.77
"""Of the log odds: constant, per similarity of 1, and per factor e in the number of questions."""
SHIFT_SPREAD = 1.0
"""Standard deviation of the shift of the log odds that is expected before any decision."""
MIN_DECISIONS = 50
"""Number of decisions from which a probability is sure."""
MAX_STEPS = 50


class PairCurve(NamedTuple):
    """The curve of an archive. shift: of the log odds, by decisions."""

    questions: int
    shift: float = 0.0
    decisions: int = 0

    @property
    def is_sure(self) -> bool:
        """Whether enough pairs of the archive were decided."""
        return self.decisions >= MIN_DECISIONS

    def probability(self, similarity: float) -> float:
        """Return the probability that a pair of this similarity asks the same."""
        return _sigmoid(self._log_odds(similarity) + self.shift)

    def learn(self, decided: Sequence[tuple[float, bool]]) -> "PairCurve":
        """Return the curve after decisions: (similarity, whether the pair was accepted) of each.

        The shift is the most probable one, by Newton's method.
        """
        shift = 0.0
        odds = [(self._log_odds(similarity), accepted) for similarity, accepted in decided]
        for _ in range(MAX_STEPS if odds else 0):
            expected = [_sigmoid(base + shift) for base, _ in odds]
            gradient = sum(accepted - p for p, (_, accepted) in zip(expected, odds, strict=True))
            gradient -= shift / SHIFT_SPREAD**2
            step = gradient / (sum(p * (1 - p) for p in expected) + 1 / SHIFT_SPREAD**2)
            shift += step
            if abs(step) < 1e-9:
                break
        return self._replace(shift=shift, decisions=len(decided))

    def _log_odds(self, similarity: float) -> float:
        size = math.log(max(self.questions, 1))
        return INTERCEPT + SIMILARITY_WEIGHT * similarity + SIZE_WEIGHT * size


def fit_pair_curve(archive: Archive, ranker: Ranker) -> PairCurve:
    """Return the curve of an archive, with the decisions on pairs that this ranker proposed."""
    return PairCurve(len(archive.view())).learn(read_decisions(archive, ranker.name))


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-max(min(value, 500.0), -500.0)))
