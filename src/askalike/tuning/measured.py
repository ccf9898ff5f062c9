"""What the choice is worth on queries that had no part in it: a test part, or each fold by what the others choose."""

from collections.abc import Iterator, Sequence
from math import fsum

from askalike.labels.clusters import assign_folds, clusters_from_qrels
from askalike.tuning.candidates import PRETRAINED_RANKER
from askalike.tuning.choice import EvaluatedTrial, QueryValues, best_lexical, choose, choose_lexical, paired_difference
from askalike.tuning.task import TuningTask
from askalike.tuning.trial_evaluator import TrialEvaluator
from askalike.tuning.verdict import TuningVerdict

FOLDS = 5


def nested_folds(task: TuningTask, queries: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Each fold of the queries with all others, duplicate clusters whole; none where a test part measures."""
    if task.test is not None:
        return
    there = set(queries)
    for fold in assign_folds(queries, clusters_from_qrels(task.dev.qrels), FOLDS, task.seed):
        own = [q for q in fold if q in there]
        if own:
            yield own, [q for q in queries if q not in set(own)]


def evaluate_choice(evaluator: TrialEvaluator, trials: Sequence[EvaluatedTrial]) -> TuningVerdict:
    """Chooses on dev and measures on test, or in nested folds."""
    queries = sorted(trials[0].values)
    winner, best = choose(trials, queries), best_lexical(trials, queries)
    encoder = next((e for e in trials if e.trial.ranker == PRETRAINED_RANKER), None)
    if evaluator.task.test is not None:
        folds_chose: Sequence[str] = ()
        ours, words = _evaluate_on_test(evaluator, winner), _evaluate_on_test(evaluator, best)
        alone = _evaluate_on_test(evaluator, encoder) if encoder else None
    else:
        ours, words, folds_chose = _cross_validate(evaluator.task, trials, queries)
        alone = encoder
    return TuningVerdict(
        evaluator.task, evaluator.measure, winner, choose_lexical(trials, queries), best.trial.ranker,
        _mean(ours.reported_values), paired_difference(ours.reported_values, words.reported_values), paired_difference(ours.values, words.values),
        paired_difference(ours.values, alone.values) if alone else None, folds_chose,
    )  # fmt: skip


def _mean(values: QueryValues) -> float:
    return fsum(values.values()) / len(values)


def _evaluate_on_test(evaluator: TrialEvaluator, trial: EvaluatedTrial) -> EvaluatedTrial:
    """The entry with what it is worth on the test queries."""
    return EvaluatedTrial(trial.candidate, *next(evaluator.evaluate_trials([trial.trial], "test")))


def _cross_validate(
    task: TuningTask, trials: Sequence[EvaluatedTrial], queries: Sequence[str]
) -> tuple[EvaluatedTrial, EvaluatedTrial, list[str]]:
    """Each query under what the other folds choose, of all candidates and of the lexical ones; and the choices."""
    chose: list[tuple[list[str], EvaluatedTrial]] = []
    words: list[tuple[list[str], EvaluatedTrial]] = []
    for own, rest in nested_folds(task, queries):
        chose.append((own, choose(trials, rest)))
        words.append((own, best_lexical(trials, rest)))
    return _merge_folds(chose), _merge_folds(words), [entry.candidate.name for _, entry in chose]


def _merge_folds(folds: Sequence[tuple[list[str], EvaluatedTrial]]) -> EvaluatedTrial:
    values = {q: entry.values[q] for own, entry in folds for q in own}
    shown = {q: entry.reported_values[q] for own, entry in folds for q in own}
    return EvaluatedTrial(folds[0][1].candidate, folds[0][1].trial, values, shown)
