"""What the choice is worth on queries that had no part in it: a test part, or each fold by what the others choose."""

from collections.abc import Iterator, Sequence

from askalike.archive.clusters import clusters_of, folds
from askalike.tune.bench import Bench
from askalike.tune.candidates import Trial
from askalike.tune.choosing import Entry, Values, best_lexical, chosen, chosen_lexical, difference
from askalike.tune.task import Task
from askalike.tune.verdict import Verdict

FOLDS = 5


def nested(task: Task, queries: Sequence[str], seed: int = 0) -> Iterator[tuple[list[str], list[str]]]:
    """Each fold of the queries with all others, duplicate clusters whole; none where a test part measures."""
    if task.test is not None:
        return
    there = set(queries)
    for fold in folds(queries, clusters_of(task.dev.qrels), FOLDS, seed):
        own = [q for q in fold if q in there]
        if own:
            yield own, [q for q in queries if q not in set(own)]


def judged(bench: Bench, entries: Sequence[Entry], seed: int) -> Verdict:
    """Chooses on dev and measures on test, or in nested folds."""
    queries = sorted(entries[0].values)
    winner, words, best = chosen(entries, queries), chosen_lexical(entries, queries), best_lexical(entries, queries)
    encoder = next((e for e in entries if e.trial.ranker == "pretrained"), None)
    names: list[str] = []
    if bench.task.test is not None:
        of_chosen, of_words = (_measured(bench, e.trial) for e in (winner, best))
        of_encoder = _measured(bench, encoder.trial) if encoder else None
    else:
        of_chosen, of_words, names = _out_of_fold(bench.task, entries, queries, seed)
        of_encoder = encoder.values if encoder else None
    value = sum(of_chosen.values()) / len(of_chosen)
    return Verdict(
        bench.task, bench.measure, winner, words, best.trial.ranker, value, difference(of_chosen, of_words),
        difference(of_chosen, of_encoder) if of_encoder else None, names,
    )  # fmt: skip


def _measured(bench: Bench, trial: Trial) -> Values:
    return next(values for _, values in bench.values([trial], "test"))


def _out_of_fold(
    task: Task, entries: Sequence[Entry], queries: Sequence[str], seed: int
) -> tuple[Values, Values, list[str]]:
    """Each query under what the other folds choose: of all candidates, and of the lexical ones."""
    found: dict[str, float] = {}
    words: dict[str, float] = {}
    names = []
    for own, rest in nested(task, queries, seed):
        winner, best = chosen(entries, rest), best_lexical(entries, rest)
        names.append(winner.candidate.name)
        found |= {q: winner.values[q] for q in own}
        words |= {q: best.values[q] for q in own}
    return found, words, names
