"""The verdict of tuning: what is chosen, what it is worth on queries that did not choose it, and what is served."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any

from askalike.evaluation.tables import format_p
from askalike.experiments.measuring import LEADING_MEASURE
from askalike.experiments.nested_estimate import nested_folds
from askalike.experiments.trials import QueryValues, TrialEvaluator
from askalike.tuning.candidates import PRETRAINED_RANKER
from askalike.tuning.choice import (
    EvaluatedTrial,
    PairedDifference,
    best_lexical,
    choose,
    choose_lexical,
    paired_difference,
)
from askalike.tuning.task import MIN_MEANINGFUL, TuningTask


@dataclass(frozen=True, slots=True)
class TuningVerdict:
    """What was chosen by one measure, and its worth, measured once on queries that did not choose it.

    lexical_fallback: the lexical ranker that is served where nothing beats the best lexical one, whose name is
    best_lexical_name. value, reported_difference: the chosen trial's mean of LEADING_MEASURE and its difference to the
    best lexical ranker. difference_to_lexical: the same difference by the measure that chooses; it decides.
    difference_to_encoder: the difference to the pre-trained encoder alone, by the measure that chooses; None without
    one. fold_choices: in nested folds, the names of what the other folds of each fold chose.
    """

    task: TuningTask
    measure: str
    chosen: EvaluatedTrial
    lexical_fallback: EvaluatedTrial
    best_lexical_name: str
    value: float
    reported_difference: PairedDifference
    difference_to_lexical: PairedDifference
    difference_to_encoder: PairedDifference | None
    fold_choices: Sequence[str]

    @property
    def served_trial(self) -> EvaluatedTrial:
        """The chosen one where it is significantly better than the best lexical one, else the lexical fallback."""
        is_better = not self.chosen.candidate.is_lexical and self.difference_to_lexical.better
        return self.chosen if is_better else self.lexical_fallback

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        name, n = self.chosen.candidate.name, self.difference_to_lexical.n
        text = f"{name}: {LEADING_MEASURE} {100 * self.value:.1f} %"
        if self.chosen.candidate.is_lexical:
            return (
                f"{text}, n = {n:,}: no candidate beats the lexical rankers on the queries that choose; serving it"
                f"{self._caveat}"
            )
        text += f", {format_difference(self.reported_difference, f' over {self.best_lexical_name}')}"
        if self.measure != LEADING_MEASURE:
            text += f"; {self.measure} {format_difference(self.difference_to_lexical)}"
        if self.difference_to_lexical.better:
            return f"{text}, n = {n:,}; serving it{self._caveat}"
        fallback = self.lexical_fallback.candidate.name
        return f"{text}, n = {n:,}: that does not beat the lexical rankers; serving {fallback}{self._caveat}"

    @property
    def _caveat(self) -> str:
        if self.task.is_proxy:
            return " (a proxy: nobody has labelled anything)"
        return " (within noise)" if self.difference_to_lexical.n < MIN_MEANINGFUL else ""

    def as_dict(self) -> Mapping[str, Any]:
        """Return everything but the values of single queries, for JSON."""
        return {
            "task": self.task.name,
            "proxy": self.task.is_proxy,
            "measure": self.measure,
            "chosen": self.chosen.candidate.name,
            "value": self.value,
            "lexical": self.best_lexical_name,
            "shown": {"measure": LEADING_MEASURE, **asdict(self.reported_difference)},
            "over_lexical": asdict(self.difference_to_lexical),
            "over_encoder": self.difference_to_encoder and asdict(self.difference_to_encoder),
            "folds": list(self.fold_choices),
            "serving": {"ranker": self.served_trial.trial.ranker, "settings": dict(self.served_trial.trial.settings)},
            "sentence": self.sentence,
            "remarks": list(self.task.remarks),
        }


def reach_verdict(task: TuningTask, evaluator: TrialEvaluator, trials: Sequence[EvaluatedTrial]) -> TuningVerdict:
    """Choose on dev, and measure the choice on test or, where there is none, in nested folds."""
    queries = sorted(trials[0].values)
    chosen, lexical = choose(trials, queries), best_lexical(trials, queries)
    encoder = next((e for e in trials if e.trial.ranker == PRETRAINED_RANKER), None)
    fold_choices: Sequence[str] = ()
    if task.test is not None:
        ours, baseline = _evaluate_on_test(evaluator, chosen), _evaluate_on_test(evaluator, lexical)
        alone = _evaluate_on_test(evaluator, encoder) if encoder else None
    else:
        folds = list(nested_folds(queries, task.dev.qrels, seed=task.seed))
        choices = [choose(trials, rest) for _, rest in folds]
        fold_choices = [entry.candidate.name for entry in choices]
        ours = _merge_folds([fold for fold, _ in folds], choices)
        baseline = _merge_folds([fold for fold, _ in folds], [best_lexical(trials, rest) for _, rest in folds])
        alone = encoder
    return TuningVerdict(
        task=task,
        measure=evaluator.measures[0],
        chosen=chosen,
        lexical_fallback=choose_lexical(trials, queries),
        best_lexical_name=lexical.trial.ranker,
        value=_mean(ours.reported_values),
        reported_difference=paired_difference(ours.reported_values, baseline.reported_values),
        difference_to_lexical=paired_difference(ours.values, baseline.values),
        difference_to_encoder=paired_difference(ours.values, alone.values) if alone else None,
        fold_choices=fold_choices,
    )


def format_difference(difference: PairedDifference, suffix: str = "") -> str:
    """Return a difference in points with its 95 % interval and p."""
    mean, low, high = (100 * value for value in (difference.mean, difference.low, difference.high))
    return f"{mean:+.1f} points [{low:.1f}, {high:.1f}]{suffix}, p {format_p(difference.p)}"


def _evaluate_on_test(evaluator: TrialEvaluator, entry: EvaluatedTrial) -> EvaluatedTrial:
    [values] = evaluator.evaluate_trials([entry.trial], "test")
    return EvaluatedTrial.from_values(entry.candidate, entry.trial, evaluator.measures[0], values)


def _merge_folds(folds: Sequence[Sequence[str]], choices: Sequence[EvaluatedTrial]) -> EvaluatedTrial:
    """Return the values of each fold's queries under the trial that was chosen for that fold."""
    values = {q: entry.values[q] for fold, entry in zip(folds, choices, strict=True) for q in fold}
    reported = {q: entry.reported_values[q] for fold, entry in zip(folds, choices, strict=True) for q in fold}
    return EvaluatedTrial(choices[0].candidate, choices[0].trial, values, reported)


def _mean(values: QueryValues) -> float:
    return fsum(values.values()) / len(values)
