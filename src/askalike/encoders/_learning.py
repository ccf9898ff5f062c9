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
from askalike.archive.view import View
from askalike.encoders import MODEL
from askalike.encoders._card import card
from askalike.encoders._data import Data, gathered, judged_irrelevant
from askalike.encoders._embeddings import packaged_vectors, started
from askalike.encoders._encoder import Encoder
from askalike.encoders._provenance import CARD, latest, made_at
from askalike.encoders._recipe import Recipe, toml
from askalike.encoders._regression import regressed
from askalike.encoders._teacher import targets, taught
from askalike.encoders._teacher import teacher as teacher_of
from askalike.encoders.static import Static
from askalike.errors import SettingsError
from askalike.nn._network import Network
from askalike.text.features._features import Features, Text
from askalike.text.features._ragged import Ragged
from askalike.text.features.pieces import Pieces
from askalike.training.checkpoint import Epoch, history
from askalike.training.dev import Dev
from askalike.training.examples import Examples, Texts, collected
from askalike.training.negatives import drawn, mined, named
from askalike.training.settings import NegativesSettings
from askalike.training.trainer import Job, Report, best_of, train
from askalike.types import Question, Run, Split

PARTIAL = ".training"
COUNTED = 1_000  # answers at a time
KEPT = 50_000
"""The words of so many texts are kept in memory, where they are read several times."""
TAUGHT = "teacher.safetensors"

Say = Callable[[str], None]
"""Takes a line about what is being done."""
Miner = Callable[[Mapping[str, Question], NegativesSettings], Run]
"""Ranks the archive's questions for the training queries."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is learned from: a view's data by a recipe, read by features, kept in `partial` while it is learned."""

    view: View
    recipe: Recipe
    data: Data
    features: Features
    partial: Path
    say: Say
    teacher: Encoder | None

    @property
    def run(self) -> str:
        """Names a training run: its settings and the data they select. A checkpoint of another one is of no use."""
        pairs = [(pair.query.id, pair.positive.id, pair.signal) for pair in self.data.pairs]
        # where it is trained may change on the way
        tables = {t: {k: v for k, v in r.items() if k != "accelerator"} for t, r in self.recipe.tables().items()}
        parts = [tables, self.view.change, self.view.of, pairs, list(self.data.dev.queries)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def learn(
    view: View,
    recipe: Recipe,
    folder: Path,
    *,
    dev: Split | None = None,
    mine: Miner | None = None,
    teacher: Encoder | None = None,
    report: Report | None = None,
    say: Say = lambda line: None,
) -> Sequence[Epoch]:
    """Trains a recipe on what a view knows and leaves a model in `folder`; returns its epochs.

    dev: the queries by which the best epoch is chosen; else some clusters are kept back. teacher: the one that the
    recipe names, where it is at hand already. The same call again, after
    it was interrupted or killed, goes on with the epoch that was not finished. Raises TrainingError.
    """
    if teacher is None and recipe.teacher.encoder:
        teacher = teacher_of(view, recipe.teacher)
    lesson = _lesson(view, recipe, folder.with_name(f"{PARTIAL}-{folder.name}"), dev, teacher, say)
    network = untrained(recipe, len(lesson.features.tokens))
    examples = _examples(lesson, network.width, mine)
    job = Job(
        network, recipe.loss, recipe.negatives, recipe.training, examples, _dev(lesson), lesson.partial, lesson.run,
        report, recipe.teacher,
    )  # fmt: skip
    coverage = _begin(job, lesson)
    epochs = train(job)
    _keep(folder, lesson, network, epochs, coverage)
    return epochs


def features_of(recipe: Recipe) -> type[Features]:
    """The kind of features that a recipe's network reads."""
    return registry.load("features", registry.load("network", recipe.name).features)


def untrained(recipe: Recipe, size: int) -> Network:
    """A network with random parameters, drawn with the recipe's seed."""
    with torch.random.fork_rng():
        torch.manual_seed(recipe.training.seed)
        return registry.load("network", recipe.name)(recipe.network, size)  # type: ignore[no-any-return]


def _lesson(view: View, recipe: Recipe, partial: Path, dev: Split | None, teacher: Encoder | None, say: Say) -> Lesson:
    seed, documents = recipe.training.seed, recipe.training.dev_documents
    if teacher:
        data = taught(view, recipe.teacher, teacher, dev, documents, seed)
    else:
        data = gathered(view, recipe.data, dev, documents, seed)
    what = "texts of the teacher's" if teacher else "training pairs"
    say(f"{len(data.pairs)} {what}, {len(data.dev.queries)} dev queries over {len(data.documents)} documents")
    features = features_of(recipe).learn(recipe.features, _read(view, data))
    return Lesson(view, recipe, data, features, partial, say, teacher)


def _read(view: View, data: Data) -> Iterator[Text]:
    """What the vocabulary is learned from: the archive's questions, and what of the pairs is no question of it."""
    yield from (question for _, question in view.questions())
    yield from (pair.positive for pair in data.pairs if not isinstance(pair.positive, Question))


def _examples(lesson: Lesson, width: int, mine: Miner | None) -> Examples:
    recipe, features = lesson.recipe, lesson.features
    irrelevant = judged_irrelevant(lesson.view, recipe.negatives.judged)
    drawn_from = (question for _, question in lesson.view.questions()) if recipe.negatives.random else ()
    others = lesson.view.get({id for ids in irrelevant.values() for id in ids})
    texts = collected(lesson.data.pairs, chain(others.values(), drawn_from))
    examples = Examples(
        features.rows(texts.texts), texts.documents, texts.query, texts.positive, texts.pair_clusters,
        _negatives(lesson, texts, irrelevant, mine), [text.id for text in texts.texts],
    )  # fmt: skip
    return replace(examples, targets=_targets(lesson, lesson.teacher, texts, width)) if lesson.teacher else examples


def _negatives(lesson: Lesson, texts: Texts, irrelevant: Mapping[str, Sequence[str]], mine: Miner | None) -> np.ndarray:
    settings = lesson.recipe.negatives
    columns = [np.zeros((len(texts.query), 0), np.int64)]
    if settings.judged:
        columns.append(named(texts, irrelevant, settings.judged))
    if settings.random:
        columns.append(drawn(texts, settings.random, lesson.recipe.training.seed))
    if settings.mined:
        if mine is None:
            raise SettingsError("negatives.mined needs a ranker to mine with: train with askalike train")
        asked = (texts.texts[n] for n in np.unique(texts.query).tolist())
        run = mine({text.id: text for text in asked if isinstance(text, Question)}, settings)
        found, audit = mined(texts, run, settings)
        lesson.say(str(audit))
        columns.append(found)
    return np.concatenate(columns, 1)


def _targets(lesson: Lesson, encoder: Encoder, texts: Texts, width: int) -> np.ndarray:
    """The teacher's vectors; those that an interrupted run has worked out are read again."""
    width = width or lesson.recipe.network.dim
    path = lesson.partial / f"{_named(encoder.fingerprint, texts, width)}-{TAUGHT}"
    if path.exists():
        return load_file(path)["targets"]
    found = targets(encoder, texts.texts, width, lesson.say)
    lesson.partial.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(".partial")
    save_file({"targets": found}, made)
    os.replace(made, path)
    return found


def _named(fingerprint: str, texts: Texts, width: int) -> str:
    """Tells what is taught from anything else."""
    digest = hashlib.sha256(f"{fingerprint} {width}".encode())
    for text in texts.texts:
        digest.update(repr((getattr(text, "title", ""), text.body)).encode())
    return digest.hexdigest()[:16]


def _dev(lesson: Lesson) -> Dev:
    data = lesson.data
    rows = lesson.features.rows([*data.dev.queries.values(), *data.documents.values()])
    return Dev(rows, list(data.dev.queries), list(data.documents), data.answers, data.dev.qrels, data.dev.candidates)


def _begin(job: Job, lesson: Lesson) -> str:
    """The network's start, unless there is a checkpoint to go on from."""
    if (epochs := history(job.directory, job.run)) is not None:
        lesson.say(f"going on after epoch {len(epochs)}")
        return ""
    recipe, features = lesson.recipe, lesson.features
    if recipe.embeddings.start == "teacher":
        return _begin_with_teacher(job, lesson)
    if (folder := Path(recipe.embeddings.start)).is_dir():
        return _begin_with_model(job, lesson, folder)
    reader = features_of(recipe).learn(recipe.features.model_copy(update={"fields": recipe.embeddings.reads}), ())

    def words() -> Iterator[list[str]]:
        return (reader.words(text) for text in _read(lesson.view, lesson.data))

    kept = list(words()) if len(lesson.view) <= KEPT and recipe.embeddings.start == "skipgram" else None
    read = words if kept is None else kept.__iter__
    dim = getattr(recipe.network, "dim", 0)  # a pre-trained network has its own
    start = started(recipe.embeddings, features.tokens, dim, read, recipe.training.seed)
    lesson.say(start.coverage)
    vectors = None if start.vectors is None else torch.from_numpy(start.vectors)
    job.network.start(vectors, torch.from_numpy(features.idf))
    if job.network.writes:
        job.network.count(_counts(job.examples, len(features.tokens)))
    return start.coverage


def _counts(examples: Examples, size: int) -> torch.Tensor:
    """How often each number is in the pairs' answers; the end of each, which is 0, among them."""
    counts = np.zeros(size, np.int64)
    for numbers in np.array_split(examples.positive, max(len(examples) // COUNTED, 1)):
        batch = examples.rows.batch(numbers)
        counts += np.bincount(batch["ids"][batch["mask"]], minlength=size)
        counts[0] += len(numbers)
    return torch.from_numpy(counts)


def _begin_with_teacher(job: Job, lesson: Lesson) -> str:
    """Pieces begin as the regression of the teacher's vectors on them."""
    rows, targets, features = job.examples.rows, job.examples.targets, lesson.features
    if targets is None or not isinstance(features, Pieces) or not isinstance(rows, Ragged):
        raise SettingsError("embeddings.start=teacher: expected a teacher, and a network that adds up pieces (distil)")
    known = packaged_vectors(features.tokens) if features.settings.subwords else None
    vectors = regressed(
        rows, np.pad(targets, ((0, 0), (0, job.network.width - targets.shape[1]))), job.network.size, known
    )
    coverage = f"vectors of pieces begin as a regression of the teacher's on {len(targets)} texts"
    lesson.say(coverage)
    job.network.start(torch.from_numpy(vectors), torch.from_numpy(features.idf))
    return coverage


def _begin_with_model(job: Job, lesson: Lesson, folder: Path) -> str:
    """A network that adds up pieces begins as one that was trained before, weights and all."""
    if not isinstance(lesson.features, Pieces):
        raise SettingsError(
            f"embeddings.start={str(folder)!r}: expected a network that adds up pieces (static, distil)"
        )
    before = Static.opened(folder, {})
    if before.settings.sizes != lesson.recipe.features.sizes or before.vectors.shape[1] != job.network.width:
        raise SettingsError(f"embeddings.start={str(folder)!r}: expected its features and network.dim; it has others")
    reserved = len(lesson.features.tokens) - len(before.vectors)
    given = job.network.state_dict()
    given["pieces.weight"][reserved:] = torch.from_numpy(before.vectors)
    given["weight"][reserved:] = torch.from_numpy(before.weights)
    coverage = f"all begins as in {folder.name}"
    lesson.say(coverage)
    return coverage


def _keep(folder: Path, lesson: Lesson, network: Network, epochs: Sequence[Epoch], coverage: str) -> None:
    """Puts the model together beside its place and moves it there whole: killed before, training ends anew."""
    best, recipe, data = best_of(epochs), lesson.recipe, lesson.data
    trained = {
        "pairs": len(data.pairs), "dev_queries": len(data.dev.queries), "dev_documents": len(data.documents),
        "epochs": len(epochs), "best_epoch": best.number, "measure": recipe.training.measure, "value": best.value,
        "change": lesson.view.change, "made_at": made_at(lesson.view, lesson.view.change) or "",
        "knows_until": latest(lesson.view), "hidden": lesson.view.hidden,
        "parameters": sum(p.numel() for p in network.parameters()),
    }  # fmt: skip
    made = folder.with_name(f".made-{folder.name}")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    tensors = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    own = registry.load("encoder", network.served_by).keep(made, recipe, lesson.features, tensors)
    (made / CARD).write_text(card(folder.name, recipe, trained, lesson.view, epochs, coverage), encoding="utf-8")
    tables = {**recipe.tables(), **own, "trained": trained}
    (made / MODEL).write_text(f'encoder = "{network.served_by}"\n\n{toml(tables)}', encoding="utf-8")
    os.replace(made, folder)
    shutil.rmtree(lesson.partial)
