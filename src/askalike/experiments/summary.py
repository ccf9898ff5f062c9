"""An experiment's result as one table, and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from askalike.evaluation.outcome import BOOTSTRAP_DRAWS
from askalike.evaluation.tables import ResultTable, TableCell
from askalike.experiments.outcome import ExperimentResult, SystemResult
from askalike.health.checks import LEAK_CHECKS
from askalike.health.findings import Finding


def summary_table(outcome: ExperimentResult) -> ResultTable:
    """Return a row a system: of each measure the mean (± sd over seeds), its interval, the systems that it beats."""
    rows = [_table_row(outcome, i, system) for i, system in enumerate(outcome.systems)]
    first = next(iter(outcome.systems[0].seed_results.values())).evaluation
    comparison = next(iter(outcome.comparisons.values()), None)
    notes = comparison.notes if comparison else (first.describe,)
    tuning = [_describe_tuning(system) for system in outcome.systems if system.tuned]
    diagnostics = [_describe_diagnostics(system) for system in outcome.systems if system.diagnostics()]
    has_seeds = any(len(system.seed_results) > 1 for system in outcome.systems)
    seed_note = "; ± and brackets of a system with several seeds: over these too, Welch's t" if has_seeds else ""
    intervals = f"in brackets: 95 %, bootstrap over queries, {BOOTSTRAP_DRAWS} draws{seed_note}"
    counts = f"n = {first.n} queries of split {outcome.split}; {intervals}"
    return ResultTable(outcome.title, ("system", *outcome.measures), rows, (counts, *notes, *tuning, *diagnostics))


def describe_findings(findings: Sequence[Finding]) -> str:
    """Return one line about the check of the archive. It names leaks and what must not be overlooked."""
    positive = [finding for finding in findings if finding.count]
    leak_names = {check.__name__ for check in LEAK_CHECKS}
    loud = [
        f"{finding.name.replace('_', ' ').upper()} ({finding.count:,} of {finding.n:,})"
        for finding in positive
        if finding.loud or finding.name in leak_names
    ]
    text = f"check: {len(positive)} of {len(findings)} checks found something"
    return f"{text}, among them {', '.join(loud)}" if loud else f"{text}; no leak among it" if positive else text


def as_dict(outcome: ExperimentResult) -> dict[str, Any]:
    """Return everything but the runs themselves, which lie in the experiment's folder, for JSON."""
    return {
        "title": outcome.title,
        "archive": str(outcome.archive),
        "task": outcome.task,
        "split": outcome.split,
        "queries": len(outcome.labels.queries),
        "measures": list(outcome.measures),
        "rule": outcome.rule,
        "systems": [_system_dict(system, outcome) for system in outcome.systems],
        "comparisons": {measure: comparison.as_dict() for measure, comparison in outcome.comparisons.items()},
        "typing": outcome.typing,
        "samples": {label: [dict(sample) for sample in samples] for label, samples in outcome.samples.items()},
        "paper": outcome.paper,
        "known_differences": list(outcome.known_differences),
        "check": {
            "verdict": describe_findings(outcome.findings),
            "findings": [asdict(finding) for finding in outcome.findings if finding.count],
        },
        "provenance": dict(outcome.provenance),
    }


def _table_row(outcome: ExperimentResult, i: int, system: SystemResult) -> list[str | TableCell]:
    compared = [comparison.systems[i] for comparison in outcome.comparisons.values()]
    name = f"{compared[0].letter} {system.label}" if compared else system.label
    letters = ["".join(each.beats) for each in compared] or [""] * len(outcome.measures)
    values = (_format_value(system, measure) for measure in outcome.measures)
    return [name, *(TableCell(value, mark) for value, mark in zip(values, letters, strict=True))]


def _format_value(system: SystemResult, measure: str) -> str:
    low, high = system.interval(measure)
    return f"{_format_mean(system.mean(measure), system.sd(measure))} [{low:.4f}–{high:.4f}]"


def _format_mean(mean: float, sd: float | None) -> str:
    return f"{mean:.4f}" if sd is None else f"{mean:.4f} ± {sd:.4f}"


def _describe_tuning(system: SystemResult) -> str:
    chosen = (f"{k} {v:.4f}" if isinstance(v, float) and " on " in k else f"{k} {v}" for k, v in system.tuned.items())
    return f"{system.label}: {', '.join(chosen)}"


def _describe_diagnostics(system: SystemResult) -> str:
    values = (f"{name} {_format_mean(mean, sd)}" for name, (mean, sd) in system.diagnostics().items())
    return f"{system.label}: {', '.join(values)}"


def _system_dict(system: SystemResult, outcome: ExperimentResult) -> dict[str, Any]:
    return {
        "label": system.label,
        "ranker": system.ranker,
        "settings": dict(system.settings),
        "tuned": dict(system.tuned),
        "measures": {measure: _measure_dict(system, measure) for measure in outcome.measures},
        "beside": {name: {"mean": mean, "sd": sd} for name, (mean, sd) in system.diagnostics().items()},
        "seeds": {str(seed): result.evaluation.as_dict() for seed, result in system.seed_results.items()},
    }


def _measure_dict(system: SystemResult, measure: str) -> Mapping[str, float | None]:
    low, high = system.interval(measure)
    return {"mean": system.mean(measure), "low": low, "high": high, "sd": system.sd(measure)}
