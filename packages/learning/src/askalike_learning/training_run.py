"""The training run of a recipe on a view: from pairs to a model's folder. Imports torch."""

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from askalike import Answer, Question, SettingsError, TrainingError, TrainingView
from askalike.plugin.features import HashedNgramFeatures, Ints, Text
from askalike.plugin.models import (
    CARD_FILE,
    MODEL_FILE,
    LearnedLabels,
    StaticEncoder,
    folder_errors,
    format_toml,
    partial_folder,
    replace_folder,
)
from askalike.plugin.training import (
    TRAINING_LOGGER,
    LogCallback,
    Miner,
    TrainingProgress,
    TrainingProgressCallback,
    collect_learned,
    format_count,
)
from askalike_learning.card import render_card
from askalike_learning.checkpoint import Epoch, read_history
from askalike_learning.dev import DevSet
from askalike_learning.devices import require_device
from askalike_learning.examples import Examples, TrainingTexts, collect_texts, mine_negatives, select_negatives
from askalike_learning.features import TextFeatures
from askalike_learning.networks import Network
from askalike_learning.pair_data import TrainingData, collect_training_data, iterate_texts, read_irrelevant_judgements
from askalike_learning.recipes import Recipe, TrainingSettings
from askalike_learning.trained_network import (
    copy_model,
    create_network,
    find_start_models,
    load_features_class,
    scale_word_vectors,
    start_fingerprints,
)
from askalike_learning.trainer import (
    IF_UNWRITABLE,
    TrainingJob,
    choose_accelerator,
    describe_device,
    find_best_epoch,
    train,
)
from askalike_learning.used_rows import UsedRows
from askalike_learning.word_vectors import initialise_vectors

LOGGER = logging.getLogger(TRAINING_LOGGER)
ANSWERS_PER_CHUNK = 1_000
MAX_TEXTS_IN_MEMORY = 50_000
"""Maximum number of texts whose words are kept in memory after the first pass."""
WORD_VECTORS_FOLDER = Path("index/word-vectors")
"""Folder of the word vectors trained on an archive's texts; they are recomputed if it is missing."""
CHECKPOINT_VERSION = 3
"""The version of the checkpoint format; a checkpoint of another version is not resumed."""


def log_epoch(progress: TrainingProgress) -> None:
    """Log the result of an epoch, once it is measured."""
    if progress.value is not None:
        place, value = f"epoch {progress.epoch} of {progress.epochs}", f"{progress.measure} {progress.value:.4f} on dev"
        LOGGER.info("%s: loss %.4f, %.0f examples/s, %s", place, progress.loss, progress.examples_per_second, value)


def train_recipe(
    view: TrainingView,
    recipe: Recipe,
    folder: Path,
    *,
    miner: Miner | None = None,
    on_progress: TrainingProgressCallback | None = log_epoch,
    log: LogCallback = LOGGER.info,
) -> Sequence[Epoch]:
    """Train a recipe on a view, write the model to `folder` and return its epochs.

    The view's dev queries choose the best epoch; without any, some clusters are held out. The same call after an
    interruption or a kill resumes with the unfinished epoch. Raises TrainingError,
    ArchiveError if nothing can be written, SettingsError for a device that is missing.
    """
    require_device(choose_accelerator(recipe.training), "training.accelerator", recipe.training.devices)
    data = collect_training_data(view, recipe.data, recipe.training.dev_documents, recipe.training.seed)
    _check_counts(data, recipe.training)
    queries, documents = format_count(len(data.dev.queries), "dev query"), format_count(len(data.documents), "document")
    log(f"{format_count(len(data.pairs), 'training pair')}, {queries} over {documents}")
    if device := describe_device(recipe.training):
        log(device)
    if view.held_out_splits:
        log(f"splits not learned from: {', '.join(view.held_out_splits)}")
    return TrainingRun(view, recipe, folder, data, miner, log).train(on_progress)


def _check_counts(data: TrainingData, settings: TrainingSettings) -> None:
    """Raise TrainingError for too few pairs, or no dev queries."""
    if len(data.pairs) < (needed := settings.min_pairs):
        advice = "use more signals, or set training.min_pairs"
        raise TrainingError(f"{format_count(len(data.pairs), 'training pair')}: too few; {needed} are needed; {advice}")
    if not data.dev.queries:
        raise TrainingError("no dev queries to choose the best epoch; at least 1 is needed, hundreds are better")


@dataclass(frozen=True)
class TrainingRun:
    """One training run of a recipe: its data, and the model's folder."""

    view: TrainingView
    recipe: Recipe
    folder: Path
    """The model's folder, which appears when training is finished."""
    data: TrainingData
    miner: Miner | None
    log: LogCallback

    @property
    def partial_folder(self) -> Path:
        """The folder of the checkpoint until training is finished."""
        return partial_folder(self.folder)

    @cached_property
    def run_id(self) -> str:
        """A digest of the settings and the data; a checkpoint of a run with another digest is not resumed."""
        pairs = [(pair.query.id, pair.positive.id, pair.signal) for pair in self.data.pairs]
        # a run may be resumed on another accelerator
        tables = {t: {k: v for k, v in row.items() if k != "accelerator"} for t, row in self.recipe.to_tables().items()}
        parts = [CHECKPOINT_VERSION, tables, self.view.change, self.view.kind, pairs, list(self.data.dev.queries)]
        parts += start_fingerprints(self.recipe)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @cached_property
    def features(self) -> TextFeatures:
        """The features that the network reads, with a vocabulary of the view's texts."""
        return load_features_class(self.recipe).from_texts(self.recipe.features, self._iterate_vocabulary_texts())

    @cached_property
    def judged_negatives(self) -> Mapping[str, Sequence[str]]:
        """Query id → the ids of questions judged irrelevant to it that are negatives."""
        return read_irrelevant_judgements(self.view, self.recipe.negatives.judged)

    def train(self, on_progress: TrainingProgressCallback | None = None) -> Sequence[Epoch]:
        """Train the network, write the model and return the epochs. Raises TrainingError or SettingsError.

        The checkpoint is kept after an interruption, and after a failure if an epoch is finished.
        """
        try:
            return self._train(on_progress)
        except TrainingError:
            if not read_history(self.partial_folder, self.run_id):
                shutil.rmtree(self.partial_folder, ignore_errors=True)
            raise

    def _train(self, on_progress: TrainingProgressCallback | None) -> Sequence[Epoch]:
        network = create_network(self.recipe, len(self.features.tokens))
        examples = self._build_examples()
        dev = self._build_dev_set()
        finished = read_history(self.partial_folder, self.run_id)
        with folder_errors(self.folder, IF_UNWRITABLE):
            coverage = self._initialise_network(network, examples) if finished is None else ""
        self.log(coverage if finished is None else f"resuming after epoch {len(finished)}")
        used = UsedRows.find(examples, dev, self.partial_folder) if network.is_table else None
        if used:
            if finished is None:
                with folder_errors(self.folder, IF_UNWRITABLE):
                    used.save_initial(network)
            network = used.select(network)
            examples = replace(examples, rows=used.renumber(examples))
            dev = replace(dev, rows=used.renumber(dev))
        epochs = train(
            TrainingJob(
                network, self.recipe.loss, self.recipe.negatives, self.recipe.training, examples, dev,
                self.partial_folder, self.run_id, on_progress,
            )
        )  # fmt: skip
        tensors = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
        self._save_model(network, used.fill_in(tensors) if used else tensors, epochs, coverage)
        return epochs

    def _iterate_vocabulary_texts(self) -> Iterator[Text]:
        """Yield the view's questions, and texts of pairs that are not among them, such as queries of a set."""
        ids = set()
        for _, question in self.view.questions():
            ids.add(question.id)
            yield question
        others = {(text.id, text.body): text for pair in self.data.pairs for text in (pair.query, pair.positive)}
        yield from (text for text in others.values() if isinstance(text, Answer) or text.id not in ids)

    def _build_examples(self) -> Examples:
        settings = self.recipe.negatives
        candidates = (question for _, question in self.view.questions()) if settings.random else ()
        others = self.view.get_questions({id for ids in self.judged_negatives.values() for id in ids})
        known_clusters = self.view.clusters().name_by_text
        texts = collect_texts(self.data.pairs, chain(others.values(), candidates), known_clusters)
        rows = self.features.encode(texts.texts)
        negatives = self._collect_negatives(texts)
        relevant = np.array([pair.relevant for pair in self.data.pairs]) if self.recipe.data.irrelevant else None
        return Examples(
            rows, texts.kinds, texts.query, texts.positive, texts.clusters, negatives,
            [text.id for text in texts.texts], relevant,
        )  # fmt: skip

    def _collect_negatives(self, texts: TrainingTexts) -> Ints:
        """Return the numbers of each pair's judged and mined negatives, (pairs, m), −1 for none."""
        settings = self.recipe.negatives
        columns = [np.zeros((len(texts.query), 0), np.int64)]
        if settings.judged:
            columns.append(select_negatives(texts, self.judged_negatives, settings.judged))
        if settings.mined:
            if self.miner is None:
                raise SettingsError("negatives.mined needs a ranker; use: askalike train")
            queries = (texts.texts[n] for n in np.unique(texts.query).tolist())
            questions = {text.id: text for text in queries if isinstance(text, Question)}
            run = self.miner(questions, settings.ranker, settings.to_rank)
            mined, report = mine_negatives(texts, run, settings)
            self.log(str(report))
            columns.append(mined)
        return np.concatenate(columns, 1)

    def _build_dev_set(self) -> DevSet:
        data, queries = self.data, self.data.dev.queries
        return DevSet(
            self.features.encode([*queries.values(), *data.documents.values()]), list(queries),
            [query.id for query in queries.values()], list(data.documents), data.documents_are_answers,
            data.dev.qrels, data.dev.candidates,
        )  # fmt: skip

    def _initialise_network(self, network: Network, examples: Examples) -> str:
        """Set the network's initial parameters; return a description of them."""
        parts = network.part_models(self.recipe.network).items()
        tokens = self.features.tokens
        begun = [copy_model(network.get_submodule(n), tokens, Path(path), f"network.{n}={path!r}") for n, path in parts]
        return "; ".join([*begun, self._initialise_vectors(network, examples)])

    def _initialise_vectors(self, network: Network, examples: Examples) -> str:
        settings = self.recipe.embeddings
        if (folder := Path(settings.init)).is_dir():
            return self._initialise_from_model(network, folder)
        dim = getattr(self.recipe.network, "dim", 0)  # a pre-trained network has its own
        texts = self._archive_words()
        initial = initialise_vectors(settings, self.features.tokens, dim, texts, self.view.path / WORD_VECTORS_FOLDER)
        vectors = None if initial.vectors is None else torch.from_numpy(initial.vectors)
        network.initialise(vectors, torch.from_numpy(self.features.idf))
        if settings.init_std:
            scale_word_vectors(network, settings.init_std)
        if network.generates_answers:
            network.set_word_counts(_count_answer_tokens(examples, len(self.features.tokens)))
        return initial.coverage

    def _archive_words(self) -> Callable[[], Iterator[list[str]]]:
        """Return a function that yields the words of questions and answers, cached in memory if there are few."""
        settings = self.recipe.features.model_copy(update={"fields": self.recipe.embeddings.init_fields})
        reader = load_features_class(self.recipe).from_texts(settings, ())

        def split_texts() -> Iterator[list[str]]:
            others = (text for text in self._iterate_vocabulary_texts() if not isinstance(text, Answer))
            return (reader.split_words(text) for text in chain(others, iterate_texts(self.view, of_answers=True)))

        if self.recipe.embeddings.init != "skipgram" or len(self.view) > MAX_TEXTS_IN_MEMORY:
            return split_texts
        return list(split_texts()).__iter__

    def _initialise_from_model(self, network: Network, folder: Path) -> str:
        """Set the parameters of a network over n-grams or word vectors to those of a trained model."""
        setting = f"embeddings.init={str(folder)!r}"
        if not isinstance(self.features, HashedNgramFeatures):
            return copy_model(network, self.features.tokens, folder, setting)
        model = StaticEncoder.open(folder, {})
        if model.settings.row_counts != self.recipe.features.row_counts or model.vectors.shape[1] != network.vector_dim:
            raise SettingsError(f"{setting}: its features and network.dim differ; expected the same")
        reserved = len(self.features.tokens) - len(model.vectors)
        parameters = network.state_dict()
        parameters["rows.weight"][reserved:] = torch.from_numpy(model.vectors)
        parameters["weight"][reserved:] = torch.from_numpy(model.weights)
        return f"initial weights from {folder.name}"

    def _learned_labels(self) -> LearnedLabels:
        """The labels of pairs, negatives, dev queries, and the models that the network starts from."""
        data = self.data
        learned = collect_learned(data.pairs, data.dev, data.documents_are_answers)
        learned |= LearnedLabels(frozenset({pair.query.id for pair in data.pairs} & self.judged_negatives.keys()))
        for folder in find_start_models(self.recipe):
            learned |= LearnedLabels.read(folder)
        return learned

    def _save_model(
        self, network: Network, tensors: Mapping[str, np.ndarray], epochs: Sequence[Epoch], coverage: str
    ) -> None:
        """Write the model's folder atomically, and remove the partial folder."""
        best = find_best_epoch(epochs)
        recipe = self.recipe
        data = self.data
        trained = {
            "pairs": len(data.pairs), "dev_queries": len(data.dev.queries), "dev_documents": len(data.documents),
            "epochs": len(epochs), "best_epoch": best.number, "measure": recipe.training.measure, "value": best.value,
            "change": self.view.change, "made_at": self.view.change_date(self.view.change) or "",
            "trained_until": self.view.latest_date, "held_out_splits": self.view.held_out_splits,
            "parameters": sum(tensors[name].size for name, _ in network.named_parameters()),
        }  # fmt: skip
        with folder_errors(self.folder, IF_UNWRITABLE), replace_folder(self.folder) as new:
            tables = network.save_model(new, recipe.features, self.features, tensors)
            learned = self._learned_labels()
            learned.write(new)
            card = render_card(self.folder.name, recipe, trained, self.view, learned, epochs, coverage)
            (new / CARD_FILE).write_text(card, encoding="utf-8")
            toml = format_toml({**recipe.to_tables(), **tables, "trained": trained})
            (new / MODEL_FILE).write_text(f'encoder = "{network.encoder_name}"\n\n{toml}', encoding="utf-8")
        shutil.rmtree(self.partial_folder)


def _count_answer_tokens(examples: Examples, size: int) -> torch.Tensor:
    """Return the frequency of each token in the pairs' answers, (size,); token 0 stands for the end of an answer."""
    counts = np.zeros(size, np.int64)
    for numbers in np.array_split(examples.positive, max(len(examples) // ANSWERS_PER_CHUNK, 1)):
        batch = examples.rows.batch(numbers)
        counts += np.bincount(batch["ids"][batch["mask"]], minlength=size)
        counts[0] += len(numbers)
    return torch.from_numpy(counts)
