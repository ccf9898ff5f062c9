"""An experiment's result as one table: a row a system, its means with their intervals, and whom it beats."""

from collections.abc import Sequence

from askalike.evaluation.outcome import BOOTSTRAP_DRAWS
from askalike.evaluation.tables import ResultTable, TableCell
from askalike.experiments.outcome import ExperimentResult, SystemResult
from askalike.health.checks import LEAK_CHECKS
from askalike.health.findings import Finding


def summary_table(outcome: ExperimentResult) -> ResultTable:
    """A row a system: of each measure the mean (± sd over seeds), its interval, the letters of the systems it beats."""
    rows = [_table_row(outcome, i, system) for i, system in enumerate(outcome.systems)]
    first = next(iter(outcome.systems[0].seed_results.values())).evaluation
    compared = next(iter(outcome.comparisons.values()), None)
    notes = compared.notes if compared else (first.describe,)
    tuned = [_describe_tuning(system) for system in outcome.systems if system.tuned]
    told = [_describe_diagnostics(system) for system in outcome.systems if system.diagnostics()]
    several = any(len(system.seed_results) > 1 for system in outcome.systems)
    of_seeds = "; ± and brackets of a system with several seeds: over these too, Welch's t" if several else ""
    how = f"in brackets: 95 %, bootstrap over queries, {BOOTSTRAP_DRAWS} draws{of_seeds}"
    counts = f"n = {first.n} queries of split {outcome.split}; {how}"
    return ResultTable(outcome.title, ("system", *outcome.measures), rows, (counts, *notes, *tuned, *told))


def describe_findings(findings: Sequence[Finding]) -> str:
    """What the check of the archive found, in a line; leaks, and what must not be overlooked, are named."""
    found = [finding for finding in findings if finding.count]
    leaks = {run.__name__ for run in LEAK_CHECKS}
    named = [
        f"{finding.name.replace('_', ' ').upper()} ({finding.count:,} of {finding.n:,})"
        for finding in found
        if finding.loud or finding.name in leaks
    ]
    said = f"check: {len(found)} of {len(findings)} checks found something"
    return f"{said}, among them {', '.join(named)}" if named else f"{said}; no leak among it" if found else said


def _table_row(outcome: ExperimentResult, i: int, system: SystemResult) -> list[str | TableCell]:
    letters = [comparison.systems[i] for comparison in outcome.comparisons.values()]
    name = f"{letters[0].letter} {system.label}" if letters else system.label
    beaten = ["".join(found.beats) for found in letters] or [""] * len(outcome.measures)
    return [
        name,
        *(TableCell(_format_value(system, m), mark) for m, mark in zip(outcome.measures, beaten, strict=True)),
    ]


def _format_value(system: SystemResult, measure: str) -> str:
    low, high, sd = *system.interval(measure), system.sd(measure)
    return f"{system.mean(measure):.4f}{'' if sd is None else f' ± {sd:.4f}'} [{low:.4f}–{high:.4f}]"


def _describe_tuning(system: SystemResult) -> str:
    chosen = (f"{k} {v:.4f}" if isinstance(v, float) and " on " in k else f"{k} {v}" for k, v in system.tuned.items())
    return f"{system.label}: {', '.join(chosen)}"


def _describe_diagnostics(system: SystemResult) -> str:
    told = (f"{n} {mean:.4f}{'' if sd is None else f' ± {sd:.4f}'}" for n, (mean, sd) in system.diagnostics().items())
    return f"{system.label}: {', '.join(told)}"
