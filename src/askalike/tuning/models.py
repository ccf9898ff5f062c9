"""The trained models of an archive: trains a recipe under a name, lists and removes models.

In tuning it trains those of candidate families, if there is time; some with a pre-trained encoder as teacher.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from askalike import encoders, rankers
from askalike.core.config import validate_settings
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.files import measure_folder
from askalike.core.hits import Run
from askalike.core.records import Question
from askalike.core.values import format_count
from askalike.encoders import MODEL_FILE, VectorCache
from askalike.labels.splits import document_kind, load_split
from askalike.labels.training_pairs import LABEL_SIGNALS, count_pairs
from askalike.learning.models import (
    TrainingProgress,
    TrainingProgressCallback,
    TrainingRecipe,
    load_recipe,
    partial_folder,
)
from askalike.rankers import MODELS_FOLDER, Ranker
from askalike.store import (
    Archive,
    View,
    get_served_ranker,
    imported_splits,
    partition_parts,
    sample_questions,
    takes_archive,
)
from askalike.store.deployments import get_archive_encoder, set_archive_encoder
from askalike.tuning.candidates import CandidateFamily
from askalike.tuning.task import TuningTask
from askalike.tuning.trials import Budget, OutOfTimeError, RankerSettings, Trial, TuningState

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


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A trained model of an archive, from its `model.toml`. `value` is the dev measure, as a share of 1."""

    name: str
    kind: str
    measure: str
    value: float | None
    pairs: int | None
    size_bytes: int


def held_out_splits(archive: Archive) -> list[str]:
    """Return the splits that are not used for training: imported ones except train, and dev and test parts."""
    parts = [name for name, part in partition_parts(archive).items() if part.name in ("dev", "test")]
    return [name for name in imported_splits(archive) if name != "train"] + parts


@takes_archive
def train(
    archive: Archive,
    recipe: TrainingRecipe | str,
    name: str,
    values: Mapping[str, Any] | None = None,
    *,
    dev: str | None = None,
    held_out: Sequence[str] = (),
    excluded_ids: Iterable[str] = (),
    report: TrainingProgressCallback | None = None,
    log: Callable[[str], None] = lambda line: None,
) -> Path:
    """Train a recipe on an archive, and return the model's folder, `models/<name>/`.

    archive: or its directory. recipe: its name, a TOML file, or what a trainer makes of either; a trainer is an
    installed package's. values: settings of a recipe that is named. Training does not use `held_out_splits(archive)`,
    the splits in held_out, dev, or the questions in excluded_ids. dev: the split whose queries choose the best epoch;
    without one, some clusters are set aside. The same call resumes an interrupted one. Raises ArchiveError if a model
    already has the name, SettingsError if nothing installed has the recipe.
    """
    recipe = load_recipe(recipe, values or {}) if isinstance(recipe, str) else recipe
    folder = _new_model_folder(archive, name)
    hidden = list(dict.fromkeys([*held_out_splits(archive), *held_out, *([dev] if dev else [])]))
    kind = document_kind(archive, dev) if dev else "questions"
    dev_labels = load_split(archive, dev, kind) if dev else None
    view = archive.training_view(hidden, kind=kind, dev=dev_labels, excluded_ids=excluded_ids)

    def mine(queries: Mapping[str, Question], ranker: str, depth: int) -> Run:
        miner = rankers.create(ranker, {}, archive.path)
        return rankers.rank(rankers.fit_and_open(miner, replace(view, kind="questions")), queries, depth)

    recipe.train(view, folder, miner=mine, report=report, log=log)
    return folder


@takes_archive
def distil(
    archive: Archive,
    model: str,
    name: str,
    values: Mapping[str, Any] | None = None,
    log: Callable[[str], None] = lambda line: None,
    *,
    teacher: encoders.Encoder | None = None,
    excluded_ids: Iterable[str] = (),
) -> Path:
    """Train a lookup of queries that replaces an encoder, and return the model's folder, `models/<name>/`.

    archive: or its directory. model: a model of the archive, an encoder of an extra, a sentence-transformers folder or
    package; "" for the archive's own encoder. values: of DistillationSettings. teacher: that encoder, if it is loaded
    already. excluded_ids: the questions not to learn from. The same call resumes an interrupted one. Raises
    SettingsError if there is no such encoder, ArchiveError if a model already has the name.
    """
    from askalike.learning.distil import DistillationSettings, learn_lookup, load_teacher

    folder = _new_model_folder(archive, name)
    own = get_archive_encoder(archive)
    if not model and own is None:
        raise SettingsError("distil: no encoder; name one, or choose one for the archive with: askalike encoder use")
    model = model or (own.name if own else "")
    is_named = model in (*rankers.trained_model_names(archive.path), *encoders.PACKAGED_ENCODERS)
    source = {"encoder": model} if is_named else {"encoder": "pretrained", "model": model}
    settings = validate_settings(DistillationSettings, {**(values or {}), **source}, "distil")
    view = archive.training_view((), excluded_ids=excluded_ids)
    learn_lookup(view, settings, teacher or load_teacher(view, settings), folder, log)
    return folder


def _new_model_folder(archive: Archive, name: str) -> Path:
    """Return the folder of a new model. Raises ArchiveError if a model already has the name."""
    rankers.check_model_name(name)
    folder = archive.path / MODELS_FOLDER / name
    if (folder / MODEL_FILE).exists():
        command = f"askalike models {archive.path} --remove {name}"
        raise ArchiveError(f"{folder}: this model already exists; remove it first: {command}")
    return folder


def list_models(archive: Archive) -> Sequence[TrainedModel]:
    """Return the archive's trained models, by name."""
    return [_read_model(path.parent) for path in sorted((archive.path / MODELS_FOLDER).glob(f"[!.]*/{MODEL_FILE}"))]


def remove_model(archive: Archive, name: str) -> None:
    """Delete a model, or the files of an interrupted training of that name.

    Raises ArchiveError if there is none, or if it is active.
    """
    folder = archive.path / MODELS_FOLDER / name
    paths = [path for path in (folder, partial_folder(folder)) if path.is_dir()]
    if not paths or name == ".." or folder.parent != archive.path / MODELS_FOLDER:
        names = ", ".join(model.name for model in list_models(archive)) or "none"
        raise ArchiveError(f"{archive.path}: no model {name!r}; there are: {names}")
    served = get_served_ranker(archive)
    if served and name in served.part_names:
        raise ArchiveError(f"{archive.path}: {name!r} is active; run first: askalike rollback {archive.path}")
    for path in paths:
        shutil.rmtree(path)
    if (encoder := get_archive_encoder(archive)) and encoder.name == name:
        set_archive_encoder(archive, None)


def _read_model(folder: Path) -> TrainedModel:
    model = encoders.read_model_file(folder)
    trained = model.get("trained", {})
    size = measure_folder(folder)
    kind = model.get("network", {}).get("name") or model.get("encoder", "")
    return TrainedModel(folder.name, kind, trained.get("measure", ""), trained.get("value"), trained.get("pairs"), size)


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
    def encoder(self) -> "PretrainedEncoder":
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
        """Return the seconds that the teacher takes to encode the questions whose vectors are not stored."""
        if not self.teacher:
            return 0.0
        words = sum(count_words(self._sample[place]) for place in self.teacher.encoder.find_missing(self._sample))
        return words * len(self._view) / max(1, len(self._sample)) / self.teacher.words_per_s

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
                    distil(
                        self.archive, self.teacher.source, self.model_name(family), log=self.log,
                        teacher=self.teacher.encoder, excluded_ids=self.task.excluded_ids,
                    )  # fmt: skip
                else:
                    train(
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
            remove_model(self.archive, name)

    def _recipe(self, family: CandidateFamily) -> TrainingRecipe:
        signals = tuple(self._count_pairs(family))
        return load_recipe(family.recipe or "", {**family.recipe_settings, "signals": signals})

    @cached_property
    def _mean_lengths(self) -> tuple[float, float]:
        """The mean number of words of a title, and of a whole question."""
        titles = sum(len(q.title.split()) for q in self._sample)
        return titles / max(len(self._sample), 1), sum(map(count_words, self._sample)) / max(len(self._sample), 1)

    @cached_property
    def _sample(self) -> Sequence[Question]:
        return list(sample_questions(self._view, LENGTH_SAMPLE, 0))

    def _count_pairs(self, family: CandidateFamily) -> dict[str, int]:
        """Return signal → number of pairs for the family, including weak signals if the others give too few."""
        counts = self._pair_counts = self._pair_counts or count_pairs(self._view)
        chosen = {name: counts[name] for name in family.signals if counts[name]}
        if sum(chosen.values()) < MIN_PAIRS:
            chosen |= {name: counts[name] for name in family.weak_signals if counts[name]}
        return chosen
