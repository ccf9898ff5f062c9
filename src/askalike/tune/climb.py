"""Climbing the ladder: each rung is tried if there is time for it, and told what it was worth."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum

from askalike.errors import TrainingError
from askalike.tune.bench import Bench
from askalike.tune.budget import Budget, spoken
from askalike.tune.candidates import (
    LADDER,
    WITH_VOTES,
    Candidate,
    Rung,
    Trial,
    dense_ladder,
    distinct,
    levels,
    lexical_ladder,
    missing,
    with_votes,
)
from askalike.tune.choosing import Entry, chosen, chosen_lexical
from askalike.tune.learning import Learner, OutOfTimeError
from askalike.tune.measured import nested
from askalike.tune.task import Task

WORDS_SHARE = 0.3
"""Of the budget, what the lexical rankers may take."""
INDEXED_PER_SECOND = 1_500.0
"""Questions that packaged and trained vectors encode and store a second: a cautious guess."""
RANKINGS = 20
"""What the hybrids of a rung take, in rankings by words."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate's best on the n queries that choose, by both measures, and how long it took to find."""

    candidate: Candidate
    trial: Trial
    mean: float
    shown: float
    n: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Left:
    """What was not tried, and why."""

    name: str
    why: str


Event = Task | Tried | Left
Tell = Callable[[Event], None]


class Climb:
    """What is tried, and what that was worth."""

    def __init__(self, bench: Bench, learner: Learner, budget: Budget, tell: Tell) -> None:
        self.bench, self.learner, self.budget, self.tell = bench, learner, budget, tell
        self.archive, self.task, self.teacher = bench.archive, bench.task, learner.teacher
        self.votes = self.archive.view().has_votes
        self.entries: list[Entry] = []
        self.tried: list[Tried] = []
        self.left: list[Left] = []

    def words(self) -> None:
        """The lexical rankers, as they come and tuned."""
        latest = self.budget.left_s - WORDS_SHARE * self.budget.limit_s
        for candidate in lexical_ladder(self.archive, self.bench.fixed):
            if self.entries and not self.bench.quick_s and not self._known(candidate):
                self.bench.clock(self.entries[0].trial)
            needed = len(candidate.trials) * self.bench.quick_s
            if self.entries and self.budget.left_s - needed < latest and not self._known(candidate):
                self._leave(candidate.name, self._time(needed, self.budget.left_s - latest))
            else:
                self._try(candidate)
        for base in self._bases() if self.votes else ():
            self._try(with_votes(base.ranker, WITH_VOTES, (base,), ((1.0,),), base))

    def vectors(self) -> None:
        """The ladder's rungs, each alone and with the lexical ranker that the queries choose.

        What needs no training comes first: what it takes is known, and a teacher then knows the archive's texts.
        """
        for rung, level in sorted(zip(LADDER, levels(), strict=False), key=lambda pair: pair[0].recipe is not None):
            needed = self._needed(rung)
            why = self._objection(rung) or (
                self._time(needed, self.budget.left_s) if needed > self.budget.left_s else ""
            )
            if why:
                self._leave(rung.name, why)
                continue
            try:
                dense = self._dense(rung)
            except (OutOfTimeError, TrainingError) as error:
                self._leave(rung.name, str(error))
                continue
            for base in self._bases():
                for candidate in dense_ladder(base, dense, rung.name, level, self.votes):
                    if candidate.base or not any(e.trial == candidate.trials[0] for e in self.entries):
                        self._try(candidate)

    def distinct(self) -> None:
        """What the queries choose so far, its hits all different questions, where the archive knows of such."""
        known = self.archive.view(hidden=self.task.hidden).clusters().known
        for entry in self._chosen(chosen) if known else ():
            self._try(distinct(entry.candidate, entry.trial))

    def _try(self, candidate: Candidate) -> None:
        started = time.monotonic()
        found = [Entry(candidate, *worth) for worth in self.bench.values(candidate.trials)]
        self.entries += found
        queries = sorted(found[0].values)
        best = max(found, key=lambda entry: entry.mean(queries))
        shown = fsum(best.shown.values()) / len(best.shown)
        took = time.monotonic() - started
        self.tried.append(Tried(candidate, best.trial, best.mean(queries), shown, len(queries), took))
        self.tell(self.tried[-1])

    def _leave(self, name: str, why: str) -> None:
        self.left.append(Left(name, why))
        self.tell(self.left[-1])

    def _known(self, candidate: Candidate) -> bool:
        return all(self.bench.state.found(trial, "dev") is not None for trial in candidate.trials)

    def _dense(self, rung: Rung) -> Trial:
        if rung.recipe:
            return self.learner.learn(rung, self.budget)
        return self._untrained(rung)

    def _untrained(self, rung: Rung) -> Trial:
        return Trial(rung.name, self.teacher.settings if self.teacher and rung.teacher else {})

    def _objection(self, rung: Rung) -> str | None:
        if rung.teacher and not self.teacher:
            return "no pre-trained encoder is given (--encoder)"
        if module := missing(rung):
            return f"{module} is not installed"
        if rung.recipe and not self.learner.trained(rung):
            return self.learner.objection(rung)
        return None

    def _needed(self, rung: Rung) -> float:
        """Seconds that a rung takes: to train, to encode all questions, and to rank."""
        if self._objection(rung) or (not rung.recipe and self._ranked(rung)):
            return 0.0
        if rung.teacher and not rung.recipe:
            takes = self.learner.encoding_s()
        else:
            takes = len(self.archive.view()) / INDEXED_PER_SECOND
        return takes + RANKINGS * self.bench.quick_s + (self.learner.estimate_s(rung) if rung.recipe else 0.0)

    def _ranked(self, rung: Rung) -> bool:
        return self.bench.state.found(self._untrained(rung), "dev") is not None

    def _time(self, needed: float, left: float) -> str:
        return f"no time: it takes about {spoken(needed)}, and {spoken(max(left, 0.0))} are left"

    def _bases(self) -> Sequence[Trial]:
        return [entry.trial for entry in self._chosen(chosen_lexical)]

    def _chosen(self, by: Callable[[Sequence[Entry], Sequence[str]], Entry]) -> Sequence[Entry]:
        """What the queries choose: all of them, or those of all folds but one."""
        queries = sorted(self.entries[0].values)
        among = [queries, *(rest for _, rest in nested(self.task, queries))]
        found = [by(self.entries, some) for some in among]
        return [entry for n, entry in enumerate(found) if entry not in found[:n]]
