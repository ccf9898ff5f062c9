"""Tries and measures candidates, from the simplest to the most complex, for which there is time."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count, islice

from askalike.core.errors import SettingsError, TrainingError
from askalike.core.values import format_duration
from askalike.labels.partitions import nested_folds
from askalike.tuning.candidates import (
    CROSS_DEPTH,
    FAMILY_STAGES,
    WITH_VOTES,
    Candidate,
    CandidateFamily,
    cross_encoder_candidate,
    dense_candidates,
    distinct_candidate,
    incumbent_candidate,
    lexical_candidates,
    list_families,
    missing_module,
    votes_candidate,
)
from askalike.tuning.model_training import ModelTrainer
from askalike.tuning.state import Budget
from askalike.tuning.task import TuningTask
from askalike.tuning.trials import OutOfTimeError, Trial, TrialEvaluator, never
from askalike.tuning.verdict import EvaluatedTrial, choose, choose_lexical

LEXICAL_BUDGET_SHARE = 0.3
"""Maximum share of the budget for lexical rankers."""
INDEXED_PER_SECOND = 1_500.0
"""Questions per second that packaged and trained vectors encode and store: a conservative guess."""
RANKINGS_PER_FAMILY = 20
"""The time for the hybrids of a family, as a number of lexical rankings of dev."""
VERDICT_RANKINGS = 3
"""The number of rankers measured at the end: the choice, the previously active one, and the best lexical one."""
TrialChooser = Callable[[Sequence[EvaluatedTrial], Sequence[str]], EvaluatedTrial]


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """A candidate's best trial on the n dev queries, with its means by the tuning measure and by LEADING_MEASURE."""

    candidate: Candidate
    trial: Trial
    mean: float
    reported_mean: float
    n: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Skipped:
    """The name of a candidate or family that was not tried, and why."""

    name: str
    reason: str


Event = TuningTask | CandidateResult | Skipped
EventListener = Callable[[Event], None]


class SuccessiveCandidates:
    """Tries candidates and collects their values (`evaluated_trials`), results, and those skipped."""

    def __init__(
        self, task: TuningTask, evaluator: TrialEvaluator, trainer: ModelTrainer, budget: Budget, notify: EventListener
    ) -> None:
        self.task, self.evaluator, self.trainer, self.budget, self._notify = task, evaluator, trainer, budget, notify
        self.archive, self.teacher = evaluator.task.archive, trainer.teacher
        self.has_votes = self.archive.view().has_votes
        self.evaluated_trials: list[EvaluatedTrial] = []
        self.candidate_results: list[CandidateResult] = []
        self.skipped: list[Skipped] = []
        self._ranking_s = 0.0

    def try_incumbent(self, trial: Trial) -> None:
        """Try the active ranker regardless of the budget, as everything else is compared with it."""
        self._try_candidate(incumbent_candidate(trial), is_optional=False)

    def estimate_incumbent_s(self, trial: Trial) -> float:
        """Return the seconds to encode and index all questions for the active ranker, if that must be done."""
        if self.evaluator.memory.trial_values(trial, "dev") is not None or self.evaluator.is_indexed(trial):
            return 0.0
        uses_teacher = self.teacher and self.teacher.trial.ranker in (trial.ranker, *trial.part_names)
        encoding_s = self.trainer.estimate_encoding_s() if uses_teacher else 0.0
        return max(encoding_s, len(self.archive.view()) / INDEXED_PER_SECOND)

    def estimate_verdict_s(self) -> float:
        """Return the seconds to rank the test queries with the chosen ranker and those that it is compared with."""
        if self.task.test is None:
            return 0.0
        query_s = self.candidate_results[0].seconds / len(self.task.dev.qrels)
        return query_s * len(self.task.test.qrels) * VERDICT_RANKINGS

    def try_lexical(self) -> None:
        """Try the lexical rankers, untuned and tuned, within their share of the budget; then with votes."""
        reserved = self.budget.remaining_s - LEXICAL_BUDGET_SHARE * self.budget.limit_s
        untuned, *tuned = lexical_candidates(self.archive, self.evaluator.fixed)
        if untuned.trials[0] != self.evaluated_trials[0].trial:
            self._try_candidate(untuned, is_optional=False)
        for candidate in tuned:
            is_evaluated = self._is_evaluated(candidate)
            if not is_evaluated and not self._ranking_s and not self._is_over():
                self._ranking_s = self.evaluator.time_ranking(untuned.trials[0])
            needed = len(candidate.trials) * self._ranking_s
            if not is_evaluated and self.budget.remaining_s - needed < reserved:
                left = self.budget.remaining_s - reserved
                self._skip(candidate.name, _no_time_reason(needed, left, " of the lexical rankers' share"))
            else:
                self._try_candidate(candidate)
        for base in self._lexical_bases() if self.has_votes else ():
            self._try_candidate(votes_candidate(base.ranker, WITH_VOTES, (base,), ((1.0,),), base))

    def try_dense(self) -> None:
        """Try the families of dense rankers, each alone and with the lexical rankers chosen on the queries.

        Families without training come first: their time is known, and the teacher's vectors are then stored.
        """
        stages = zip(list_families(), count(*FAMILY_STAGES), strict=False)
        for family, stage in sorted(stages, key=lambda pair: pair[0].recipe is not None):
            if reason := self._skip_reason(family):
                self._skip(family.name, reason)
                continue
            try:
                dense = self.trainer.train(family, self.budget) if family.recipe else self._untrained_trial(family)
                self.evaluator.require_unlearned(dense)
            except (OutOfTimeError, TrainingError, SettingsError) as error:
                self._skip(family.name, str(error))
                continue
            for base in self._lexical_bases():
                for candidate in dense_candidates(base, dense, family.name, stage, self.has_votes):
                    if candidate.lexical_base or not any(e.trial == candidate.trials[0] for e in self.evaluated_trials):
                        self._try_candidate(candidate)

    def try_cross_encoder(self, cross_encoder: Trial) -> None:
        """Try the current choice with its first hits re-ranked by a cross-encoder."""
        needed = self._time_pairs(cross_encoder) * len(self.task.dev.qrels)
        for entry in self._choices_over_folds(choose):
            candidate = cross_encoder_candidate(entry.candidate, entry.trial, cross_encoder)
            if needed > self.budget.remaining_s and not self._is_evaluated(candidate):
                self._skip(candidate.name, _no_time_reason(needed, self.budget.remaining_s))
            else:
                self._try_candidate(candidate)

    def try_distinct(self) -> None:
        """Try the current choice with distinct hits, unless all known duplicates are held out."""
        clusters = self.archive.view(held_out_splits=self.task.held_out_splits).clusters()
        for entry in self._choices_over_folds(choose) if clusters.visible_names else ():
            self._try_candidate(distinct_candidate(entry.candidate, entry.trial))

    def _try_candidate(self, candidate: Candidate, is_optional: bool = True) -> None:
        """Measure the candidate's trials until the budget is spent; record the rest as skipped."""
        started, measure, trials = time.monotonic(), self.evaluator.measures[0], candidate.trials
        found = self.evaluator.evaluate_trials(trials, is_over=self._is_over if is_optional else never)
        entries: list[EvaluatedTrial] = []
        try:
            for trial, values in zip(trials, found, strict=True):
                entries.append(EvaluatedTrial.from_values(candidate, trial, measure, values))
        except OutOfTimeError as error:
            self._skip(
                candidate.name, f"no time: {len(entries)} of {len(trials)} settings were tried, the next {error}"
            )
        if not entries:
            return
        self.evaluated_trials += entries
        queries = sorted(entries[0].values)
        best = max(entries, key=lambda entry: entry.mean(queries))
        means, seconds = (best.mean(queries), best.reported_mean), time.monotonic() - started
        self.candidate_results.append(CandidateResult(candidate, best.trial, *means, len(queries), seconds))
        self._notify(self.candidate_results[-1])

    def _time_pairs(self, cross_encoder: Trial) -> float:
        """Return the seconds to score the pairs of one query."""
        scorer = self.evaluator.create_ranker(cross_encoder).scorer  # type: ignore[attr-defined]
        query = next(iter(self.task.dev.queries.values()))
        documents = [question for _, question in islice(self.archive.view().questions(), CROSS_DEPTH)]
        scorer.score(query, documents[:1])  # opens the model
        started = time.monotonic()
        scorer.score(query, documents)
        return time.monotonic() - started

    def _is_over(self) -> bool:
        return self.budget.remaining_s < 0

    def _skip(self, name: str, reason: str) -> None:
        self.skipped.append(Skipped(name, reason))
        self._notify(self.skipped[-1])

    def _is_evaluated(self, candidate: Candidate) -> bool:
        return all(self.evaluator.memory.trial_values(trial, "dev") is not None for trial in candidate.trials)

    def _untrained_trial(self, family: CandidateFamily) -> Trial:
        return self.teacher.trial if self.teacher and family.needs_teacher else Trial(family.name)

    def _skip_reason(self, family: CandidateFamily) -> str | None:
        if family.needs_teacher and not self.teacher:
            return "no pre-trained encoder; name one with --encoder"
        if module := missing_module(family):
            return f"{module} is not installed: pip install 'askalike[{family.extra}]'"
        if self._is_over():
            return _no_time_reason(0.0, 0.0)
        if reason := family.recipe and self.trainer.untrainable_reason(family):
            return reason
        needed, left = self._estimate_s(family), self.budget.remaining_s
        return _no_time_reason(needed, left) if needed > left else None

    def _estimate_s(self, family: CandidateFamily) -> float:
        """Return the seconds that a family takes to train, to encode all questions, and to rank."""
        training_s, encoding_s = 0.0, len(self.archive.view()) / INDEXED_PER_SECOND
        if family.recipe:
            training_s = self.trainer.estimate_training_s(family)
        elif self.evaluator.memory.trial_values(self._untrained_trial(family), "dev") is not None:
            return 0.0
        elif family.needs_teacher:
            encoding_s = self.trainer.estimate_encoding_s()
        return encoding_s + RANKINGS_PER_FAMILY * self._ranking_s + training_s

    def _lexical_bases(self) -> Sequence[Trial]:
        return [entry.trial for entry in self._choices_over_folds(choose_lexical)]

    def _choices_over_folds(self, choose_from: TrialChooser) -> Sequence[EvaluatedTrial]:
        """Return the distinct choices on all queries, and, with nested folds, on all folds but one."""
        queries = sorted(self.evaluated_trials[0].values)
        query_sets = [queries]
        if self.task.test is None:
            query_sets += [rest for _, rest in nested_folds(queries, self.task.dev.qrels, seed=self.task.seed)]
        choices = [choose_from(self.evaluated_trials, some) for some in query_sets]
        return [entry for n, entry in enumerate(choices) if entry not in choices[:n]]


def _no_time_reason(needed_s: float, remaining_s: float, scope: str = "") -> str:
    needed = f"it takes about {format_duration(needed_s)}, and " if needed_s else ""
    return f"no time: {needed}{format_duration(max(remaining_s, 0.0))}{scope} are left"
