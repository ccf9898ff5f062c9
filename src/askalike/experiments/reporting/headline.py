"""The numbers of a report: the headline table, and a paper's values beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from askalike.evaluation.comparison import ComparedSystem, Comparison
from askalike.evaluation.measures import canonical_name
from askalike.evaluation.significance import ALPHA
from askalike.evaluation.tables import format_p
from askalike.experiments.outcome import ExperimentResult, SystemResult

BASELINE = "bm25"


@dataclass(frozen=True, slots=True)
class HeadlineValue:
    """A system's mean by one measure, with its interval. sd: over seeds. letters: of the systems that it beats."""

    mean: float
    sd: float | None
    low: float
    high: float
    best: bool
    letters: str


@dataclass(frozen=True, slots=True)
class HeadlineRow:
    """A system's line of the headline table."""

    system: int
    letter: str
    label: str
    seeds: int
    seconds: float
    values: Sequence[HeadlineValue]


@dataclass(frozen=True, slots=True)
class PaperComparison:
    """A paper's value beside ours. baseline: how ours compares with BM25; "–" where that was not tested."""

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


def headline_rows(outcome: ExperimentResult) -> list[HeadlineRow]:
    """Return one row a system."""
    means = {m: [s.mean(m) for s in outcome.systems] for m in outcome.measures}
    return [
        HeadlineRow(
            i,
            _system_letter(outcome, system.label),
            system.label,
            len(system.seed_results),
            fmean(result.seconds for result in system.seed_results.values()),
            [_headline_value(outcome, system, m, means[m][i] == max(means[m])) for m in outcome.measures],
        )
        for i, system in enumerate(outcome.systems)
    ]


def order_systems(outcome: ExperimentResult) -> list[int]:
    """Return the systems' numbers, best first by the first measure."""
    means = [s.mean(outcome.measures[0]) for s in outcome.systems]
    return sorted(range(len(means)), key=lambda i: (-means[i], i))


def compare_with_paper(outcome: ExperimentResult) -> list[PaperComparison]:
    """Return every value that the paper gives of a system and a measure of this experiment."""
    systems = {system.label: system for system in outcome.systems}
    names = {canonical_name(measure): measure for measure in outcome.measures}
    return [
        _paper_comparison(outcome, systems[label], names[canonical_name(measure)], paper)
        for label, values in outcome.paper.items()
        if label in systems
        for measure, paper in values.items()
        if canonical_name(measure) in names
    ]


def _paper_comparison(outcome: ExperimentResult, system: SystemResult, measure: str, paper: float) -> PaperComparison:
    baseline = next((s.label for s in outcome.systems if s.ranker == BASELINE), None)
    test = _describe_baseline_test(outcome.comparisons.get(measure), system.label, baseline)
    return PaperComparison(system.label, measure, paper, system.mean(measure), system.sd(measure), test)


def _describe_baseline_test(comparison: Comparison | None, label: str, baseline: str | None) -> str:
    if comparison is None or baseline is None or label == baseline:
        return "–"
    pair = next(p for p in comparison.pairs if {p.first, p.second} == {label, baseline})
    difference = pair.difference if pair.first == label else -pair.difference
    verdict = "not significant" if pair.p_holm >= ALPHA else "better" if difference > 0 else "worse"
    return f"{round(difference, 4) + 0.0:+.4f}, {verdict} (p {format_p(pair.p_holm)})"


def _headline_value(outcome: ExperimentResult, system: SystemResult, measure: str, best: bool) -> HeadlineValue:
    compared = _find_system(outcome.comparisons.get(measure), system.label)
    letters = "".join(compared.beats) if compared else ""
    return HeadlineValue(system.mean(measure), system.sd(measure), *system.interval(measure), best, letters)


def _system_letter(outcome: ExperimentResult, label: str) -> str:
    compared = _find_system(next(iter(outcome.comparisons.values()), None), label)
    return compared.letter if compared else ""


def _find_system(comparison: Comparison | None, label: str) -> ComparedSystem | None:
    return next((s for s in comparison.systems if s.name == label), None) if comparison else None


def format_settings(system: SystemResult) -> Mapping[str, str]:
    """Return a system's settings as text, the tuned ones marked."""
    return {key: f"{value} (tuned)" if key in system.tuned else f"{value}" for key, value in system.settings.items()}
