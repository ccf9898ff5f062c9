"""What tuning has come to: what is chosen, what it is worth where it was not chosen, and what goes into service."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from askalike.evaluation.significance import ALPHA
from askalike.tuning.choice import EvaluatedTrial, PairedDifference
from askalike.tuning.task import MIN_MEANINGFUL, TuningTask
from askalike.tuning.trial_evaluator import REPORTED_MEASURE


@dataclass(frozen=True, slots=True)
class TuningVerdict:
    """Measured on queries that chose nothing, once. In nested folds: each fold with what the others choose."""

    task: TuningTask
    measure: str
    chosen: EvaluatedTrial
    lexical_fallback: EvaluatedTrial
    """The lexical ranker that is served where nothing beats the best one."""
    best_lexical_name: str
    """The name of the best lexical ranker, by the queries that choose."""
    value: float
    """By SHOWN, as the differences that follow it in the sentence."""
    reported_difference: PairedDifference
    difference_to_lexical: PairedDifference
    """By the measure that chooses: it decides."""
    difference_to_encoder: PairedDifference | None
    """The chosen one over the pre-trained encoder alone, where there is one, by the measure that chooses."""
    fold_choices: Sequence[str]
    """Nested: what each fold's other folds chose."""

    @property
    def served_trial(self) -> EvaluatedTrial:
        """The chosen one where it is significantly better than the best lexical one, else the lexical one."""
        return (
            self.chosen
            if not self.chosen.candidate.is_lexical and self.difference_to_lexical.better
            else self.lexical_fallback
        )

    @property
    def sentence(self) -> str:
        """The verdict."""
        name, n = self.chosen.candidate.name, self.difference_to_lexical.n
        told = f"{name}: {REPORTED_MEASURE} {100 * self.value:.1f} %"
        if self.chosen.candidate.is_lexical:
            return f"{told}, n = {n:,}: nothing beats words on the queries that choose; serving it{self._noise_note}"
        told += f", {format_difference(self.reported_difference, f' over {self.best_lexical_name}')}"
        if self.measure != REPORTED_MEASURE:
            told += f"; {self.measure} {format_difference(self.difference_to_lexical)}"
        if self.difference_to_lexical.better:
            return f"{told}, n = {n:,}; serving it{self._noise_note}"
        return f"{told}, n = {n:,}: that does not beat words; serving {self.lexical_fallback.candidate.name}{self._noise_note}"

    @property
    def _noise_note(self) -> str:
        if self.task.is_proxy:
            return " (a proxy: nobody has labelled anything)"
        return " (within noise)" if self.difference_to_lexical.n < MIN_MEANINGFUL else ""

    def as_dict(self) -> Mapping[str, Any]:
        """For JSON."""
        return {
            "task": self.task.name,
            "proxy": self.task.is_proxy,
            "measure": self.measure,
            "chosen": self.chosen.candidate.name,
            "value": self.value,
            "lexical": self.best_lexical_name,
            "shown": {"measure": REPORTED_MEASURE, **asdict(self.reported_difference)},
            "over_lexical": asdict(self.difference_to_lexical),
            "over_encoder": self.difference_to_encoder and asdict(self.difference_to_encoder),
            "folds": list(self.fold_choices),
            "serving": {"ranker": self.served_trial.trial.ranker, "settings": dict(self.served_trial.trial.settings)},
            "sentence": self.sentence,
            "remarks": list(self.task.remarks),
        }


def format_difference(difference: PairedDifference, suffix: str = "") -> str:
    """A difference as it is told, with its interval and p."""
    return f"{100 * difference.mean:+.1f} points [{100 * difference.low:.1f}, {100 * difference.high:.1f}]{suffix}, {_format_p(difference.p)}"


def _format_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 or p < ALPHA else f"p = {p:.2f}"
