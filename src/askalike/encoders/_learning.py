"""Training a recipe on what a view knows: from pairs or a teacher to a model's folder. Torch is imported with it."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from askalike import registry
from askalike.encoders import MODEL_FILE
from askalike.encoders._card import render_card
from askalike.encoders._data import TrainingData, collect_training_data, read_irrelevant_judgements
from askalike.encoders._embeddings import initialise_vectors, load_packaged_vectors
from askalike.encoders._encoder import Encoder
from askalike.encoders._provenance import CARD_FILE, find_change_date, find_latest_date
from askalike.encoders._recipe import Recipe, format_toml
from askalike.encoders._regression import fit_piece_vectors
from askalike.encoders._teacher import collect_distillation_data, encode_targets
from askalike.encoders._teacher import load_teacher as teacher_of
from askalike.encoders.static import StaticEncoder
from askalike.errors import SettingsError
from askalike.nn import Network
from askalike.store.view import View
from askalike.text.features._features import Text, TextFeatures
from askalike.text.features._ragged import RaggedArray
from askalike.text.features.pieces import PieceFeatures
from askalike.training.checkpoint import Epoch, read_history
from askalike.training.dev import DevSet
from askalike.training.examples import Examples, TrainingTexts, collect_texts
from askalike.training.negatives import draw_negatives, mine_negatives, select_negatives
from askalike.training.settings import NegativesSettings
from askalike.training.trainer import TrainingJob, TrainingProgressCallback, find_best_epoch, train
from askalike.types import Question, Run, Split

PARTIAL_PREFIX = ".training"
COUNT_CHUNK = 1_000  # answers at a time
MAX_TEXTS_IN_MEMORY = 50_000
"""The words of so many texts are kept in memory, where they are read several times."""
TARGETS_FILE = "teacher.safetensors"

LogCallback = Callable[[str], None]
"""Takes a line about what is being done."""
Miner = Callable[[Mapping[str, Question], NegativesSettings], Run]
"""Ranks the archive's questions for the training queries."""


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """What is learned from: a view's data by a recipe, read by features, kept in `partial` while it is learned."""

    view: View
    recipe: Recipe
    data: TrainingData
    features: TextFeatures
    partial_folder: Path
    log: LogCallback
    teacher: Encoder | None

    @property
    def run_id(self) -> str:
        """Names a training run: its settings and the data they select. A checkpoint of another one is of no use."""
        pairs = [(pair.query.id, pair.positive.id, pair.signal) for pair in self.data.pairs]
        # where it is trained may change on the way
        tables = {t: {k: v for k, v in r.items() if k != "accelerator"} for t, r in self.recipe.to_tables().items()}
        parts = [tables, self.view.change, self.view.kind, pairs, list(self.data.dev.queries)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def train_recipe(
    view: View,
    recipe: Recipe,
    folder: Path,
    *,
    dev: Split | None = None,
    miner: Miner | None = None,
    teacher: Encoder | None = None,
    on_progress: TrainingProgressCallback | None = None,
    log: LogCallback = lambda line: None,
) -> Sequence[Epoch]:
    """Trains a recipe on what a view knows and leaves a model in `folder`; returns its epochs.

    dev: the queries by which the best epoch is chosen; else some clusters are kept back. teacher: the one that the
    recipe names, where it is at hand already. The same call again, after
    it was interrupted or killed, goes on with the epoch that was not finished. Raises TrainingError.
    """
    if teacher is None and recipe.teacher.encoder:
        teacher = teacher_of(view, recipe.teacher)
    lesson = _prepare_run(view, recipe, folder.with_name(f"{PARTIAL_PREFIX}-{folder.name}"), dev, teacher, log)
    network = create_network(recipe, len(lesson.features.tokens))
    examples = _build_examples(lesson, network.vector_dim, miner)
    job = TrainingJob(
        network, recipe.loss, recipe.negatives, recipe.training, examples, _build_dev_set(lesson), lesson.partial_folder, lesson.run_id,
        on_progress, recipe.teacher,
    )  # fmt: skip
    coverage = _initialise_network(job, lesson)
    epochs = train(job)
    _save_model(folder, lesson, network, epochs, coverage)
    return epochs


def load_features_class(recipe: Recipe) -> type[TextFeatures]:
    """The kind of features that a recipe's network reads."""
    return registry.load("features", registry.load("network", recipe.name).features)


def create_network(recipe: Recipe, size: int) -> Network:
    """A network with random parameters, drawn with the recipe's seed."""
    with torch.random.fork_rng():
        torch.manual_seed(recipe.training.seed)
        return registry.load("network", recipe.name)(recipe.network, size)  # type: ignore[no-any-return]


def _prepare_run(
    view: View, recipe: Recipe, partial_folder: Path, dev: Split | None, teacher: Encoder | None, log: LogCallback
) -> TrainingRun:
    seed, documents = recipe.training.seed, recipe.training.dev_documents
    if teacher:
        data = collect_distillation_data(view, recipe.teacher, teacher, dev, documents, seed)
    else:
        data = collect_training_data(view, recipe.data, dev, documents, seed)
    what = "texts of the teacher's" if teacher else "training pairs"
    log(f"{len(data.pairs)} {what}, {len(data.dev.queries)} dev queries over {len(data.documents)} documents")
    features = load_features_class(recipe).from_texts(recipe.features, _iterate_vocabulary_texts(view, data))
    return TrainingRun(view, recipe, data, features, partial_folder, log, teacher)


def _iterate_vocabulary_texts(view: View, data: TrainingData) -> Iterator[Text]:
    """What the vocabulary is learned from: the archive's questions, and what of the pairs is no question of it."""
    yield from (question for _, question in view.questions())
    yield from (pair.positive for pair in data.pairs if not isinstance(pair.positive, Question))


def _build_examples(training_run: TrainingRun, width: int, miner: Miner | None) -> Examples:
    recipe, features = training_run.recipe, training_run.features
    irrelevant = read_irrelevant_judgements(training_run.view, recipe.negatives.judged)
    drawn_from = (question for _, question in training_run.view.questions()) if recipe.negatives.random else ()
    others = training_run.view.get_questions({id for ids in irrelevant.values() for id in ids})
    texts = collect_texts(training_run.data.pairs, chain(others.values(), drawn_from))
    examples = Examples(
        features.encode(texts.texts), texts.is_answer, texts.query, texts.positive, texts.pair_clusters,
        _collect_negatives(training_run, texts, irrelevant, miner), [text.id for text in texts.texts],
    )  # fmt: skip
    return (
        replace(examples, targets=_load_or_encode_targets(training_run, training_run.teacher, texts, width))
        if training_run.teacher
        else examples
    )


def _collect_negatives(
    training_run: TrainingRun, texts: TrainingTexts, irrelevant: Mapping[str, Sequence[str]], miner: Miner | None
) -> np.ndarray:
    settings = training_run.recipe.negatives
    columns = [np.zeros((len(texts.query), 0), np.int64)]
    if settings.judged:
        columns.append(select_negatives(texts, irrelevant, settings.judged))
    if settings.random:
        columns.append(draw_negatives(texts, settings.random, training_run.recipe.training.seed))
    if settings.mined:
        if miner is None:
            raise SettingsError("negatives.mined needs a ranker to mine with: train with askalike train")
        asked = (texts.texts[n] for n in np.unique(texts.query).tolist())
        run = miner({text.id: text for text in asked if isinstance(text, Question)}, settings)
        found, audit = mine_negatives(texts, run, settings)
        training_run.log(str(audit))
        columns.append(found)
    return np.concatenate(columns, 1)


def _load_or_encode_targets(
    training_run: TrainingRun, encoder: Encoder, texts: TrainingTexts, width: int
) -> np.ndarray:
    """The teacher's vectors; those that an interrupted run has worked out are read again."""
    width = width or training_run.recipe.network.dim
    path = training_run.partial_folder / f"{_compute_targets_key(encoder.fingerprint, texts, width)}-{TARGETS_FILE}"
    if path.exists():
        return load_file(path)["targets"]
    found = encode_targets(encoder, texts.texts, width, training_run.log)
    training_run.partial_folder.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(".partial")
    save_file({"targets": found}, made)
    os.replace(made, path)
    return found


def _compute_targets_key(fingerprint: str, texts: TrainingTexts, width: int) -> str:
    """Tells what is taught from anything else."""
    digest = hashlib.sha256(f"{fingerprint} {width}".encode())
    for text in texts.texts:
        digest.update(repr((getattr(text, "title", ""), text.body)).encode())
    return digest.hexdigest()[:16]


def _build_dev_set(training_run: TrainingRun) -> DevSet:
    data = training_run.data
    rows = training_run.features.encode([*data.dev.queries.values(), *data.documents.values()])
    return DevSet(
        rows,
        list(data.dev.queries),
        list(data.documents),
        data.documents_are_answers,
        data.dev.qrels,
        data.dev.candidates,
    )


def _initialise_network(job: TrainingJob, training_run: TrainingRun) -> str:
    """The network's start, unless there is a checkpoint to go on from."""
    if (epochs := read_history(job.directory, job.run_id)) is not None:
        training_run.log(f"going on after epoch {len(epochs)}")
        return ""
    recipe, features = training_run.recipe, training_run.features
    if recipe.embeddings.start == "teacher":
        return _initialise_from_teacher(job, training_run)
    if (folder := Path(recipe.embeddings.start)).is_dir():
        return _initialise_from_model(job, training_run, folder)
    reader = load_features_class(recipe).from_texts(
        recipe.features.model_copy(update={"fields": recipe.embeddings.reads}), ()
    )

    def words() -> Iterator[list[str]]:
        return (reader.split_words(text) for text in _iterate_vocabulary_texts(training_run.view, training_run.data))

    kept = (
        list(words())
        if len(training_run.view) <= MAX_TEXTS_IN_MEMORY and recipe.embeddings.start == "skipgram"
        else None
    )
    read = words if kept is None else kept.__iter__
    dim = getattr(recipe.network, "dim", 0)  # a pre-trained network has its own
    start = initialise_vectors(recipe.embeddings, features.tokens, dim, read, recipe.training.seed)
    training_run.log(start.coverage)
    vectors = None if start.vectors is None else torch.from_numpy(start.vectors)
    job.network.initialise(vectors, torch.from_numpy(features.idf))
    if job.network.generates_answers:
        job.network.set_word_counts(_count_answer_tokens(job.examples, len(features.tokens)))
    return start.coverage


def _count_answer_tokens(examples: Examples, size: int) -> torch.Tensor:
    """How often each number is in the pairs' answers; the end of each, which is 0, among them."""
    counts = np.zeros(size, np.int64)
    for numbers in np.array_split(examples.positive, max(len(examples) // COUNT_CHUNK, 1)):
        batch = examples.rows.batch(numbers)
        counts += np.bincount(batch["ids"][batch["mask"]], minlength=size)
        counts[0] += len(numbers)
    return torch.from_numpy(counts)


def _initialise_from_teacher(job: TrainingJob, training_run: TrainingRun) -> str:
    """Pieces begin as the regression of the teacher's vectors on them."""
    rows, targets, features = job.examples.rows, job.examples.targets, training_run.features
    if targets is None or not isinstance(features, PieceFeatures) or not isinstance(rows, RaggedArray):
        raise SettingsError("embeddings.start=teacher: expected a teacher, and a network that adds up pieces (distil)")
    known = load_packaged_vectors(features.tokens) if features.settings.subwords else None
    vectors = fit_piece_vectors(
        rows,
        np.pad(targets, ((0, 0), (0, job.network.vector_dim - targets.shape[1]))),
        job.network.vocabulary_size,
        known,
    )
    coverage = f"vectors of pieces begin as a regression of the teacher's on {len(targets)} texts"
    training_run.log(coverage)
    job.network.initialise(torch.from_numpy(vectors), torch.from_numpy(features.idf))
    return coverage


def _initialise_from_model(job: TrainingJob, training_run: TrainingRun, folder: Path) -> str:
    """A network that adds up pieces begins as one that was trained before, weights and all."""
    if not isinstance(training_run.features, PieceFeatures):
        raise SettingsError(
            f"embeddings.start={str(folder)!r}: expected a network that adds up pieces (static, distil)"
        )
    before = StaticEncoder.open(folder, {})
    if (
        before.settings.row_counts != training_run.recipe.features.sizes
        or before.vectors.shape[1] != job.network.vector_dim
    ):
        raise SettingsError(f"embeddings.start={str(folder)!r}: expected its features and network.dim; it has others")
    reserved = len(training_run.features.tokens) - len(before.vectors)
    given = job.network.state_dict()
    given["pieces.weight"][reserved:] = torch.from_numpy(before.vectors)
    given["weight"][reserved:] = torch.from_numpy(before.weights)
    coverage = f"all begins as in {folder.name}"
    training_run.log(coverage)
    return coverage


def _save_model(
    folder: Path, training_run: TrainingRun, network: Network, epochs: Sequence[Epoch], coverage: str
) -> None:
    """Puts the model together beside its place and moves it there whole: killed before, training ends anew."""
    best, recipe, data = find_best_epoch(epochs), training_run.recipe, training_run.data
    trained = {
        "pairs": len(data.pairs), "dev_queries": len(data.dev.queries), "dev_documents": len(data.documents),
        "epochs": len(epochs), "best_epoch": best.number, "measure": recipe.training.measure, "value": best.value,
        "change": training_run.view.change, "made_at": find_change_date(training_run.view, training_run.view.change) or "",
        "knows_until": find_latest_date(training_run.view), "hidden": training_run.view.held_out_splits,
        "parameters": sum(p.numel() for p in network.parameters()),
    }  # fmt: skip
    made = folder.with_name(f".made-{folder.name}")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    tensors = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    own = registry.load("encoder", network.encoder_name).save_model(made, recipe, training_run.features, tensors)
    (made / CARD_FILE).write_text(
        render_card(folder.name, recipe, trained, training_run.view, epochs, coverage), encoding="utf-8"
    )
    tables = {**recipe.to_tables(), **own, "trained": trained}
    (made / MODEL_FILE).write_text(f'encoder = "{network.encoder_name}"\n\n{format_toml(tables)}', encoding="utf-8")
    os.replace(made, folder)
    shutil.rmtree(training_run.partial_folder)
