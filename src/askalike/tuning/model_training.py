"""Trains the model of a candidate family on an archive, without the held-out queries, as long as there is time."""

import hashlib
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from askalike.encoders import MODEL_FILE
from askalike.encoders.recipes import Recipe
from askalike.errors import AskalikeError
from askalike.experiments import training
from askalike.experiments.trials import Trial
from askalike.labels.training_pairs import count_pairs
from askalike.rankers import MODELS_FOLDER
from askalike.store import Archive, sample_questions
from askalike.tuning.candidates import LABEL_SIGNALS, CandidateFamily
from askalike.tuning.state import Budget, TuningState
from askalike.tuning.task import TuningTask
from askalike.tuning.teacher import Teacher, count_words

if TYPE_CHECKING:
    from askalike.training.trainer import TrainingProgress

LENGTH_SAMPLE = 500
"""The number of questions that measure the lengths of texts."""
REFERENCE_TITLE_WORDS = 10.0
"""The length of the texts that `CandidateFamily.pairs_per_second` refers to."""
MIN_PAIRS = 500
"""With fewer training pairs a network learns nothing that lexical rankers lack."""

Log = Callable[[str], None]


class OutOfTimeError(AskalikeError):
    """Training was stopped because the budget was spent. The next run goes on from its last checkpoint."""


class ModelTrainer:
    """Trains the models of candidate families, some of them by a teacher.

    `label_trained_models` are the names of the models that have learned from labels.
    """

    def __init__(
        self, archive: Archive, task: TuningTask, state: TuningState, teacher: Teacher | None, log: Log
    ) -> None:
        self.archive, self.task, self.state, self.teacher, self.log = archive, task, state, teacher, log
        self.label_trained_models: set[str] = set()
        self._pair_counts: dict[str, int] = {}
        self._view = archive.view(held_out_splits=task.held_out_splits, excluded_ids=task.excluded_ids)

    def model_name(self, family: CandidateFamily) -> str:
        """Return the name of the family's model, another one for another state of the archive and another teacher."""
        suffix = ""
        if self.teacher and family.needs_teacher:
            suffix = hashlib.sha256(self.teacher.model.encode()).hexdigest()[:4]
        return f"{family.recipe}-{self.state.key[:8]}{suffix}"

    def is_trained(self, family: CandidateFamily) -> bool:
        """Return whether the family's model is trained already."""
        return (self.archive.path / MODELS_FOLDER / self.model_name(family) / MODEL_FILE).exists()

    def available_signals(self, family: CandidateFamily) -> Sequence[str]:
        """Return the family's signals that the archive has, with the weak ones where the others give too few pairs."""
        return list(self._count_pairs(family))

    def untrainable_reason(self, family: CandidateFamily) -> str | None:
        """Return why the family cannot be trained on this archive; None where it can."""
        if not family.needs_teacher and (n := sum(self._count_pairs(family).values())) < MIN_PAIRS:
            return f"{n} pairs to learn from, {MIN_PAIRS} are needed"
        return None

    def estimate_training_s(self, family: CandidateFamily) -> float:
        """Return the seconds that training will take, estimated from the archive's texts and the teacher's speed."""
        if self.is_trained(family):
            return 0.0
        recipe = self._recipe(family)
        if self.teacher and family.needs_teacher:
            words = self._count_teacher_words(recipe)
            student_s = words / REFERENCE_TITLE_WORDS * recipe.training.epochs / family.pairs_per_second
            return words / self.teacher.words_per_s + student_s
        relative_length = sum(self._mean_lengths) / (2 * REFERENCE_TITLE_WORDS)
        n_pairs = sum(self._count_pairs(family).values())
        return n_pairs * relative_length * min(recipe.training.epochs, 10) / family.pairs_per_second

    def estimate_encoding_s(self) -> float:
        """Return the seconds that the teacher takes for all questions."""
        return self._mean_lengths[1] * len(self._view) / self.teacher.words_per_s if self.teacher else 0.0

    def train(self, family: CandidateFamily, budget: Budget) -> Trial:
        """Train the family's model, unless it is trained already, and return its trial.

        Raises OutOfTimeError where the budget is spent, and TrainingError.
        """
        if not self.is_trained(family):
            started = time.monotonic()

            def stop_when_spent(progress: "TrainingProgress") -> None:
                if budget.remaining_s < 0:
                    raise OutOfTimeError(
                        f"{family.name} was stopped in epoch {progress.epoch}; a larger --budget goes on"
                    )

            try:
                training.train(
                    self.archive, self._recipe(family), self.model_name(family),
                    held_out=self.task.held_out_splits, excluded_ids=self.task.excluded_ids,
                    teacher=self.teacher.encoder if self.teacher and family.needs_teacher else None,
                    report=stop_when_spent, log=self.log,
                )  # fmt: skip
            finally:
                self.state.record_time(f"train {family.name}", time.monotonic() - started)
        if set(LABEL_SIGNALS) & set(self.available_signals(family)):
            self.label_trained_models.add(self.model_name(family))
        return Trial(self.model_name(family))

    def _recipe(self, family: CandidateFamily) -> Recipe:
        values: dict[str, Any] = {"signals": tuple(self.available_signals(family))}
        if self.teacher and family.needs_teacher:
            values = {"teacher.model": self.teacher.model, "teacher.half": "precision" in self.teacher.settings}
        return Recipe.read(family.recipe or "", {**family.recipe_settings, **values})

    def _count_teacher_words(self, recipe: Recipe) -> float:
        """Return about how many words the teacher encodes for a student."""
        lessons, (title, whole) = recipe.teacher, self._mean_lengths
        titles_per_question = lessons.prefixes + lessons.dropped + lessons.recombined + 2 * lessons.alone
        return len(self._view) * (title * titles_per_question + whole)

    @cached_property
    def _mean_lengths(self) -> tuple[float, float]:
        """The mean number of words of a title, and of a whole question."""
        sample = list(sample_questions(self._view, LENGTH_SAMPLE, 0))
        titles = sum(len(q.title.split()) for q in sample)
        return titles / max(len(sample), 1), sum(map(count_words, sample)) / max(len(sample), 1)

    def _count_pairs(self, family: CandidateFamily) -> dict[str, int]:
        """Return the number of pairs of each signal that the family learns from."""
        counts = self._pair_counts = self._pair_counts or count_pairs(self._view)
        chosen = {name: counts[name] for name in family.signals if counts[name]}
        if sum(chosen.values()) < MIN_PAIRS:
            chosen |= {name: counts[name] for name in family.weak_signals if counts[name]}
        return chosen
