"""The result of an experiment: every system's runs and measures, ready to be compared, written and shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal

import numpy as np

from askalike.evaluation.comparison import Comparison
from askalike.evaluation.outcome import Evaluation
from askalike.evaluation.significance import interval_over_seeds
from askalike.health.findings import Finding
from askalike.types import Run, Split


@dataclass(frozen=True, slots=True)
class SeedResult:
    """One system run once, with one seed. diagnostics: the name → value of `experiments.answer_measures`."""

    run: Run
    evaluation: Evaluation
    seconds: float
    diagnostics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SystemResult:
    """One row of an experiment's table.

    settings: the resolved ones, tuned values included. seed_results: seed → result; a system that is not random has
    one. tuned: what tuning chose, and the value that it was chosen by, as in
    `{"k1": 0.9, "Success@10 on dev (n = 50)": 0.31}`; empty where nothing was tuned.
    """

    label: str
    ranker: str
    settings: Mapping[str, Any]
    seed_results: Mapping[int, SeedResult]
    tuned: Mapping[str, Any] = field(default_factory=dict)

    def mean(self, measure: str) -> float:
        """Return the mean over queries and seeds."""
        return fmean(self._means(measure))

    def sd(self, measure: str) -> float | None:
        """Return the standard deviation of the seeds' means; None with one seed."""
        return stdev(self._means(measure)) if len(self.seed_results) > 1 else None

    def interval(self, measure: str) -> tuple[float, float]:
        """Return the mean's 95 % interval: a bootstrap over queries; with several seeds, Welch's t over both."""
        evaluations = [result.evaluation for result in self.seed_results.values()]
        if len(evaluations) == 1:
            return evaluations[0].intervals[measure]
        values = [evaluation.values[measure] for evaluation in evaluations]
        return interval_over_seeds(np.array([[of_seed[query] for query in values[0]] for of_seed in values]))

    def diagnostics(self) -> Mapping[str, tuple[float, float | None]]:
        """Return the mean and standard deviation over seeds (None with one seed) of each diagnostic value."""
        values_of: dict[str, list[float]] = {}
        for result in self.seed_results.values():
            for name, value in result.diagnostics.items():
                values_of.setdefault(name, []).append(value)
        return {name: (fmean(values), stdev(values) if len(values) > 1 else None) for name, values in values_of.items()}

    def _means(self, measure: str) -> list[float]:
        return [result.evaluation.means[measure] for result in self.seed_results.values()]


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """A whole experiment.

    folder: the folder that reproduces it. comparisons: measure → the comparison of every pair of systems; empty with
    one system. findings: those of the check of the archive before the experiment began. paper: system label → measure
    → the paper's value, as a share of 1. known_differences: known differences from the paper. provenance: versions,
    data hash, commit, seeds, times. task: what was ranked. samples: system label → the answers that it wrote with the
    first seed, as `question`, `written` and `right`. typing: the typing curve, system label → share of the question's
    words ("0.25") → measure → mean.
    """

    title: str
    folder: Path
    archive: Path
    split: str
    labels: Split
    measures: Sequence[str]
    rule: str
    systems: Sequence[SystemResult]
    comparisons: Mapping[str, Comparison]
    findings: Sequence[Finding] = ()
    paper: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    known_differences: Sequence[str] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    task: Literal["questions", "answers"] = "questions"
    samples: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    typing: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
