"""What an experiment found out: every system's runs and measures, ready to be compared, written and shown."""

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
    """One system run once, with one seed."""

    run: Run
    evaluation: Evaluation
    seconds: float
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    """What else is told of it: name → value (`experiment.beside`)."""


@dataclass(frozen=True, slots=True)
class SystemResult:
    """One row of an experiment's table. `settings` are the resolved ones, tuned values included."""

    label: str
    ranker: str
    settings: Mapping[str, Any]
    seed_results: Mapping[int, SeedResult]
    """Seed → trial; a system without chance has one."""
    tuned: Mapping[str, Any] = field(default_factory=dict)
    """What tuning chose, and the value it was chosen by: `{"k1": 0.9, "Success@10 on dev (n = 50)": 0.31}`.

    Empty where nothing was tuned.
    """

    def mean(self, measure: str) -> float:
        """The mean over queries and seeds."""
        return fmean(self._means(measure))

    def sd(self, measure: str) -> float | None:
        """The standard deviation of the seeds' means; None where there is one seed."""
        return stdev(self._means(measure)) if len(self.seed_results) > 1 else None

    def interval(self, measure: str) -> tuple[float, float]:
        """The mean's 95 % interval: a bootstrap over queries; with several seeds, Welch's t over queries and seeds."""
        evaluations = [trial.evaluation for trial in self.seed_results.values()]
        if len(evaluations) == 1:
            return evaluations[0].intervals[measure]
        values = [evaluation.values[measure] for evaluation in evaluations]
        return interval_over_seeds(np.array([[of_seed[query] for query in values[0]] for of_seed in values]))

    def diagnostics(self) -> Mapping[str, tuple[float, float | None]]:
        """Name → mean and standard deviation over seeds (None for one seed) of what is told beside the measures."""
        found: dict[str, list[float]] = {}
        for trial in self.seed_results.values():
            for name, value in trial.diagnostics.items():
                found.setdefault(name, []).append(value)
        return {n: (fmean(values), stdev(values) if len(values) > 1 else None) for n, values in found.items()}

    def _means(self, measure: str) -> list[float]:
        return [trial.evaluation.means[measure] for trial in self.seed_results.values()]


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """One experiment, whole."""

    title: str
    folder: Path
    """Where it is kept: the folder that reproduces it."""
    archive: Path
    split: str
    labels: Split
    measures: Sequence[str]
    rule: str
    systems: Sequence[SystemResult]
    comparisons: Mapping[str, Comparison]
    """Measure → every pair of systems compared; empty with one system."""
    findings: Sequence[Finding] = ()
    """What the check of the archive found before it began."""
    paper: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """System label → measure → the paper's value, as a share of 1."""
    known_differences: Sequence[str] = ()
    """Differences from the paper that are known of."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Versions, data hash, commit, seeds, wall time."""
    task: Literal["questions", "answers"] = "questions"
    """What was ranked."""
    samples: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    """System label → what it wrote with the first seed: `question`, `written`, `right`."""
    typing: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """The typing curve: system label → share of the question's words ("0.25") → measure → mean."""
