"""The numbers of a report: the headline table, and the paper's values beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from askalike.evaluation.comparison import Comparison
from askalike.evaluation.comparison import System as Compared
from askalike.evaluation.names import canonical
from askalike.experiment.outcome import Outcome, System

BASELINE = "bm25"
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Value:
    """A system's mean by one measure. `sd` is over seeds; `letters` are of the systems that it beats."""

    mean: float
    sd: float | None
    low: float
    high: float
    best: bool
    letters: str


@dataclass(frozen=True, slots=True)
class Row:
    """A system's line of the headline table."""

    system: int
    letter: str
    label: str
    seeds: int
    seconds: float
    values: Sequence[Value]


@dataclass(frozen=True, slots=True)
class Beside:
    """A paper's value beside ours; `baseline` says how ours compares with BM25, where that was tested."""

    label: str
    measure: str
    paper: float
    ours: float
    sd: float | None
    baseline: str

    @property
    def difference(self) -> float:
        """Ours minus the paper's."""
        return self.ours - self.paper


def headline(outcome: Outcome) -> list[Row]:
    """One row a system."""
    means = {m: [s.mean(m) for s in outcome.systems] for m in outcome.measures}
    return [
        Row(
            i,
            _letter(outcome, system.label),
            system.label,
            len(system.trials),
            fmean(trial.seconds for trial in system.trials.values()),
            [_value(outcome, system, m, means[m][i] == max(means[m])) for m in outcome.measures],
        )
        for i, system in enumerate(outcome.systems)
    ]


def ordered(outcome: Outcome) -> list[int]:
    """The systems' numbers, best first by the first measure."""
    means = [s.mean(outcome.measures[0]) for s in outcome.systems]
    return sorted(range(len(means)), key=lambda i: (-means[i], i))


def against_paper(outcome: Outcome) -> list[Beside]:
    """Every value that the paper gives of a system and a measure of this experiment."""
    systems = {system.label: system for system in outcome.systems}
    names = {canonical(measure): measure for measure in outcome.measures}
    return [
        _beside(outcome, systems[label], names[canonical(measure)], paper)
        for label, values in outcome.paper.items()
        if label in systems
        for measure, paper in values.items()
        if canonical(measure) in names
    ]


def _beside(outcome: Outcome, system: System, measure: str, paper: float) -> Beside:
    baseline = next((s.label for s in outcome.systems if s.ranker == BASELINE), None)
    said = _against(outcome.comparisons.get(measure), system.label, baseline)
    return Beside(system.label, measure, paper, system.mean(measure), system.sd(measure), said)


def _against(comparison: Comparison | None, label: str, baseline: str | None) -> str:
    if comparison is None or baseline is None or label == baseline:
        return "–"
    pair = next(p for p in comparison.pairs if {p.first, p.second} == {label, baseline})
    difference = pair.difference if pair.first == label else -pair.difference
    verdict = "not significant" if pair.p_holm >= LEVEL else "better" if difference > 0 else "worse"
    return f"{round(difference, 4) + 0.0:+.4f}, {verdict} (p {_p(pair.p_holm)})"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _value(outcome: Outcome, system: System, measure: str, best: bool) -> Value:
    compared = _compared(outcome.comparisons.get(measure), system.label)
    letters = "".join(compared.beats) if compared else ""
    return Value(system.mean(measure), system.sd(measure), *system.interval(measure), best, letters)


def _letter(outcome: Outcome, label: str) -> str:
    compared = _compared(next(iter(outcome.comparisons.values()), None), label)
    return compared.letter if compared else ""


def _compared(comparison: Comparison | None, label: str) -> Compared | None:
    return next((s for s in comparison.systems if s.name == label), None) if comparison else None


def settings(system: System) -> Mapping[str, str]:
    """A system's settings as text, the tuned ones marked."""
    return {key: f"{value} (tuned)" if key in system.tuned else f"{value}" for key, value in system.settings.items()}
