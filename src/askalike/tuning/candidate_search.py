"""The search of tuning: tries and measures candidates, from the simplest to the most complex, while there is time.

Each step takes what the steps before it have tried, and yields a result, or why there is none, for each candidate.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from askalike.core.errors import SettingsError, TrainingError
from askalike.core.values import format_duration
from askalike.labels.partitions import nested_folds
from askalike.store import Archive
from askalike.store.contents import has_content
from askalike.tuning.candidates import (
    CROSS_DEPTH,
    CROSS_ENCODER_RANKER,
    WITH_VOTES,
    Candidate,
    CandidateFamily,
    Stage,
    cross_encoder_candidate,
    dense_candidates,
    distinct_candidate,
    incumbent_candidate,
    lexical_candidates,
    list_families,
    missing_module,
    votes_candidate,
)
from askalike.tuning.models import ModelTrainer
from askalike.tuning.task import TuningTask
from askalike.tuning.trials import Budget, IsOver, OutOfTimeError, Trial, TrialEvaluator, never
from askalike.tuning.verdict import Contest, EvaluatedTrial, choose, choose_lexical

LEXICAL_BUDGET_SHARE = 0.3
"""Maximum share of the budget for lexical rankers."""
INDEXED_PER_SECOND = 1_500.0
"""Questions per second that packaged and trained vectors encode and store: a conservative guess."""
RANKINGS_PER_FAMILY = 20
"""The time for the hybrids of a family, as a number of lexical rankings of dev."""
VERDICT_RANKINGS = 3
"""The number of rankers measured at the end: the choice, the previously active one, and the best lexical one."""
TrialChooser = Callable[[Contest, Sequence[str]], EvaluatedTrial]


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """The measured trials of a candidate on the dev queries, the best of them, and the seconds that all took."""

    evaluated: Sequence[EvaluatedTrial]
    best: EvaluatedTrial
    seconds: float

    @property
    def candidate(self) -> Candidate:
        """The candidate."""
        return self.best.candidate

    @property
    def mean(self) -> float:
        """The best trial's mean of the tuning measure."""
        return self.best.mean(sorted(self.best.values))


@dataclass(frozen=True, slots=True)
class Skipped:
    """The name of a candidate or family that was not tried, and why."""

    name: str
    reason: str


Outcome = CandidateResult | Skipped
Event = TuningTask | Outcome
EventListener = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Tried:
    """The results so far: of the active ranker before tuning, then of other candidates, and those skipped."""

    incumbent: CandidateResult
    results: tuple[CandidateResult, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def contest(self) -> Contest:
        """All measured trials."""
        return Contest(self.incumbent.best, [entry for result in self.results for entry in result.evaluated])

    def add(self, outcome: Outcome) -> "Tried":
        """Return the same with one more outcome."""
        if isinstance(outcome, Skipped):
            return replace(self, skipped=(*self.skipped, outcome))
        return replace(self, results=(*self.results, outcome))


@dataclass(frozen=True, slots=True)
class SearchContext:
    """The task of a search, and the means to try candidates."""

    task: TuningTask
    evaluator: TrialEvaluator
    trainer: ModelTrainer
    budget: Budget

    @property
    def archive(self) -> Archive:
        """The archive that is tuned."""
        return self.evaluator.task.archive

    def is_over(self) -> bool:
        """Return whether the time for the search is over."""
        return self.budget.remaining_s < 0

    def is_evaluated(self, trial: Trial) -> bool:
        """Return whether the trial's values on dev are known, from this run or an earlier one."""
        return self.evaluator.memory.trial_values(trial, "dev") is not None


Step = Callable[[SearchContext, Tried], Iterator[Outcome]]


def estimate_incumbent_s(context: SearchContext, trial: Trial) -> float:
    """Return the seconds to encode and index all questions for the active ranker, if that must be done."""
    if context.is_evaluated(trial) or context.evaluator.is_indexed(trial):
        return 0.0
    teacher = context.trainer.teacher
    uses_teacher = teacher and teacher.trial.ranker in (trial.ranker, *trial.part_names)
    encoding_s = context.trainer.estimate_encoding_s() if uses_teacher else 0.0
    return max(encoding_s, len(context.archive.view()) / INDEXED_PER_SECOND)


def estimate_verdict_s(context: SearchContext, incumbent: CandidateResult) -> float:
    """Return the seconds to rank the test queries with the chosen ranker and those that it is compared with."""
    task = context.task
    if task.test is None:
        return 0.0
    return incumbent.seconds / len(task.dev.qrels) * len(task.test.qrels) * VERDICT_RANKINGS


def try_candidates(context: SearchContext, active: Trial, cross_encoder: str, on_event: EventListener) -> Tried:
    """Try the active ranker, with which everything else is compared, then every candidate that the budget allows.

    cross_encoder: a folder or package; "" for none.
    """
    incumbent = _measure(context, incumbent_candidate(active))
    on_event(incumbent)
    reserved_s = context.budget.remaining_s - LEXICAL_BUDGET_SHARE * context.budget.limit_s
    untuned, *tuned = lexical_candidates(context.archive, context.evaluator.fixed)
    tried = Tried(incumbent)
    if untuned.trials[0] != active:
        result = _measure(context, untuned)
        on_event(result)
        tried = tried.add(result)
    ranking_s = _time_ranking(context, untuned.trials[0], tuned)
    try_lexical = partial(_try_lexical, candidates=tuned, ranking_s=ranking_s)
    steps: list[Step] = [
        partial(try_lexical, reserved_s=reserved_s),
        _try_votes,
        partial(_try_families, ranking_s=ranking_s),
        try_lexical,  # with what is left
        partial(_try_cross_encoder, encoder=cross_encoder),
        _try_distinct,
    ]
    for step in steps:
        for outcome in step(context, tried):
            on_event(outcome)
            tried = tried.add(outcome)
    return tried


def _time_ranking(context: SearchContext, trial: Trial, candidates: Sequence[Candidate]) -> float:
    """Return the seconds that a lexical ranking of dev takes; 0 if no candidate is left to try, or no time."""
    if context.is_over() or all(context.is_evaluated(each) for candidate in candidates for each in candidate.trials):
        return 0.0
    return context.evaluator.time_ranking(trial)


def _try_lexical(
    context: SearchContext, tried: Tried, candidates: Sequence[Candidate], ranking_s: float, reserved_s: float = 0
) -> Iterator[Outcome]:
    """Try the tuned lexical rankers that were not tried yet.

    reserved_s: what must be left of the budget; those that this does not allow are tried again later.
    """
    done = {outcome.name for outcome in tried.skipped} | {result.candidate.name for result in tried.results}
    for candidate in candidates:
        if candidate.name in done:
            continue
        needed, left = len(candidate.trials) * ranking_s, context.budget.remaining_s - reserved_s
        if needed <= left or all(map(context.is_evaluated, candidate.trials)):
            yield from _try(context, candidate)
        elif not reserved_s:
            yield Skipped(candidate.name, _no_time_reason(needed, left))


def _try_votes(context: SearchContext, tried: Tried) -> Iterator[Outcome]:
    """Try the chosen lexical rankers with votes, if the archive has any."""
    for base in _lexical_bases(context, tried) if has_content(context.archive, "votes") else ():
        yield from _try(context, votes_candidate(base.ranker, Stage(kind=WITH_VOTES), (base,), ((1.0,),), base))


def _try_families(context: SearchContext, tried: Tried, ranking_s: float) -> Iterator[Outcome]:
    """Try the families of dense rankers, each alone and with the lexical rankers chosen on the queries.

    Families without training come first: their time is known, and the teacher's vectors are then stored.
    """
    bases = _lexical_bases(context, tried)
    known = [entry.trial for entry in tried.contest.trials]
    has_votes = has_content(context.archive, "votes")
    for place, family in sorted(enumerate(list_families(), 1), key=lambda pair: pair[1].recipe is not None):
        if reason := _skip_reason(context, family, ranking_s):
            yield Skipped(family.name, reason)
            continue
        try:
            train = context.trainer.train
            dense = train(family, context.budget) if family.recipe else _untrained_trial(context, family)
            context.evaluator.require_unlearned(dense)
        except (OutOfTimeError, TrainingError, SettingsError) as error:
            yield Skipped(family.name, str(error))
            continue
        for candidate in dense_candidates(bases, dense, family.name, place, has_votes):
            if candidate.lexical_base or candidate.trials[0] not in known:
                yield from _try(context, candidate)


def _try_cross_encoder(context: SearchContext, tried: Tried, encoder: str) -> Iterator[Outcome]:
    """Try the current choice with its first hits re-ranked by a cross-encoder, if one is given."""
    if not encoder:
        return
    cross_encoder = Trial(CROSS_ENCODER_RANKER, {"encoder": encoder})
    needed = _time_pairs(context, cross_encoder) * len(context.task.dev.qrels)
    for entry in _choices(context, tried, choose):
        candidate = cross_encoder_candidate(entry.candidate, entry.trial, cross_encoder)
        left = context.budget.remaining_s
        if needed > left and not all(map(context.is_evaluated, candidate.trials)):
            yield Skipped(candidate.name, _no_time_reason(needed, left))
        else:
            yield from _try(context, candidate)


def _try_distinct(context: SearchContext, tried: Tried) -> Iterator[Outcome]:
    """Try the current choice with distinct hits, unless all known duplicates are held out."""
    clusters = context.archive.view(held_out_splits=context.task.held_out_splits).clusters()
    for entry in _choices(context, tried, choose) if clusters.visible_names else ():
        yield from _try(context, distinct_candidate(entry.candidate, entry.trial))


def _try(context: SearchContext, candidate: Candidate) -> Iterator[Outcome]:
    """Measure the candidate's trials until the budget is spent; the rest are skipped."""
    started = time.monotonic()
    entries: list[EvaluatedTrial] = []
    try:
        for entry in _evaluate(context, candidate, context.is_over):
            entries.append(entry)  # one by one, as those before an error count
    except OutOfTimeError as error:
        tried = f"{len(entries)} of {len(candidate.trials)} settings were tried"
        yield Skipped(candidate.name, f"no time: {tried}, the next {error}")
    if entries:
        yield _find_best(entries, started)


def _measure(context: SearchContext, candidate: Candidate) -> CandidateResult:
    """Measure all trials of a candidate, regardless of the budget."""
    started = time.monotonic()
    return _find_best(list(_evaluate(context, candidate, never)), started)


def _evaluate(context: SearchContext, candidate: Candidate, is_over: IsOver) -> Iterator[EvaluatedTrial]:
    """Yield a candidate's trials with their values on dev. Raises OutOfTimeError."""
    found = context.evaluator.evaluate_trials(candidate.trials, is_over=is_over)
    for trial, values in zip(candidate.trials, found, strict=True):
        yield EvaluatedTrial.from_values(candidate, trial, context.evaluator.measures[0], values)


def _find_best(entries: Sequence[EvaluatedTrial], started: float) -> CandidateResult:
    queries = sorted(entries[0].values)
    best = max(entries, key=lambda entry: entry.mean(queries))
    return CandidateResult(entries, best, time.monotonic() - started)


def _time_pairs(context: SearchContext, cross_encoder: Trial) -> float:
    """Return the seconds to score the pairs of one query."""
    scorer = context.evaluator.create_ranker(cross_encoder).scorer  # type: ignore[attr-defined]
    query = next(iter(context.task.dev.queries.values()))
    documents = [question for _, question in islice(context.archive.view().questions(), CROSS_DEPTH)]
    scorer.score(query, documents[:1])  # opens the model
    started = time.monotonic()
    scorer.score(query, documents)
    return time.monotonic() - started


def _untrained_trial(context: SearchContext, family: CandidateFamily) -> Trial:
    teacher = context.trainer.teacher
    return teacher.trial if teacher and family.needs_teacher else Trial(family.name)


def _skip_reason(context: SearchContext, family: CandidateFamily, ranking_s: float) -> str | None:
    if family.needs_teacher and not context.trainer.teacher:
        return "no pre-trained encoder; name one with --encoder"
    if module := missing_module(family):
        return f"{module} is not installed: pip install 'askalike[{family.extra}]'"
    if context.is_over():
        return _no_time_reason(0.0, 0.0)
    if reason := family.recipe and context.trainer.untrainable_reason(family):
        return reason
    needed = _estimate_s(context, family, ranking_s)
    left = context.budget.remaining_s
    return _no_time_reason(needed, left) if needed > left else None


def _estimate_s(context: SearchContext, family: CandidateFamily, ranking_s: float) -> float:
    """Return the seconds that a family takes to train, to encode all questions, and to rank."""
    training_s = 0.0
    encoding_s = len(context.archive.view()) / INDEXED_PER_SECOND
    if family.recipe:
        training_s = context.trainer.estimate_training_s(family)
    elif context.is_evaluated(_untrained_trial(context, family)):
        return 0.0
    elif family.needs_teacher:
        encoding_s = context.trainer.estimate_encoding_s()
    return encoding_s + RANKINGS_PER_FAMILY * ranking_s + training_s


def _lexical_bases(context: SearchContext, tried: Tried) -> Sequence[Trial]:
    return [entry.trial for entry in _choices(context, tried, choose_lexical)]


def _choices(context: SearchContext, tried: Tried, choose_from: TrialChooser) -> Sequence[EvaluatedTrial]:
    """Return the distinct choices on all queries, and, with nested folds, on all folds but one."""
    task = context.task
    queries = sorted(tried.incumbent.best.values)
    folds = () if task.test is not None else nested_folds(queries, task.dev.qrels, seed=task.seed)
    chosen = [choose_from(tried.contest, some) for some in (queries, *(rest for _, rest in folds))]
    return [entry for n, entry in enumerate(chosen) if entry not in chosen[:n]]


def _no_time_reason(needed_s: float, remaining_s: float) -> str:
    needed = f"it takes about {format_duration(needed_s)}, and " if needed_s else ""
    return f"no time: {needed}{format_duration(max(remaining_s, 0.0))} are left"
