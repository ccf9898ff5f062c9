"""Trains a rung of the ladder on what an archive may be learned from, as long as there is time."""

import hashlib
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from askalike.archive.pairs import counts
from askalike.archive.sample import sampled_questions
from askalike.archive.store import Archive
from askalike.encoders import MODEL
from askalike.encoders._recipe import Recipe
from askalike.errors import AskalikeError
from askalike.experiment import training
from askalike.rankers import MODELS
from askalike.tune.budget import Budget
from askalike.tune.candidates import LABELS, Rung, Trial
from askalike.tune.state import State
from askalike.tune.task import Task
from askalike.tune.teacher import Teacher, words

PROBES = 500
"""So many questions tell how long texts are."""
TITLE = 10.0
"""Words of a text, of which a rung's `per_second` is."""
FEWEST = 500
"""Pairs; fewer teach a network nothing that words do not know."""

Say = Callable[[str], None]


class OutOfTimeError(AskalikeError):
    """Training was stopped because the budget was spent; what it has learned is kept, and it goes on from there."""


class Learner:
    """Trains rungs, some of them by a pre-trained encoder, where there is one."""

    def __init__(self, archive: Archive, task: Task, state: State, teacher: Teacher | None, say: Say) -> None:
        self.archive, self.task, self.state, self.teacher, self.say = archive, task, state, teacher, say
        self.labelled: set[str] = set()
        """The models that have learned from labels."""
        self._known: dict[str, int] = {}
        self._view = archive.view(hidden=task.hidden, withheld=task.withheld)

    def name(self, rung: Rung) -> str:
        """The model that the rung becomes; that of another state of the archive, or another teacher, is another one."""
        taught = hashlib.sha256(self.teacher.model.encode()).hexdigest()[:4] if rung.teacher and self.teacher else ""
        return f"{rung.recipe}-{self.state.key[:8]}{taught}"

    def trained(self, rung: Rung) -> bool:
        """Whether it is there already."""
        return (self.archive.path / MODELS / self.name(rung) / MODEL).exists()

    def signals(self, rung: Rung) -> Sequence[str]:
        """Those of the rung's signals that the archive has; the weak ones where it has too little else."""
        return list(self._counts(rung))

    def objection(self, rung: Rung) -> str | None:
        """Why the rung cannot be trained here; None where it can."""
        if not rung.teacher and (n := sum(self._counts(rung).values())) < FEWEST:
            return f"{n} pairs to learn from, {FEWEST} are needed"
        return None

    def estimate_s(self, rung: Rung) -> float:
        """How long training will take, guessed from the archive's texts; the teacher's pace is measured."""
        if self.trained(rung):
            return 0.0
        recipe = self._recipe(rung)
        if self.teacher and rung.teacher:
            read = self._lessons(recipe)
            return read / self.teacher.words_per_s + read / TITLE * recipe.training.epochs / rung.per_second
        longer = sum(self._lengths) / (2 * TITLE)
        return sum(self._counts(rung).values()) * longer * min(recipe.training.epochs, 10) / rung.per_second

    def encoding_s(self) -> float:
        """How long the teacher takes for all questions."""
        return self._lengths[1] * len(self._view) / self.teacher.words_per_s if self.teacher else 0.0

    def learn(self, rung: Rung, budget: Budget) -> Trial:
        """Trains the rung, unless it is there; the trial that uses it. Raises OutOfTimeError, TrainingError."""
        if not self.trained(rung):
            started = time.monotonic()

            def watch(progress: Any) -> None:
                if budget.left_s < 0:
                    raise OutOfTimeError(
                        f"{rung.name} was stopped in epoch {progress.epoch}; a larger --budget goes on"
                    )

            try:
                training.train(
                    self.archive, self._recipe(rung), self.name(rung),
                    hide=self.task.hidden, withheld=self.task.withheld,
                    teacher=self.teacher.encoder if self.teacher and rung.teacher else None,
                    report=watch, say=self.say,
                )  # fmt: skip
            finally:
                self.state.spend(f"train {rung.name}", time.monotonic() - started)
        if set(LABELS) & set(self.signals(rung)):
            self.labelled.add(self.name(rung))
        return Trial(self.name(rung))

    def _recipe(self, rung: Rung) -> Recipe:
        own: dict[str, Any] = {"signals": tuple(self.signals(rung))}
        if self.teacher and rung.teacher:
            own = {"teacher.model": self.teacher.model, "teacher.half": "precision" in self.teacher.settings}
        return Recipe.read(rung.recipe or "", {**rung.settings, **own})

    def _lessons(self, recipe: Recipe) -> float:
        """About how many words a teacher is asked about; whole questions it knows by then."""
        lessons, (title, whole) = recipe.teacher, self._lengths
        made = lessons.prefixes + lessons.dropped + lessons.recombined + 2 * lessons.alone
        return len(self._view) * (title * made + whole)

    @cached_property
    def _lengths(self) -> tuple[float, float]:
        """The mean number of words of a title, and of a whole question."""
        some = list(sampled_questions(self._view, PROBES, 0))
        titles = sum(len(q.title.split()) for q in some)
        return titles / max(len(some), 1), sum(map(words, some)) / max(len(some), 1)

    def _counts(self, rung: Rung) -> dict[str, int]:
        """How many pairs there are of each of the signals that the rung learns from."""
        known = self._known = self._known or counts(self._view)
        found = {name: known[name] for name in rung.signals if known[name]}
        if sum(found.values()) < FEWEST:
            found |= {name: known[name] for name in rung.weak if known[name]}
        return found
