"""Calibrations of archives with several groups, such as CQADupStack's forums, which have equal weights in averages."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from askalike.calibration.curves import Bools
from askalike.calibration.reliability import Reliability, measure_reliability, resample_clusters, skill_of_means
from askalike.core.types import Floats
from askalike.evaluation.intervals import percentile_interval

GroupHits = tuple[Floats, Bools, Sequence[str]]
"""Probabilities of a group's hits, whether each is right, and its cluster, each (n,)."""


@dataclass(frozen=True, slots=True)
class GroupAverages:
    """Measurements of each group, and the means over groups.

    base_rate: the share of hits that are right. skill: Brier skill against each group's own base rate. Their 95 %
    intervals are by bootstrap over clusters within their group. error: the calibration error.
    """

    groups: Mapping[str, Reliability]
    base_rate: float
    base_rate_interval: tuple[float, float]
    skill: float
    skill_interval: tuple[float, float]
    error: float

    @classmethod
    def measure(cls, groups: Mapping[str, GroupHits], seed: int = 0) -> Self:
        """Measure groups with at least one hit."""
        measured = {name: measure_reliability(*hits, seed) for name, hits in groups.items()}
        drawn = [resample_clusters(*hits, seed + number) for number, hits in enumerate(groups.values())]

        def mean(name: str) -> float:
            return float(np.mean([getattr(each, name) for each in measured.values()]))

        rates = np.mean([means[:, 1] / means[:, 0] for means in drawn], axis=0)
        skills = np.mean([skill_of_means(means) for means in drawn], axis=0)
        rate, skill = (mean("base_rate"), percentile_interval(rates)), (mean("skill"), percentile_interval(skills))
        return cls(measured, *rate, *skill, mean("error"))

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return asdict(self)
