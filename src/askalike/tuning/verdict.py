"""The verdict of tuning: the simplest candidate that no other beats, its quality on other queries, and the ranker to
activate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import fsum
from typing import Any, Self

import numpy as np

from askalike.core.arrays import Floats
from askalike.evaluation.intervals import bootstrap_means, group_column, max_sum_p, percentile_interval, sign_flip_p
from askalike.evaluation.significance import ALPHA, RESAMPLING_DRAWS, RESAMPLING_SEED
from askalike.evaluation.tables import format_p
from askalike.labels.partitions import nested_folds
from askalike.labels.splits import split_groups
from askalike.measuring import LEADING_MEASURE
from askalike.tuning.candidates import PRETRAINED_RANKER, Candidate
from askalike.tuning.task import MIN_MEANINGFUL, TuningTask
from askalike.tuning.trials import QueryValues, Trial, TrialEvaluator, TrialValues


@dataclass(frozen=True, slots=True)
class EvaluatedTrial:
    """A candidate's trial with its values by the tuning measure, and by LEADING_MEASURE, which is reported."""

    candidate: Candidate
    trial: Trial
    values: QueryValues
    reported_values: QueryValues

    @classmethod
    def from_values(cls, candidate: Candidate, trial: Trial, measure: str, values: TrialValues) -> Self:
        """Return a trial with its values by the tuning measure and by LEADING_MEASURE."""
        return cls(candidate, trial, values[measure], values[LEADING_MEASURE])

    @property
    def reported_mean(self) -> float:
        """The mean of LEADING_MEASURE over all queries."""
        return fsum(self.reported_values.values()) / len(self.reported_values)

    def mean(self, queries: Sequence[str]) -> float:
        """Return the mean over some of the queries."""
        return float(np.mean([self.values[q] for q in queries]))


@dataclass(frozen=True, slots=True)
class Contest:
    """The active ranker before tuning, and the trials that challenge it, in the order in which they were tried."""

    incumbent: EvaluatedTrial
    challengers: Sequence[EvaluatedTrial]

    @property
    def trials(self) -> Sequence[EvaluatedTrial]:
        """All of them."""
        return [self.incumbent, *self.challengers]

    @property
    def lexical_trials(self) -> Sequence[EvaluatedTrial]:
        """Those of lexical rankers."""
        return [entry for entry in self.trials if entry.candidate.is_lexical]


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of first minus second over n queries, with its 95 % interval and p (two-sided, paired randomisation)."""

    mean: float
    low: float
    high: float
    p: float
    n: int

    @property
    def better(self) -> bool:
        """Whether the first is significantly better."""
        return self.mean > 0 and self.p < ALPHA


def paired_difference(
    first: QueryValues, second: QueryValues, groups: Mapping[str, str] | None = None
) -> PairedDifference:
    """Return first minus second, on the queries that both have.

    groups: query id → its group, if groups have equal weights; the interval is over queries drawn within their group.
    """
    queries = sorted(first.keys() & second.keys())
    differences = np.array([[first[q] - second[q]] for q in queries])
    strata = group_column(groups or {}, queries)
    low, high = percentile_interval(bootstrap_means(differences, RESAMPLING_DRAWS, RESAMPLING_SEED, strata)[:, 0])
    p = float(sign_flip_p(differences, RESAMPLING_DRAWS, RESAMPLING_SEED)[0])
    return PairedDifference(float(differences.mean()), low, high, p, len(differences))


def choose(contest: Contest, queries: Sequence[str]) -> EvaluatedTrial:
    """Return the best trial of the simplest stage that beats the incumbent significantly and is not itself beaten.

    If nothing beats the incumbent, it is the choice. A hybrid is considered only if its lexical base is the lexical
    choice on these queries. Of equal trials, the one tried first is chosen. If a pre-trained encoder beats the
    incumbent, a simpler trial must be as good on average as that encoder, alone or in a hybrid: with few queries, the
    lack of a significant difference means little.
    """
    incumbent = contest.incumbent
    lexical = choose_lexical(contest, queries)
    others = [e for e in contest.challengers if e.candidate.lexical_base in (None, lexical.trial)]
    baseline = _value_matrix([incumbent], queries)[:, 0]
    stages = _group_by_stage(others)
    better = [stage for stage in stages if beats_significantly(_value_matrix(stage, queries), baseline)]
    if not better:
        return incumbent
    simplest = _simplest_unbeaten(better, queries)
    encoder = next((e for stage in better for e in stage if e.candidate.name == PRETRAINED_RANKER), None)
    if encoder is None:
        return simplest
    with_encoder = [stage for stage in better if stage[0].candidate.stage >= encoder.candidate.stage]
    encoder_choice = _simplest_unbeaten(with_encoder, queries)
    return simplest if simplest.mean(queries) >= encoder_choice.mean(queries) else encoder_choice


def choose_lexical(contest: Contest, queries: Sequence[str]) -> EvaluatedTrial:
    """Return the simplest lexical trial that no other lexical one beats significantly on the queries."""
    return _simplest_unbeaten(_group_by_stage(contest.lexical_trials), queries)


def best_lexical(contest: Contest, queries: Sequence[str]) -> EvaluatedTrial:
    """Return the lexical trial with the highest mean on the queries, which any other has to beat."""
    return max(contest.lexical_trials, key=lambda e: e.mean(queries))


def beats_significantly(candidate_values: Floats, baseline_values: Floats) -> bool:
    """Return whether the best of some trials is significantly better than another ranker.

    candidate_values: (queries, trials). baseline_values: (queries,). To correct for choosing the best of many, random
    signs give the distribution of the best by chance (Westfall and Young 1993), with each trial's sum in units of
    its standard deviation.
    """
    differences = candidate_values - baseline_values[:, None]
    spread = np.sqrt((differences**2).sum(0))
    differences = differences[:, spread > 0] / spread[spread > 0]
    if not differences.size or differences.sum(0).max() <= 0:
        return False
    return float(max_sum_p(differences, RESAMPLING_DRAWS, RESAMPLING_SEED)) < ALPHA / 2


def _group_by_stage(trials: Sequence[EvaluatedTrial]) -> Sequence[Sequence[EvaluatedTrial]]:
    """Return the trials of each stage, the simplest stage first."""
    stages = sorted({e.candidate.stage for e in trials})
    return [[e for e in trials if e.candidate.stage == stage] for stage in stages]


def _simplest_unbeaten(stages: Sequence[Sequence[EvaluatedTrial]], queries: Sequence[str]) -> EvaluatedTrial:
    """Return the best trial of the first stage that no other stage beats; the best of all if each is beaten."""
    tables = [_value_matrix(stage, queries) for stage in stages]
    bests = [max(stage, key=lambda entry: entry.mean(queries)) for stage in stages]
    for n, best in enumerate(bests):
        values = _value_matrix([best], queries)[:, 0]
        if not any(beats_significantly(table, values) for other, table in enumerate(tables) if other != n):
            return best
    return max(bests, key=lambda entry: entry.mean(queries))


def _value_matrix(trials: Sequence[EvaluatedTrial], queries: Sequence[str]) -> Floats:
    """Return the values as (queries, trials)."""
    return np.array([[e.values[q] for e in trials] for q in queries])


@dataclass(frozen=True, slots=True)
class TuningVerdict:
    """The ranker chosen by one measure, and its quality, measured once on queries not used for the choice.

    incumbent: the previously active ranker; stays active unless the choice is significantly better. value: the chosen
    trial's mean of LEADING_MEASURE. gain: over the incumbent by the tuning measure, which decides. reported_gain: the
    same by LEADING_MEASURE. difference_to_lexical, reported_difference: to the best lexical ranker, best_lexical_name.
    difference_to_encoder: to the encoder alone, if there is one. fold_choices: the choice on the other folds, per fold.
    """

    task: TuningTask
    measure: str
    chosen: EvaluatedTrial
    incumbent: EvaluatedTrial
    best_lexical_name: str
    value: float
    gain: PairedDifference
    reported_gain: PairedDifference
    reported_difference: PairedDifference
    difference_to_lexical: PairedDifference
    difference_to_encoder: PairedDifference | None
    fold_choices: Sequence[str]

    @property
    def served_trial(self) -> EvaluatedTrial:
        """The chosen one if it is significantly better than the incumbent, on enough queries, else the incumbent."""
        return self.chosen if self.gain.better and not self._has_few_queries else self.incumbent

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        name, incumbent, n = self.chosen.candidate.name, self.incumbent.candidate.name, self.gain.n
        text = f"{name}: {LEADING_MEASURE} {100 * self.value:.1f} %"
        if self.chosen is self.incumbent:
            reason = "no candidate is significantly better on the dev queries"
            return f"{text}, n = {n:,}: {reason}; it stays active{self._caveat}"
        text += f", {format_difference(self.reported_gain, f' over {incumbent}')}"
        if self.measure != LEADING_MEASURE:
            text += f"; {self.measure} {format_difference(self.gain)}"
        if self.served_trial is self.chosen:
            return f"{text}, n = {n:,}; activated{self._caveat}"
        few = f"fewer than {MIN_MEANINGFUL} queries are too few to decide"
        reason = few if self._has_few_queries else "no significant gain"
        return f"{text}, n = {n:,}: {reason}; {incumbent} stays active{self._caveat}"

    @property
    def _has_few_queries(self) -> bool:
        return self.gain.n < MIN_MEANINGFUL

    @property
    def _caveat(self) -> str:
        if self.task.has_pseudo_queries:
            return " (on pseudo-queries: the archive has no labels)"
        return " (within noise)" if self._has_few_queries else ""

    def as_dict(self) -> Mapping[str, Any]:
        """Return everything except the values of single queries, for JSON."""
        return {
            "task": self.task.name,
            "pseudo_queries": self.task.has_pseudo_queries,
            "measure": self.measure,
            "chosen": self.chosen.candidate.name,
            "value": self.value,
            "incumbent": self.incumbent.candidate.name,
            "gain": asdict(self.gain),
            "best_lexical": self.best_lexical_name,
            "reported_difference": {"measure": LEADING_MEASURE, **asdict(self.reported_difference)},
            "difference_to_lexical": asdict(self.difference_to_lexical),
            "difference_to_encoder": self.difference_to_encoder and asdict(self.difference_to_encoder),
            "fold_choices": list(self.fold_choices),
            "active": {"ranker": self.served_trial.trial.ranker, "settings": dict(self.served_trial.trial.settings)},
            "sentence": self.sentence,
            "remarks": list(self.task.remarks),
        }


def reach_verdict(task: TuningTask, evaluator: TrialEvaluator, contest: Contest) -> TuningVerdict:
    """Choose on dev, and measure the choice on test or, without one, in nested folds."""
    incumbent = contest.incumbent
    queries = sorted(incumbent.values)
    chosen = choose(contest, queries)
    lexical = best_lexical(contest, queries)
    encoder = next((e for e in contest.trials if e.candidate.name == PRETRAINED_RANKER), None)
    fold_choices: Sequence[str] = ()
    before = incumbent
    if task.test is not None:
        ours, before, baseline = (_evaluate_on_test(evaluator, entry) for entry in (chosen, incumbent, lexical))
        alone = _evaluate_on_test(evaluator, encoder) if encoder else None
    else:
        folds = list(nested_folds(queries, task.dev.qrels, seed=task.seed))
        choices = [(fold, choose(contest, rest)) for fold, rest in folds]
        fold_choices = [entry.candidate.name for _, entry in choices]
        ours = _merge_folds(choices)
        alone = encoder
        baseline = _merge_folds([(fold, best_lexical(contest, rest)) for fold, rest in folds])
    parts = split_groups(evaluator.task.archive, task.evaluation_split)
    compare = partial(paired_difference, groups={q: name for name, part in parts for q in part.queries})
    return TuningVerdict(
        task=task,
        measure=evaluator.measures[0],
        chosen=chosen,
        incumbent=incumbent,
        best_lexical_name=lexical.trial.ranker,
        value=ours.reported_mean,
        gain=compare(ours.values, before.values),
        reported_gain=compare(ours.reported_values, before.reported_values),
        reported_difference=compare(ours.reported_values, baseline.reported_values),
        difference_to_lexical=compare(ours.values, baseline.values),
        difference_to_encoder=compare(ours.values, alone.values) if alone else None,
        fold_choices=fold_choices,
    )


def format_difference(difference: PairedDifference, suffix: str = "") -> str:
    """Return a difference in points with its 95 % interval and p."""
    mean, low, high = (100 * value for value in (difference.mean, difference.low, difference.high))
    return f"{mean:+.1f} points [{low:.1f}, {high:.1f}]{suffix}, p {format_p(difference.p)}"


def _evaluate_on_test(evaluator: TrialEvaluator, entry: EvaluatedTrial) -> EvaluatedTrial:
    [values] = evaluator.evaluate_trials([entry.trial], "test")
    return EvaluatedTrial.from_values(entry.candidate, entry.trial, evaluator.measures[0], values)


def _merge_folds(choices: Sequence[tuple[Sequence[str], EvaluatedTrial]]) -> EvaluatedTrial:
    """Return the values of each fold's queries by the trial that was chosen for that fold."""
    values = {q: entry.values[q] for fold, entry in choices for q in fold}
    reported = {q: entry.reported_values[q] for fold, entry in choices for q in fold}
    return EvaluatedTrial(choices[0][1].candidate, choices[0][1].trial, values, reported)
