"""The agreement between predicted and measured performance: rank correlation over queries."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from askalike.core.counts import format_count
from askalike.core.types import Floats, Question
from askalike.evaluation.outcome import BOOTSTRAP_DRAWS, BOOTSTRAP_SEED
from askalike.evaluation.resampling import bootstrap_taus, percentile_interval
from askalike.evaluation.tables import ResultTable
from askalike.experiments.predictors import PREDICTORS, predict_performance
from askalike.labels.splits import load_split, split_groups
from askalike.rankers import Ranker, open_current
from askalike.store import Archive


@dataclass(frozen=True, slots=True)
class PredictorCorrelation:
    """Kendall's tau-b of a predictor with a measure, its 95 % interval over queries, and Pearson's r."""

    name: str
    tau: float
    low: float
    high: float
    pearson: float


@dataclass(frozen=True, slots=True)
class PredictionReport:
    """The correlation of each predictor with a ranker's performance over n queries.

    ms_per_query: processor time per query, of retrieval and all predictors.
    """

    measure: str
    n: int
    ms_per_query: float
    predictors: Sequence[PredictorCorrelation]

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return asdict(self)

    def table(self) -> ResultTable:
        """Return one row per predictor."""
        rows = [
            (p.name, f"{p.tau:+.3f}", f"{p.low:+.3f} – {p.high:+.3f}", f"{p.pearson:+.3f}") for p in self.predictors
        ]
        notes = (
            f"correlation of each predictor with {self.measure} over {format_count(self.n, 'query')}",
            f"interval: bootstrap over queries, {BOOTSTRAP_DRAWS} draws",
            f"{self.ms_per_query:.1f} ms of processor time a query, all predictors and the retrieval together",
        )
        return ResultTable(
            "Performance prediction", ("predictor", "Kendall τ", "95 % interval", "Pearson r"), rows, notes
        )


def measure_prediction(
    archive: Archive, ranker: Ranker, split_name: str, measure: str, values: Mapping[str, float]
) -> PredictionReport:
    """Correlate all predictors with a measure. values: query id → the measure's value.

    Raises SettingsError for a ranker that does not rank questions by their words.
    """
    queries = {id: query for id, query in load_split(archive, split_name).queries.items() if id in values}
    predicted, seconds = _predict_groups(archive, ranker, split_name, queries)
    measured = np.array([values[id] for id in queries])
    rows = [_correlate(name, np.array([by_id[id] for id in queries]), measured) for name, by_id in predicted.items()]
    return PredictionReport(measure, len(queries), 1000 * seconds / max(len(queries), 1), rows)


def _predict_groups(
    archive: Archive, ranker: Ranker, split_name: str, queries: Mapping[str, Question]
) -> tuple[Mapping[str, Mapping[str, float]], float]:
    """Return predictor → query id → value, predicted within the query's group, and the processor time in seconds."""
    predicted: dict[str, dict[str, float]] = {name: {} for name in PREDICTORS}
    seconds = 0.0
    for group, part in split_groups(archive, load_split(archive, split_name)):
        searcher = open_current(ranker, archive.view(group=group or None))
        start = time.process_time()
        group_values = predict_performance(searcher, {id: query for id, query in queries.items() if id in part.queries})
        seconds += time.process_time() - start
        for name, values in group_values.items():
            predicted[name] |= values
    return predicted, seconds


def _correlate(name: str, predicted: Floats, measured: Floats) -> PredictorCorrelation:
    """Return the correlations; 0 if all values of one are equal."""
    from scipy.stats import kendalltau

    taus = bootstrap_taus(predicted, measured, BOOTSTRAP_DRAWS, BOOTSTRAP_SEED)
    tau = float(np.nan_to_num(kendalltau(predicted, measured).statistic))
    is_constant = not (np.ptp(predicted) and np.ptp(measured))
    pearson = 0.0 if is_constant else float(np.corrcoef(predicted, measured)[0, 1])
    return PredictorCorrelation(name, tau, *percentile_interval(taus), pearson)
