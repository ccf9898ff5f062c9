"""Trains a rung of the ladder on what an archive may be learned from, as long as there is time."""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from askalike.archive.pairs import counts
from askalike.archive.store import Archive
from askalike.encoders import MODEL
from askalike.encoders import build as encoder_of
from askalike.encoders._recipe import Recipe
from askalike.errors import AskalikeError
from askalike.experiment import training
from askalike.rankers import MODELS
from askalike.tune.budget import Budget
from askalike.tune.candidates import LABELS, Rung, Trial
from askalike.tune.state import State
from askalike.tune.task import Task

PROBES = 32
"""So many texts tell how fast a teacher is."""
FEWEST = 500
"""Pairs; fewer teach a network nothing that words do not know."""

Say = Callable[[str], None]


class OutOfTimeError(AskalikeError):
    """Training was stopped because the budget was spent; what it has learned is kept, and it goes on from there."""


class Learner:
    """Trains rungs. `encoder`: the pre-trained encoder that teaches, as `pretrained` takes it; none if empty."""

    def __init__(self, archive: Archive, task: Task, state: State, encoder: str, say: Say) -> None:
        self.archive, self.task, self.state, self.encoder, self.say = archive, task, state, encoder, say
        self.labelled: set[str] = set()
        """The models that have learned from labels."""
        self._known: dict[str, int] = {}
        self._pace = 0.0
        self._view = archive.view(hidden=task.hidden, withheld=task.withheld)

    def name(self, rung: Rung) -> str:
        """The model that the rung becomes; that of another state of the archive, or another teacher, is another one."""
        taught = hashlib.sha256(self.encoder.encode()).hexdigest()[:4] if rung.teacher else ""
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
        """How long training will take, guessed from the archive's size; the teacher's pace is measured."""
        if self.trained(rung):
            return 0.0
        recipe = self._recipe(rung)
        if not rung.teacher:
            return sum(self._counts(rung).values()) * min(recipe.training.epochs, 10) / rung.per_second
        lessons = recipe.teacher
        versions = lessons.prefixes + lessons.dropped + lessons.recombined + (3 if self._has_bodies() else 1)
        texts = (versions + 2 * lessons.alone) * len(self._view)
        return texts / self.pace() + texts * recipe.training.epochs / rung.per_second

    def pace(self) -> float:
        """Texts that the encoder takes a second, measured once on some of the archive's own."""
        if not self._pace:
            texts = [q for _, q in zip(range(PROBES), (q for _, q in self._view.questions()), strict=False)]
            encoder = encoder_of("pretrained", {"model": self.encoder})
            encoder.encode(texts[:1], "document")
            started = time.monotonic()
            encoder.encode(texts, "document")
            self._pace = len(texts) / (time.monotonic() - started)
        return self._pace

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
                    hide=self.task.hidden, withheld=self.task.withheld, report=watch, say=self.say,
                )  # fmt: skip
            finally:
                self.state.spend(f"train {rung.name}", time.monotonic() - started)
        if set(LABELS) & set(self.signals(rung)):
            self.labelled.add(self.name(rung))
        return Trial(self.name(rung))

    def _recipe(self, rung: Rung) -> Recipe:
        own = {"teacher.model": self.encoder} if rung.teacher else {"signals": tuple(self.signals(rung))}
        return Recipe.read(rung.recipe or "", {**rung.settings, **own})

    def _counts(self, rung: Rung) -> dict[str, int]:
        """How many pairs there are of each of the signals that the rung learns from."""
        known = self._known = self._known or counts(self._view)
        found = {name: known[name] for name in rung.signals if known[name]}
        if sum(found.values()) < FEWEST:
            found |= {name: known[name] for name in rung.weak if known[name]}
        return found

    def _has_bodies(self) -> bool:
        return (
            self.archive.connection.execute("SELECT 1 FROM questions WHERE body != '' LIMIT 1").fetchone() is not None
        )
