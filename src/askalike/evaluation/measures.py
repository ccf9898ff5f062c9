"""The names of measures, and the measures that ir_measures lacks.

Names are written as in ir_measures; other common spellings are also read. SemEval's AP, RR and AvgRec are those of the
official scorer of SemEval-2016/2017 Task 3, over the first ten hits. Their functions take hits, bool (queries, 10):
whether each query's k-th hit is relevant; and relevant, int64 (queries,): the number of its relevant documents. They
return one value per query, float64 (queries,), whose mean is the scorer's figure.
"""

import re
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import ir_measures
import numpy as np
from ir_measures import util
from ir_measures.providers import FallbackProvider, base

from askalike.core.arrays import Bools, Floats, Ints
from askalike.core.errors import SettingsError

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


AVG_REC = "AvgRec"
FIRST_HIT_SUCCESS = "FHS"
"""First-hit success: the share of queries whose first hit is relevant, which is Success@1."""
MEASURES = (
    "AP", "RR", "P", "R", "nDCG", "Success", "Rprec", "Bpref", "infAP", "IPrec", "Judged", "SetP", "SetR",
    "SetF", "SetAP", "ERR", AVG_REC,
)  # fmt: skip
ALIASES = {"MAP": "AP", "MRR": "RR", "Accuracy": "Success", "Acc": "Success", "Precision": "P", "Recall": "R"}

TREC_EVAL_NAMES = {
    "map_cut": "AP", "ndcg_cut": "nDCG", "p": "P", "recall": "R", "success": "Success", "iprec_at_recall": "IPrec"
}  # fmt: skip
"""trec_eval's name before a cut-off, as in `ndcg_cut_10` or in the option `ndcg_cut.10` → the measure."""

SEMEVAL_DEPTH = 10
RANKS = np.arange(1, SEMEVAL_DEPTH + 1)


_SPELLINGS = {name.lower(): name for name in MEASURES} | {alias.lower(): name for alias, name in ALIASES.items()}
_SPELLINGS["recip_rank"] = "RR"
_TREC_EVAL_NAME = re.compile(rf"({'|'.join(TREC_EVAL_NAMES)})[_.]([0-9.]+)")
_NAME = re.compile(r"(\w+)(?:\((.*)\))?(?:@([0-9.]+))?")
_PROVIDERS: Sequence[ir_measures.Provider] = (
    ir_measures.pytrec_eval, ir_measures.judged, ir_measures.msmarco, ExpectedReciprocalRank()
)  # fmt: skip
CALCULATOR = FallbackProvider(_PROVIDERS)  # type: ignore[no-untyped-call]
"""Computes every measure that `parse_measure` returns."""


def canonical_name(name: str) -> str:
    """Return the measure's name in ir_measures: `map` → `AP`, `Accuracy@1` and `FHS` → `Success@1`.

    Raises SettingsError for an unknown name, and for a cut-off or parameter that is not allowed or is missing.
    """
    if name.strip().lower() == FIRST_HIT_SUCCESS.lower():
        return "Success@1"
    return AVG_REC if name.strip().lower() == AVG_REC.lower() else str(parse_measure(name))


def parse_cutoff(name: str) -> int | None:
    """Return a measure's cut-off: 10 for `Success@10`, None without one. Raises like `canonical_name`."""
    _, at, depth = canonical_name(name).rpartition("@")
    return int(depth) if at and depth.isdigit() else None


def parse_measure(name: str) -> ir_measures.Measure:
    """Return the ir_measures object for a measure in any spelling, except AvgRec and FHS.

    Raises like `canonical_name`. ir_measures' own parser needs a part of `ast` that was removed in Python 3.14.
    """
    if trec_eval := _TREC_EVAL_NAME.fullmatch(name.strip().lower()):
        return parse_measure(f"{TREC_EVAL_NAMES[trec_eval[1]]}@{trec_eval[2]}")
    match = _NAME.fullmatch(name.strip())
    base = _SPELLINGS.get(match[1].lower()) if match else None
    if match is None or base is None:
        aliases = ", ".join(f"{alias} (= {canonical})" for alias, canonical in ALIASES.items())
        known = f"{', '.join(MEASURES)}, {FIRST_HIT_SUCCESS}, {aliases}; with a cut-off as in P@5"
        raise SettingsError(f"no measure is called {name!r}; there are: {known}")
    measure = _build_measure(base, match[2], match[3])
    if measure is None:
        raise SettingsError(f"measure {name!r}: its cut-off or parameters are wrong or missing; expected as in P@5")
    return measure


def average_precision(hits: Bools, relevant: Ints) -> Floats:
    """Return the mean of the precisions at the retrieved relevant hits; 0 without any."""
    precisions = hits * (hits.cumsum(axis=1) / RANKS)
    return np.asarray(precisions.sum(axis=1) / np.maximum(hits.sum(axis=1), 1))


def reciprocal_rank(hits: Bools, relevant: Ints) -> Floats:
    """Return 100 / the rank of the first relevant hit; 0 without one."""
    return np.asarray(100 * (hits / RANKS).max(axis=1))


def average_recall(hits: Bools, relevant: Ints) -> Floats:
    """Return each query's part of AvgRec, the mean over k = 1…10 of R_k = Σ retrieved by k / Σ min(k, relevant).

    Both sums are over queries, so AvgRec is a mean of ratios of sums and not a mean over queries. A query's value
    is AvgRec plus n times the query's influence on it, (retrieved − R_k · possible) / Σ possible. The mean of the
    values is AvgRec, and their spread estimates that of AvgRec over samples of queries (the delta method). A single
    value may lie outside 0…1.
    """
    retrieved = hits.cumsum(axis=1)
    possible = np.minimum(RANKS, relevant[:, None])
    total = np.maximum(possible.sum(axis=0), 1)
    ratio = retrieved.sum(axis=0) / total
    return np.asarray((ratio + (retrieved - ratio * possible) / total * len(hits)).mean(axis=1))


def _build_measure(base: str, parameters: str | None, cutoff: str | None) -> ir_measures.Measure | None:
    """Return the measure, None if no installed provider computes it."""
    try:
        pairs = [pair.split("=") for pair in (parameters or "").split(",") if pair]
        measure = getattr(ir_measures, base, None)
        if measure is None or cutoff == "0":
            return None
        measure = measure(**{key.strip(): literal_eval(value.strip()) for key, value in pairs})
        measure = measure @ literal_eval(cutoff) if cutoff else measure
        return measure if any(provider.supports(measure) for provider in _PROVIDERS) else None
    except (ValueError, TypeError, SyntaxError, AssertionError):
        return None
