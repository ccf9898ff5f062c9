"""Trains the models of candidate families, if there is time; some with a pre-trained encoder as teacher."""

import hashlib
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from askalike import rankers
from askalike.core.records import Question
from askalike.core.values import format_count
from askalike.encoders import MODEL_FILE, Encoder, VectorCache
from askalike.labels.training_pairs import LABEL_SIGNALS, count_pairs
from askalike.learning.trainers import TrainingProgress, TrainingRecipe, load_recipe
from askalike.rankers import MODELS_FOLDER, Ranker
from askalike.store import Archive, View, sample_questions
from askalike.tuning import models
from askalike.tuning.candidates import CandidateFamily
from askalike.tuning.state import Budget, TuningState
from askalike.tuning.task import TuningTask
from askalike.tuning.trials import OutOfTimeError, RankerSettings, Trial

if TYPE_CHECKING:
    from askalike.encoders.pretrained import PretrainedEncoder

PROBE_QUESTIONS = 32
"""Number of questions used to measure an encoder's speed."""
MAX_WORDS = 200
"""Maximum number of words of a text that count: most models truncate the rest."""
LENGTH_SAMPLE = 500
"""Number of questions used to measure the lengths of texts."""
REFERENCE_TITLE_WORDS = 10.0
"""The length of texts assumed in `CandidateFamily.pairs_per_second`."""
REGRESSION_TITLES_PER_S = 5_000
"""Titles per second of the regression of a distillation, as a first guess."""
MIN_PAIRS = 500
"""Minimum number of training pairs with which a network can improve on lexical rankers."""
Log = Callable[[str], None]


class Teacher:
    """A pre-trained encoder: the archive's own by its name, or another one as in the ranker `pretrained`."""

    def __init__(self, trial: Trial, view: View, state: TuningState) -> None:
        self.trial, self._view = trial, view
        self._folder = state.folder / "encoded"
        self._words_per_s = 0.0

    @property
    def source(self) -> str:
        """The encoder's name in the archive, or its folder or package."""
        return str(self.trial.settings.get("encoder", self.trial.ranker))

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder. The vectors of documents are stored in the archive, those of other texts with the run."""
        ranker: Any = rankers.create(self.trial.ranker, self.trial.settings, self._view.path)
        encoder = cast("PretrainedEncoder", ranker.encoder)
        encoder.encode_documents(self._probes[:1])  # the first text takes longer
        started = time.monotonic()
        encoder.encode_documents(self._probes)
        self._words_per_s = sum(map(count_words, self._probes)) / (time.monotonic() - started)
        shared = encoder.share_vectors(self._view.path, len(self._view))
        encoder.cache = VectorCache(self._folder, encoder.fingerprint, below=shared)
        return encoder

    @cached_property
    def words_per_s(self) -> float:
        """The number of words of the archive's questions encoded per second."""
        return self._words_per_s if self.encoder else 0.0

    def create_ranker(self, name: str, settings: RankerSettings, archive: Archive) -> Ranker:
        """Return a ranker, as `rankers.create` does, which shares this encoder if it uses the same model."""
        ranker = rankers.create(name, settings, archive)
        self._share_encoder(ranker)
        return ranker

    def clear_memory(self) -> None:
        """Remove its stored vectors from the disk."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _share_encoder(self, ranker: Any) -> None:
        encoder = getattr(ranker, "encoder", None)
        if encoder is not None and encoder.fingerprint == self.encoder.fingerprint:
            ranker.encoder = self.encoder
        for part in ranker.parts:
            self._share_encoder(part)

    @cached_property
    def _probes(self) -> Sequence[Question]:
        return list(islice(sample_questions(self._view, PROBE_QUESTIONS, 0), PROBE_QUESTIONS))


def count_words(question: Question) -> int:
    """Return the approximate number of words of a question that an encoder reads."""
    return min(len(question.title.split()) + len(question.body.split()), MAX_WORDS)


class ModelTrainer:
    """Trains the models of candidate families; `label_trained_models`: names of those that have learned from labels."""

    def __init__(self, archive: Archive, task: TuningTask, state: TuningState, teacher: Teacher | None, log: Log):
        self.archive, self.task, self.state, self.teacher, self.log = archive, task, state, teacher, log
        self.label_trained_models: set[str] = set()
        self._trained_models: set[str] = set()
        self._pair_counts: dict[str, int] = {}
        self._view = archive.training_view(task.held_out_splits, excluded_ids=task.excluded_ids)

    def model_name(self, family: CandidateFamily) -> str:
        """Return the name of the family's model, which depends on the state of the archive and on the teacher."""
        suffix = ""
        if self.teacher and family.needs_teacher:
            suffix = hashlib.sha256(self.teacher.source.encode()).hexdigest()[:4]
        return f"{family.recipe}-{self.state.key[:8]}{suffix}"

    def is_trained(self, family: CandidateFamily) -> bool:
        """Return whether the family's model is already trained."""
        return (self.archive.path / MODELS_FOLDER / self.model_name(family) / MODEL_FILE).exists()

    def untrainable_reason(self, family: CandidateFamily) -> str | None:
        """Return why the family cannot be trained on this archive; None if it can."""
        if self.is_trained(family):
            return None
        if self.state.has_lost(self.model_name(family)):
            return "an earlier run trained it, but did not choose it"
        if family.needs_teacher:
            return None
        if (n := sum(self._count_pairs(family).values())) < MIN_PAIRS:
            return f"{format_count(n, 'pair')} to learn from, {MIN_PAIRS} are needed"
        return None

    def estimate_training_s(self, family: CandidateFamily) -> float:
        """Return the seconds that training will take, estimated from the archive's texts and the teacher's speed."""
        if self.is_trained(family):
            return 0.0
        if self.teacher and family.needs_teacher:
            from askalike.learning.distil import DistillationSettings  # its import takes 0.2 s

            texts = DistillationSettings()
            (title, whole) = self._mean_lengths
            titles_per_question = texts.n_prefixes + texts.n_word_dropout + texts.n_recombined + 2 * texts.single_words
            words = len(self._view) * (title * titles_per_question + whole)
            return words / self.teacher.words_per_s + words / REFERENCE_TITLE_WORDS / REGRESSION_TITLES_PER_S
        recipe = self._recipe(family)
        relative_length = sum(self._mean_lengths) / (2 * REFERENCE_TITLE_WORDS)
        n_pairs = sum(self._count_pairs(family).values())
        return n_pairs * relative_length * min(recipe.max_epochs, 10) / family.pairs_per_second

    def estimate_encoding_s(self) -> float:
        """Return the seconds that the teacher takes to encode all questions."""
        return self._mean_lengths[1] * len(self._view) / self.teacher.words_per_s if self.teacher else 0.0

    def train(self, family: CandidateFamily, budget: Budget) -> Trial:
        """Train the family's model, unless it is already trained, and return its trial.

        Raises OutOfTimeError if the budget is spent (the next run resumes from the last checkpoint), TrainingError.
        """
        if not self.is_trained(family):
            started = time.monotonic()

            def stop_when_spent(progress: TrainingProgress) -> None:
                if budget.remaining_s < 0:
                    where = f"in epoch {progress.epoch}"
                    raise OutOfTimeError(f"{family.name} was stopped {where}; a larger --budget resumes it")

            try:
                if self.teacher and family.needs_teacher:
                    models.distil(
                        self.archive, self.teacher.source, self.model_name(family), log=self.log,
                        teacher=self.teacher.encoder, excluded_ids=self.task.excluded_ids,
                    )  # fmt: skip
                else:
                    models.train(
                        self.archive, self._recipe(family), self.model_name(family),
                        held_out=self.task.held_out_splits, excluded_ids=self.task.excluded_ids,
                        report=stop_when_spent, log=self.log,
                    )  # fmt: skip
            finally:
                self.state.record_time(f"train {family.name}", time.monotonic() - started)
        self._trained_models.add(self.model_name(family))
        if set(LABEL_SIGNALS) & self._count_pairs(family).keys():
            self.label_trained_models.add(self.model_name(family))
        return Trial(self.model_name(family))

    def remove_losers(self, used_names: Collection[str]) -> None:
        """Remove the models of this search that are not used: they can be large."""
        for name in self._trained_models - set(used_names):
            self.state.record_loss(name)
            models.remove_model(self.archive, name)

    def _recipe(self, family: CandidateFamily) -> TrainingRecipe:
        signals = tuple(self._count_pairs(family))
        return load_recipe(family.recipe or "", {**family.recipe_settings, "signals": signals})

    @cached_property
    def _mean_lengths(self) -> tuple[float, float]:
        """The mean number of words of a title, and of a whole question."""
        sample = list(sample_questions(self._view, LENGTH_SAMPLE, 0))
        titles = sum(len(q.title.split()) for q in sample)
        return titles / max(len(sample), 1), sum(map(count_words, sample)) / max(len(sample), 1)

    def _count_pairs(self, family: CandidateFamily) -> dict[str, int]:
        """Return signal → number of pairs for the family, including weak signals if the others give too few."""
        counts = self._pair_counts = self._pair_counts or count_pairs(self._view)
        chosen = {name: counts[name] for name in family.signals if counts[name]}
        if sum(chosen.values()) < MIN_PAIRS:
            chosen |= {name: counts[name] for name in family.weak_signals if counts[name]}
        return chosen
