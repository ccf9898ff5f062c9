"""An experiment's result as one table: a row a system, its means with their intervals, and whom it beats."""

from collections.abc import Sequence

from askalike.archive.check import LEAKS
from askalike.archive.findings import Finding
from askalike.evaluation.outcome import DRAWS
from askalike.evaluation.tables import Cell, Table
from askalike.experiment.outcome import Outcome, System


def table(outcome: Outcome) -> Table:
    """A row a system: of each measure the mean (± sd over seeds), its interval, the letters of the systems it beats."""
    rows = [_row(outcome, i, system) for i, system in enumerate(outcome.systems)]
    first = next(iter(outcome.systems[0].trials.values())).evaluation
    compared = next(iter(outcome.comparisons.values()), None)
    notes = compared.notes if compared else (first.describe,)
    tuned = [_tuning(system) for system in outcome.systems if system.tuned]
    told = [_beside(system) for system in outcome.systems if system.beside()]
    several = any(len(system.trials) > 1 for system in outcome.systems)
    of_seeds = "; ± and brackets of a system with several seeds: over these too, Welch's t" if several else ""
    how = f"in brackets: 95 %, bootstrap over queries, {DRAWS} draws{of_seeds}"
    counts = f"n = {first.n} queries of split {outcome.split}; {how}"
    return Table(outcome.title, ("system", *outcome.measures), rows, (counts, *notes, *tuned, *told))


def verdict(findings: Sequence[Finding]) -> str:
    """What the check of the archive found, in a line; leaks, and what must not be overlooked, are named."""
    found = [finding for finding in findings if finding.count]
    leaks = {run.__name__ for run in LEAKS}
    named = [
        f"{finding.name.replace('_', ' ').upper()} ({finding.count:,} of {finding.n:,})"
        for finding in found
        if finding.loud or finding.name in leaks
    ]
    said = f"check: {len(found)} of {len(findings)} checks found something"
    return f"{said}, among them {', '.join(named)}" if named else f"{said}; no leak among it" if found else said


def _row(outcome: Outcome, i: int, system: System) -> list[str | Cell]:
    letters = [comparison.systems[i] for comparison in outcome.comparisons.values()]
    name = f"{letters[0].letter} {system.label}" if letters else system.label
    beaten = ["".join(found.beats) for found in letters] or [""] * len(outcome.measures)
    return [name, *(Cell(_value(system, m), mark) for m, mark in zip(outcome.measures, beaten, strict=True))]


def _value(system: System, measure: str) -> str:
    low, high, sd = *system.interval(measure), system.sd(measure)
    return f"{system.mean(measure):.4f}{'' if sd is None else f' ± {sd:.4f}'} [{low:.4f}–{high:.4f}]"


def _tuning(system: System) -> str:
    chosen = (f"{k} {v:.4f}" if isinstance(v, float) and " on " in k else f"{k} {v}" for k, v in system.tuned.items())
    return f"{system.label}: {', '.join(chosen)}"


def _beside(system: System) -> str:
    told = (f"{n} {mean:.4f}{'' if sd is None else f' ± {sd:.4f}'}" for n, (mean, sd) in system.beside().items())
    return f"{system.label}: {', '.join(told)}"
