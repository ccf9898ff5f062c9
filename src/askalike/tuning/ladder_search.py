"""Climbing the ladder: each rung is tried if there is time for it, and told what it was worth."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum

from askalike.errors import TrainingError
from askalike.tuning.budget import Budget, format_duration
from askalike.tuning.candidates import (
    LADDER,
    WITH_VOTES,
    Candidate,
    CandidateFamily,
    Trial,
    dense_candidates,
    distinct_candidate,
    family_levels,
    lexical_candidates,
    missing_module,
    votes_candidate,
)
from askalike.tuning.choice import EvaluatedTrial, choose, choose_lexical
from askalike.tuning.measured import nested_folds
from askalike.tuning.model_training import ModelTrainer, OutOfTimeError
from askalike.tuning.task import TuningTask
from askalike.tuning.trial_evaluator import TrialEvaluator

LEXICAL_BUDGET_SHARE = 0.3
"""Of the budget, what the lexical rankers may take."""
INDEXED_PER_SECOND = 1_500.0
"""Questions that packaged and trained vectors encode and store a second: a cautious guess."""
RANKINGS_PER_FAMILY = 20
"""What the hybrids of a rung take, in rankings by words."""


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """A candidate's best on the n queries that choose, by both measures, and how long it took to find."""

    candidate: Candidate
    trial: Trial
    mean: float
    reported_mean: float
    n: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not tried, and why."""

    name: str
    reason: str


Event = TuningTask | CandidateResult | Skipped
EventListener = Callable[[Event], None]


class LadderSearch:
    """What is tried, and what that was worth."""

    def __init__(
        self, evaluator: TrialEvaluator, trainer: ModelTrainer, budget: Budget, on_event: EventListener
    ) -> None:
        self.evaluator, self.trainer, self.budget, self.on_event = evaluator, trainer, budget, on_event
        self.archive, self.task, self.teacher = evaluator.archive, evaluator.task, trainer.teacher
        self.has_votes = self.archive.view().has_votes
        self.evaluated_trials: list[EvaluatedTrial] = []
        self.candidate_results: list[CandidateResult] = []
        self.skipped: list[Skipped] = []

    def try_lexical(self) -> None:
        """The lexical rankers, as they come and tuned."""
        latest = self.budget.remaining_s - LEXICAL_BUDGET_SHARE * self.budget.limit_s
        for candidate in lexical_candidates(self.archive, self.evaluator.fixed):
            if self.evaluated_trials and not self.evaluator.ranking_s and not self._is_evaluated(candidate):
                self.evaluator.time_ranking(self.evaluated_trials[0].trial)
            needed = len(candidate.trials) * self.evaluator.ranking_s
            if (
                self.evaluated_trials
                and self.budget.remaining_s - needed < latest
                and not self._is_evaluated(candidate)
            ):
                self._skip(candidate.name, self._no_time_reason(needed, self.budget.remaining_s - latest))
            else:
                self._try_candidate(candidate)
        for base in self._lexical_bases() if self.has_votes else ():
            self._try_candidate(votes_candidate(base.ranker, WITH_VOTES, (base,), ((1.0,),), base))

    def try_dense(self) -> None:
        """The ladder's rungs, each alone and with the lexical ranker that the queries choose.

        What needs no training comes first: what it takes is known, and a teacher then knows the archive's texts.
        """
        for rung, level in sorted(
            zip(LADDER, family_levels(), strict=False), key=lambda pair: pair[0].recipe is not None
        ):
            needed = self._estimate_s(rung)
            why = self._skip_reason(rung) or (
                self._no_time_reason(needed, self.budget.remaining_s) if needed > self.budget.remaining_s else ""
            )
            if why:
                self._skip(rung.name, why)
                continue
            try:
                dense = self._dense_trial(rung)
            except (OutOfTimeError, TrainingError) as error:
                self._skip(rung.name, str(error))
                continue
            for base in self._lexical_bases():
                for candidate in dense_candidates(base, dense, rung.name, level, self.has_votes):
                    if candidate.lexical_base or not any(e.trial == candidate.trials[0] for e in self.evaluated_trials):
                        self._try_candidate(candidate)

    def try_distinct(self) -> None:
        """What the queries choose so far, its hits all different questions, where the archive knows of such."""
        known = self.archive.view(held_out_splits=self.task.held_out_splits).clusters().visible_names
        for entry in self._choices_over_folds(choose) if known else ():
            self._try_candidate(distinct_candidate(entry.candidate, entry.trial))

    def _try_candidate(self, candidate: Candidate) -> None:
        started = time.monotonic()
        found = [EvaluatedTrial(candidate, *worth) for worth in self.evaluator.evaluate_trials(candidate.trials)]
        self.evaluated_trials += found
        queries = sorted(found[0].values)
        best = max(found, key=lambda entry: entry.mean(queries))
        shown = fsum(best.reported_values.values()) / len(best.reported_values)
        took = time.monotonic() - started
        self.candidate_results.append(
            CandidateResult(candidate, best.trial, best.mean(queries), shown, len(queries), took)
        )
        self.on_event(self.candidate_results[-1])

    def _skip(self, name: str, reason: str) -> None:
        self.skipped.append(Skipped(name, reason))
        self.on_event(self.skipped[-1])

    def _is_evaluated(self, candidate: Candidate) -> bool:
        return all(self.evaluator.state.trial_values(trial, "dev") is not None for trial in candidate.trials)

    def _dense_trial(self, family: CandidateFamily) -> Trial:
        if family.recipe:
            return self.trainer.train(family, self.budget)
        return self._untrained_trial(family)

    def _untrained_trial(self, family: CandidateFamily) -> Trial:
        return Trial(family.name, self.teacher.settings if self.teacher and family.needs_teacher else {})

    def _skip_reason(self, family: CandidateFamily) -> str | None:
        if family.needs_teacher and not self.teacher:
            return "no pre-trained encoder is given (--encoder)"
        if module := missing_module(family):
            return f"{module} is not installed"
        if family.recipe and not self.trainer.is_trained(family):
            return self.trainer.untrainable_reason(family)
        return None

    def _estimate_s(self, family: CandidateFamily) -> float:
        """Seconds that a rung takes: to train, to encode all questions, and to rank."""
        if self._skip_reason(family) or (not family.recipe and self._is_ranked(family)):
            return 0.0
        if family.needs_teacher and not family.recipe:
            takes = self.trainer.estimate_encoding_s()
        else:
            takes = len(self.archive.view()) / INDEXED_PER_SECOND
        return (
            takes
            + RANKINGS_PER_FAMILY * self.evaluator.ranking_s
            + (self.trainer.estimate_training_s(family) if family.recipe else 0.0)
        )

    def _is_ranked(self, family: CandidateFamily) -> bool:
        return self.evaluator.state.trial_values(self._untrained_trial(family), "dev") is not None

    def _no_time_reason(self, needed_s: float, remaining_s: float) -> str:
        return f"no time: it takes about {format_duration(needed_s)}, and {format_duration(max(remaining_s, 0.0))} are left"

    def _lexical_bases(self) -> Sequence[Trial]:
        return [entry.trial for entry in self._choices_over_folds(choose_lexical)]

    def _choices_over_folds(
        self, choose_from: Callable[[Sequence[EvaluatedTrial], Sequence[str]], EvaluatedTrial]
    ) -> Sequence[EvaluatedTrial]:
        """What the queries choose: all of them, or those of all folds but one."""
        queries = sorted(self.evaluated_trials[0].values)
        among = [queries, *(rest for _, rest in nested_folds(self.task, queries))]
        found = [choose_from(self.evaluated_trials, some) for some in among]
        return [entry for n, entry in enumerate(found) if entry not in found[:n]]
