"""Trains a rung of the ladder on what an archive may be learned from, as long as there is time."""

import hashlib
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from askalike.encoders import MODEL_FILE
from askalike.encoders._recipe import Recipe
from askalike.errors import AskalikeError
from askalike.experiments import training
from askalike.labels.training_pairs import count_pairs
from askalike.rankers import MODELS_FOLDER
from askalike.store.archive import Archive
from askalike.store.samples import sample_questions
from askalike.tuning.budget import Budget
from askalike.tuning.candidates import LABEL_SIGNALS, CandidateFamily, Trial
from askalike.tuning.state import TuningState
from askalike.tuning.task import TuningTask
from askalike.tuning.teacher import Teacher, count_words

LENGTH_SAMPLE = 500
"""So many questions tell how long texts are."""
REFERENCE_TITLE_WORDS = 10.0
"""Words of a text, of which a rung's `per_second` is."""
MIN_PAIRS = 500
"""Pairs; fewer teach a network nothing that words do not know."""

Log = Callable[[str], None]


class OutOfTimeError(AskalikeError):
    """Training was stopped because the budget was spent; what it has learned is kept, and it goes on from there."""


class ModelTrainer:
    """Trains rungs, some of them by a pre-trained encoder, where there is one."""

    def __init__(
        self, archive: Archive, task: TuningTask, state: TuningState, teacher: Teacher | None, log: Log
    ) -> None:
        self.archive, self.task, self.state, self.teacher, self.log = archive, task, state, teacher, log
        self.label_trained_models: set[str] = set()
        """The models that have learned from labels."""
        self._pair_counts: dict[str, int] = {}
        self._view = archive.view(held_out_splits=task.held_out_splits, excluded_ids=task.excluded_ids)

    def model_name(self, family: CandidateFamily) -> str:
        """The model that the rung becomes; that of another state of the archive, or another teacher, is another one."""
        taught = (
            hashlib.sha256(self.teacher.model.encode()).hexdigest()[:4] if family.needs_teacher and self.teacher else ""
        )
        return f"{family.recipe}-{self.state.key[:8]}{taught}"

    def is_trained(self, family: CandidateFamily) -> bool:
        """Whether it is there already."""
        return (self.archive.path / MODELS_FOLDER / self.model_name(family) / MODEL_FILE).exists()

    def available_signals(self, family: CandidateFamily) -> Sequence[str]:
        """Those of the rung's signals that the archive has; the weak ones where it has too little else."""
        return list(self._count_pairs(family))

    def untrainable_reason(self, family: CandidateFamily) -> str | None:
        """Why the rung cannot be trained here; None where it can."""
        if not family.needs_teacher and (n := sum(self._count_pairs(family).values())) < MIN_PAIRS:
            return f"{n} pairs to learn from, {MIN_PAIRS} are needed"
        return None

    def estimate_training_s(self, family: CandidateFamily) -> float:
        """How long training will take, guessed from the archive's texts; the teacher's pace is measured."""
        if self.is_trained(family):
            return 0.0
        recipe = self._recipe(family)
        if self.teacher and family.needs_teacher:
            read = self._count_teacher_words(recipe)
            return (
                read / self.teacher.words_per_s
                + read / REFERENCE_TITLE_WORDS * recipe.training.epochs / family.pairs_per_second
            )
        longer = sum(self._mean_lengths) / (2 * REFERENCE_TITLE_WORDS)
        return (
            sum(self._count_pairs(family).values()) * longer * min(recipe.training.epochs, 10) / family.pairs_per_second
        )

    def estimate_encoding_s(self) -> float:
        """How long the teacher takes for all questions."""
        return self._mean_lengths[1] * len(self._view) / self.teacher.words_per_s if self.teacher else 0.0

    def train(self, family: CandidateFamily, budget: Budget) -> Trial:
        """Trains the rung, unless it is there; the trial that uses it. Raises OutOfTimeError, TrainingError."""
        if not self.is_trained(family):
            started = time.monotonic()

            def watch(progress: Any) -> None:
                if budget.remaining_s < 0:
                    raise OutOfTimeError(
                        f"{family.name} was stopped in epoch {progress.epoch}; a larger --budget goes on"
                    )

            try:
                training.train(
                    self.archive, self._recipe(family), self.model_name(family),
                    held_out=self.task.held_out_splits, excluded_ids=self.task.excluded_ids,
                    teacher=self.teacher.encoder if self.teacher and family.needs_teacher else None,
                    report=watch, log=self.log,
                )  # fmt: skip
            finally:
                self.state.record_time(f"train {family.name}", time.monotonic() - started)
        if set(LABEL_SIGNALS) & set(self.available_signals(family)):
            self.label_trained_models.add(self.model_name(family))
        return Trial(self.model_name(family))

    def _recipe(self, family: CandidateFamily) -> Recipe:
        own: dict[str, Any] = {"signals": tuple(self.available_signals(family))}
        if self.teacher and family.needs_teacher:
            own = {"teacher.model": self.teacher.model, "teacher.half": "precision" in self.teacher.settings}
        return Recipe.read(family.recipe or "", {**family.recipe_settings, **own})

    def _count_teacher_words(self, recipe: Recipe) -> float:
        """About how many words a teacher is asked about; whole questions it knows by then."""
        lessons, (title, whole) = recipe.teacher, self._mean_lengths
        made = lessons.prefixes + lessons.dropped + lessons.recombined + 2 * lessons.alone
        return len(self._view) * (title * made + whole)

    @cached_property
    def _mean_lengths(self) -> tuple[float, float]:
        """The mean number of words of a title, and of a whole question."""
        some = list(sample_questions(self._view, LENGTH_SAMPLE, 0))
        titles = sum(len(q.title.split()) for q in some)
        return titles / max(len(some), 1), sum(map(count_words, some)) / max(len(some), 1)

    def _count_pairs(self, family: CandidateFamily) -> dict[str, int]:
        """How many pairs there are of each of the signals that the rung learns from."""
        known = self._pair_counts = self._pair_counts or count_pairs(self._view)
        found = {name: known[name] for name in family.signals if known[name]}
        if sum(found.values()) < MIN_PAIRS:
            found |= {name: known[name] for name in family.weak_signals if known[name]}
        return found
