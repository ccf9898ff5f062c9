"""What an evaluation found out: per query, in the mean, how sure the mean is, and by which rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from askalike.errors import SettingsError
from askalike.evaluation.names import canonical_name
from askalike.evaluation.resampling import bootstrap_means, percentile_interval
from askalike.evaluation.tables import ResultTable

BOOTSTRAP_DRAWS = 2_000
BOOTSTRAP_SEED = 0


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Measures of one run, under the names they were asked for; every measured query has a value of each.

    `values`: measure → query id → value. `intervals`: measure → the mean's 95 % bootstrap interval over queries.
    `unanswered`: measured queries without hits. `unanswerable`: measured queries without a relevant document.
    `dropped`: queries of the judgements that the rule does not measure. `unjudged`: queries of the run that the
    judgements do not know. `self_hits`: hits dropped because they were the query itself.
    """

    rule: str
    describe: str
    values: Mapping[str, Mapping[str, float]]
    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    n: int
    unanswered: int
    unanswerable: int
    dropped: int
    unjudged: int
    self_hits: int

    def per_query(self, measure: str) -> Mapping[str, float]:
        """Query id → value of a measure, in whatever spelling. Raises SettingsError for one that was not measured."""
        wanted = canonical_name(measure)
        for name, values in self.values.items():
            if canonical_name(name) == wanted:
                return values
        raise SettingsError(f"measure {measure!r} was not evaluated; there are: {', '.join(self.values)}")

    def as_dict(self) -> dict[str, Any]:
        """Everything but the single queries, for JSON: numbers, texts and dictionaries of them."""
        measures = {
            name: {"mean": mean, "low": self.intervals[name][0], "high": self.intervals[name][1]}
            for name, mean in self.means.items()
        }
        return {"measures": measures, "n": self.n, **self._counts(), "rule": self.rule, "describe": self.describe}

    def table(self) -> ResultTable:
        """One row a measure, with the rule and the counts as notes."""
        counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in self._counts().items())
        rows = [
            (name, f"{mean:.4f}", "{:.4f} – {:.4f}".format(*self.intervals[name])) for name, mean in self.means.items()
        ]
        notes = (
            f"n = {self.n} queries ({counts})",
            self.describe,
            f"interval: bootstrap over queries, {BOOTSTRAP_DRAWS} draws",
        )
        return ResultTable("Evaluation", ("measure", "mean", "95 % interval"), rows, notes)

    def _counts(self) -> dict[str, int]:
        names = ("unanswered", "unanswerable", "dropped", "unjudged", "self_hits")
        return {name: getattr(self, name) for name in names}


def means_and_intervals(
    values: Mapping[str, Mapping[str, float]],
) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Each measure's mean over its queries and its 95 % bootstrap interval, from the same draws for every measure."""
    columns = np.array([list(of_query.values()) for of_query in values.values()]).T
    drawn = bootstrap_means(columns, BOOTSTRAP_DRAWS, BOOTSTRAP_SEED)
    means = {name: float(columns[:, i].mean()) for i, name in enumerate(values)}
    return means, {name: percentile_interval(drawn[:, i]) for i, name in enumerate(values)}
