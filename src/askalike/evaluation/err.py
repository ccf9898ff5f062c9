"""Expected reciprocal rank (Chapelle et al. 2009, eq. 4), as computed by TREC's Perl script gdeval."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import ir_measures
from ir_measures import util
from ir_measures.providers import base

MAX_GRADE = 4
"""Higher grades count as this one: a reader stops at a document of grade g with P = (2^g − 1) / 2^MAX_GRADE."""

_untyped: Any = base
_converters: Any = util


class ExpectedReciprocalRank(_untyped.Provider):  # type: ignore[misc] # ir_measures has no types
    """Computes ERR, with or without a cut-off."""

    NAME = "askalike"
    SUPPORTED_MEASURES = [ir_measures.ERR(cutoff=_untyped.Any())]  # noqa: RUF012 (as ir_measures declares it)

    def __init__(self) -> None:
        super().__init__()

    def is_available(self) -> bool:
        """Return True: it has no dependencies."""
        return True

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> "_ErrEvaluator":
        return _ErrEvaluator(measures, _converters.QrelsConverter(qrels).as_dict_of_dict())


class _ErrEvaluator(_untyped.Evaluator):  # type: ignore[misc]
    def __init__(self, measures: Iterable[Any], qrels: Mapping[str, Mapping[str, int]]) -> None:
        super().__init__(measures, set(qrels))
        self.qrels = qrels

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        for query, scores in _converters.RunConverter(run).as_dict_of_dict().items():
            grades = self.qrels.get(query, {})
            gains = [grades.get(id, 0) for id, _ in sorted(scores.items(), key=lambda row: (-row[1], row[0]))]
            for measure in self.measures:
                depth = measure.params.get("cutoff")
                yield _converters.Metric(query, measure, expected_reciprocal_rank(gains[:depth]))


def expected_reciprocal_rank(grades: Iterable[int]) -> float:
    """Return Σ 1/r · P(the reader stops at rank r), for the grades of a query's documents in rank order."""
    total, still_reading = 0.0, 1.0
    for rank, grade in enumerate(grades, 1):
        stops = (2 ** min(max(grade, 0), MAX_GRADE) - 1) / 2**MAX_GRADE
        total += still_reading * stops / rank
        still_reading *= 1 - stops
    return total
