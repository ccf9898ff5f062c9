"""The macro average over groups that are measured apart, as CQADupStack's forums: every group counts the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from askalike.evaluation.outcome import BOOTSTRAP_DRAWS, BOOTSTRAP_SEED, Evaluation
from askalike.evaluation.resampling import bootstrap_means, percentile_interval
from askalike.evaluation.tables import ResultTable


@dataclass(frozen=True, slots=True)
class MacroEvaluation:
    """Evaluations of several groups by the same measures and rule, in a fixed order."""

    groups: Mapping[str, Evaluation]

    @property
    def n(self) -> int:
        """How many queries counted, over all groups."""
        return sum(e.n for e in self.groups.values())

    @property
    def means(self) -> Mapping[str, float]:
        """Measure → the mean of the groups' means."""
        first = next(iter(self.groups.values()))
        return {m: float(np.mean([e.means[m] for e in self.groups.values()])) for m in first.means}

    @property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """Measure → 95 % bootstrap interval of the macro average, queries drawn within their group."""
        return {
            m: percentile_interval(np.mean([_bootstrap_group_means(e, m) for e in self.groups.values()], axis=0))
            for m in self.means
        }

    def as_dict(self) -> dict[str, Any]:
        """The macro average, and each group's measures."""
        measures = {m: dict(zip(("low", "high"), self.intervals[m], strict=True)) for m in self.means}
        averages = {m: {"mean": mean, **measures[m]} for m, mean in self.means.items()}
        groups = {name: e.as_dict() for name, e in self.groups.items()}
        return {"measures": averages, "n": self.n, "average": "macro", "groups": groups}

    def table(self) -> ResultTable:
        """A row a group, then the macro average with its intervals."""
        names = list(self.means)
        rows = [[g, str(e.n), *(f"{e.means[m]:.4f}" for m in names)] for g, e in self.groups.items()]
        bounds = [f"{low:.4f}–{high:.4f}" for low, high in self.intervals.values()]
        total = [
            ["macro average", str(self.n), *(f"{self.means[m]:.4f}" for m in names)],
            ["95 % interval", "", *bounds],
        ]
        first = next(iter(self.groups.values()))
        notes = (
            f"macro average: the mean of {len(self.groups)} groups, each ranked within itself",
            first.describe,
            f"interval: bootstrap over queries within their group, {BOOTSTRAP_DRAWS} draws",
        )
        return ResultTable("Evaluation", ("group", "n", *names), [*rows, *total], notes)


def _bootstrap_group_means(evaluation: Evaluation, measure: str) -> Any:
    values = np.array([list(evaluation.values[measure].values())]).T
    return bootstrap_means(values, BOOTSTRAP_DRAWS, BOOTSTRAP_SEED)[:, 0]
