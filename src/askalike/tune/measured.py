"""What the choice is worth on queries that had no part in it: a test part, or each fold by what the others choose."""

from collections.abc import Iterator, Sequence
from math import fsum

from askalike.archive.clusters import clusters_of, folds
from askalike.tune.bench import Bench
from askalike.tune.candidates import ENCODER
from askalike.tune.choosing import Entry, Values, best_lexical, chosen, chosen_lexical, difference
from askalike.tune.task import Task
from askalike.tune.verdict import Verdict

FOLDS = 5


def nested(task: Task, queries: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Each fold of the queries with all others, duplicate clusters whole; none where a test part measures."""
    if task.test is not None:
        return
    there = set(queries)
    for fold in folds(queries, clusters_of(task.dev.qrels), FOLDS, task.seed):
        own = [q for q in fold if q in there]
        if own:
            yield own, [q for q in queries if q not in set(own)]


def judged(bench: Bench, entries: Sequence[Entry]) -> Verdict:
    """Chooses on dev and measures on test, or in nested folds."""
    queries = sorted(entries[0].values)
    winner, best = chosen(entries, queries), best_lexical(entries, queries)
    encoder = next((e for e in entries if e.trial.ranker == ENCODER), None)
    if bench.task.test is not None:
        folds_chose: Sequence[str] = ()
        ours, words = _measured(bench, winner), _measured(bench, best)
        alone = _measured(bench, encoder) if encoder else None
    else:
        ours, words, folds_chose = _out_of_fold(bench.task, entries, queries)
        alone = encoder
    return Verdict(
        bench.task, bench.measure, winner, chosen_lexical(entries, queries), best.trial.ranker,
        _mean(ours.shown), difference(ours.shown, words.shown), difference(ours.values, words.values),
        difference(ours.values, alone.values) if alone else None, folds_chose,
    )  # fmt: skip


def _mean(values: Values) -> float:
    return fsum(values.values()) / len(values)


def _measured(bench: Bench, entry: Entry) -> Entry:
    """The entry with what it is worth on the test queries."""
    return Entry(entry.candidate, *next(bench.values([entry.trial], "test")))


def _out_of_fold(task: Task, entries: Sequence[Entry], queries: Sequence[str]) -> tuple[Entry, Entry, list[str]]:
    """Each query under what the other folds choose, of all candidates and of the lexical ones; and the choices."""
    chose: list[tuple[list[str], Entry]] = []
    words: list[tuple[list[str], Entry]] = []
    for own, rest in nested(task, queries):
        chose.append((own, chosen(entries, rest)))
        words.append((own, best_lexical(entries, rest)))
    return _joined(chose), _joined(words), [entry.candidate.name for _, entry in chose]


def _joined(folds: Sequence[tuple[list[str], Entry]]) -> Entry:
    values = {q: entry.values[q] for own, entry in folds for q in own}
    shown = {q: entry.shown[q] for own, entry in folds for q in own}
    return Entry(folds[0][1].candidate, folds[0][1].trial, values, shown)
