"""The result of an experiment: every system's runs and measures, their comparisons, as a table and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal

import numpy as np

from askalike import Run, Split
from askalike.plugin.commands import format_count
from askalike.plugin.measuring import (
    BOOTSTRAP_DRAWS,
    LEAK_CHECKS,
    Comparison,
    Evaluation,
    Finding,
    ResultTable,
    TableCell,
    group_column,
    interval_over_seeds,
)


@dataclass(frozen=True, slots=True)
class SeedResult:
    """One run of a system, with one seed. diagnostics: name → value, from `answer_measures`.

    cost: `ms_per_query`, the processor time of ranking all queries together divided by their number; `index_bytes`.
    """

    run: Run
    evaluation: Evaluation
    seconds: float
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    cost: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SystemResult:
    """One row of an experiment's table.

    settings: the resolved ones, including tuned values. seed_results: one if the system is not random. tuned: the
    tuned settings, and the value they reached, as in `{"k1": 0.9, "Success@10 on dev (n = 50)": 0.31}`.
    trained_on, may_have_seen: the experiment's declaration of the system's training data and this archive.
    remark: how many measured queries were also used to choose its settings; "" if none.
    """

    label: str
    ranker: str
    settings: Mapping[str, Any]
    seed_results: Mapping[int, SeedResult]
    tuned: Mapping[str, Any] = field(default_factory=dict)
    trained_on: str = ""
    may_have_seen: bool = False
    remark: str = ""

    def mean(self, measure: str) -> float:
        """Return the mean over queries and seeds."""
        return fmean(self._means(measure))

    def sd(self, measure: str) -> float | None:
        """Return the standard deviation of the seeds' means; None with one seed."""
        return stdev(self._means(measure)) if len(self.seed_results) > 1 else None

    def interval(self, measure: str) -> tuple[float, float]:
        """Return the mean's 95 % interval: by bootstrap over queries; with several seeds, by Welch's t over both.

        If groups of queries have equal weights, only the variance within groups counts as chance.
        """
        evaluations = [result.evaluation for result in self.seed_results.values()]
        if len(evaluations) == 1:
            return evaluations[0].intervals[measure]
        values = [evaluation.weighted(measure) for evaluation in evaluations]
        groups = group_column(evaluations[0].groups, values[0])
        return interval_over_seeds(np.array([[by_id[query] for query in values[0]] for by_id in values]), groups)

    def diagnostics(self) -> Mapping[str, tuple[float, float | None]]:
        """Return the mean and standard deviation over seeds (None with one seed) of each diagnostic value."""
        lists = _collect([result.diagnostics for result in self.seed_results.values()])
        return {name: (fmean(values), stdev(values) if len(values) > 1 else None) for name, values in lists.items()}

    def cost(self) -> Mapping[str, float]:
        """Return the mean cost of a query and of the index over seeds; see SeedResult."""
        return {name: fmean(values) for name, values in _collect([r.cost for r in self.seed_results.values()]).items()}

    def as_dict(self, measures: Sequence[str]) -> dict[str, Any]:
        """Return the row for JSON, with the means by these measures."""
        means = {}
        for measure in measures:
            low, high = self.interval(measure)
            means[measure] = {"mean": self.mean(measure), "low": low, "high": high, "sd": self.sd(measure)}
        return {
            "label": self.label,
            "ranker": self.ranker,
            "settings": dict(self.settings),
            "tuned": dict(self.tuned),
            "trained_on": self.trained_on,
            "may_have_seen": self.may_have_seen,
            "remark": self.remark,
            "measures": means,
            "cost": dict(self.cost()),
            "diagnostics": {name: {"mean": mean, "sd": sd} for name, (mean, sd) in self.diagnostics().items()},
            "seeds": {str(seed): result.evaluation.as_dict() for seed, result in self.seed_results.items()},
        }

    def _means(self, measure: str) -> list[float]:
        return [result.evaluation.means[measure] for result in self.seed_results.values()]


def _collect(seed_values: Sequence[Mapping[str, float]]) -> Mapping[str, Sequence[float]]:
    """Return name → its values, one for each seed that has it."""
    names = dict.fromkeys(name for values in seed_values for name in values)
    return {name: [values[name] for values in seed_values if name in values] for name in names}


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """The result of an experiment; `folder` reproduces it.

    comparisons: measure → comparison of every pair of systems; empty with one system. findings: from the check of the
    archive beforehand. paper: system label → measure → the paper's value, as a share of 1; known_differences from it.
    provenance: versions, data hash, commit, seeds, times. samples: system label → the answers generated with the
    first seed, as `question`, `written`, `right`. baseline: the label of the reference system of the scatter plots.
    typing: label → share of the words ("0.25") → measure → mean.
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
    baseline: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return everything except the runs, which are in the experiment's folder, for JSON."""
        return {
            "title": self.title,
            "archive": str(self.archive),
            "task": self.task,
            "split": self.split,
            "queries": len(self.labels.queries),
            "measures": list(self.measures),
            "rule": self.rule,
            "systems": [system.as_dict(self.measures) for system in self.systems],
            "comparisons": {measure: comparison.as_dict() for measure, comparison in self.comparisons.items()},
            "typing": self.typing,
            "samples": {label: [dict(sample) for sample in samples] for label, samples in self.samples.items()},
            "paper": self.paper,
            "known_differences": list(self.known_differences),
            "check": {
                "verdict": describe_findings(self.findings),
                "findings": [asdict(finding) for finding in self.findings if finding.count],
            },
            "provenance": dict(self.provenance),
        }


def summary_table(outcome: ExperimentResult) -> ResultTable:
    """Return one row per system: each measure's mean (± sd over seeds), its interval, the systems that it beats."""
    rows = [_table_row(outcome, i, system) for i, system in enumerate(outcome.systems)]
    first = next(iter(outcome.systems[0].seed_results.values())).evaluation
    comparison = next(iter(outcome.comparisons.values()), None)
    notes = comparison.notes if comparison else (first.describe, *filter(None, [first.describe_ties()]))
    remarks = [f"{system.label}: {system.remark}" for system in outcome.systems if system.remark]
    tuning = [_describe_tuning(system) for system in outcome.systems if system.tuned]
    diagnostics = [_describe_diagnostics(system) for system in outcome.systems if system.diagnostics()]
    has_seeds = any(len(system.seed_results) > 1 for system in outcome.systems)
    seed_note = "; ± and brackets of a system with several seeds: over these too, Welch's t" if has_seeds else ""
    intervals = f"in brackets: 95 %, bootstrap over queries, {BOOTSTRAP_DRAWS} draws{seed_note}"
    counts = f"n = {format_count(first.n, 'query')} of split {outcome.split}; {intervals}"
    return ResultTable(
        outcome.title, ("system", *outcome.measures), rows, (counts, *notes, *remarks, *tuning, *diagnostics)
    )


def describe_findings(findings: Sequence[Finding]) -> str:
    """Return one line about the check of the archive, which names leaks and other serious findings."""
    positive = [finding for finding in findings if finding.count]
    leaks = {check.__name__ for check in LEAK_CHECKS}
    serious = [
        f"{f.name.replace('_', ' ').upper()} ({f.count:,} of {f.n:,})" for f in positive if f.serious or f.name in leaks
    ]
    text = f"check: {len(positive)} of {len(findings)} checks found something"
    return f"{text}, including {', '.join(serious)}" if serious else f"{text}; no leaks" if positive else text


def _table_row(outcome: ExperimentResult, i: int, system: SystemResult) -> list[str | TableCell]:
    compared = [comparison.systems[i] for comparison in outcome.comparisons.values()]
    name = f"{compared[0].letter} {system.label}" if compared else system.label
    letters = ["".join(each.beats) for each in compared] or [""] * len(outcome.measures)
    cells: list[str | TableCell] = [name]
    for measure, mark in zip(outcome.measures, letters, strict=True):
        (low, high), mean = system.interval(measure), _format_mean(system.mean(measure), system.sd(measure))
        cells.append(TableCell(f"{mean} [{low:.4f}–{high:.4f}]", mark))
    return cells


def _format_mean(mean: float, sd: float | None) -> str:
    return f"{mean:.4f}" if sd is None else f"{mean:.4f} ± {sd:.4f}"


def _describe_tuning(system: SystemResult) -> str:
    chosen = (f"{k} {v:.4f}" if isinstance(v, float) and " on " in k else f"{k} {v}" for k, v in system.tuned.items())
    return f"{system.label}: {', '.join(chosen)}"


def _describe_diagnostics(system: SystemResult) -> str:
    values = (f"{name} {_format_mean(mean, sd)}" for name, (mean, sd) in system.diagnostics().items())
    return f"{system.label}: {', '.join(values)}"
