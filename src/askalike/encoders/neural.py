"""Encodes texts with a trained network. Torch is imported with this file, and nowhere above it."""

import hashlib
import json
import os
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch

from askalike import registry
from askalike.archive.view import View
from askalike.config import Settings, validated
from askalike.encoders import MODEL
from askalike.encoders._card import card
from askalike.encoders._data import Data, gathered
from askalike.encoders._embeddings import started
from askalike.encoders._recipe import Recipe, toml
from askalike.errors import InputError, NotFittedError, SettingsError
from askalike.nn._network import Network
from askalike.text.features._features import Features, Text
from askalike.training.checkpoint import BEST, Epoch, history, load_weights
from askalike.training.dev import Dev
from askalike.training.encoding import encoded
from askalike.training.examples import Examples, Texts, collected
from askalike.training.negatives import drawn, mined
from askalike.training.settings import NegativesSettings
from askalike.training.trainer import Job, Report, best_of, train
from askalike.types import Question, Run, Split, Vectors

WEIGHTS = "weights.safetensors"
CARD = "README.md"
PARTIAL = ".training"

Say = Callable[[str], None]
"""Takes a line about what is being done."""
Miner = Callable[[Mapping[str, Question], NegativesSettings], Run]
"""Ranks the archive's questions for the training queries."""


class NeuralSettings(Settings):
    """What may be chosen when a trained network is used."""

    device: Literal["cpu", "cuda", "mps"] = "cpu"


@dataclass(frozen=True, slots=True)
class Known:
    """What a trained encoder is made of."""

    features: Features
    network: Network
    fingerprint: str


class Neural:
    """A network with the features that it reads."""

    Settings = NeuralSettings

    def __init__(self, recipe: Recipe, settings: NeuralSettings | None = None, known: Known | None = None) -> None:
        self.recipe = recipe
        self.settings = settings or NeuralSettings()
        self._known = known

    @classmethod
    def named(cls, values: Mapping[str, Any]) -> Self:
        """An untrained encoder by a recipe: `recipe` names a network or a file, the rest are the recipe's settings."""
        rest = {key: value for key, value in values.items() if key != "recipe"}
        if not isinstance(name := values.get("recipe"), str):
            raise SettingsError(f"neural: expected recipe, one of {', '.join(registry.names('network'))}, or a file")
        return cls(Recipe.read(name, rest))

    @classmethod
    def opened(cls, folder: Path, values: Mapping[str, Any]) -> Self:
        """The trained encoder in a folder of `models/`. Raises InputError for what cannot be read."""
        try:
            text = (folder / MODEL).read_text(encoding="utf-8")
            described = tomllib.loads(text)
        except (OSError, ValueError) as error:
            raise InputError(f"{folder / MODEL}: not a model's description ({error})") from None
        tables = {name: rows for name, rows in described.items() if isinstance(rows, dict) and name != "trained"}
        recipe = Recipe.of(tables)
        settings = validated(NeuralSettings, values, str(folder.name))
        features = _features(recipe).load(recipe.features, folder)
        network = _network(recipe, len(features.tokens))
        load_weights(network, folder / WEIGHTS)
        digest = hashlib.sha256((folder / WEIGHTS).read_bytes() + text.encode()).hexdigest()
        return cls(recipe, settings, Known(features, network.to(settings.device), digest))

    @property
    def fingerprint(self) -> str:
        """Of everything that decides about vectors: an index refuses those of another one."""
        return self._trained().fingerprint

    def encode(self, texts: Sequence[Text], role: Literal["query", "document"]) -> Vectors:
        """The vectors of n texts: one row each, in every part. A text without a known word gets zeros."""
        known = self._trained()
        return encoded(known.network, known.features.rows(texts), np.full(len(texts), role == "document"))

    def fit(self, view: View) -> Self:
        """Learns from the view's pairs, in the archive's `models/` under a name that the recipe decides.

        What is trained already, as it is. Dev queries are cut off from the pairs by cluster.
        """
        if self._known is not None:
            return self
        run = json.dumps([self.recipe.tables(), view.change, view.of, view.before, view.group, view.hidden])
        name = f"{self.recipe.name}-{hashlib.sha256(run.encode()).hexdigest()[:12]}"
        folder = Path(view.archive) / "models" / name
        if not (folder / MODEL).exists():
            learn(view, self.recipe, folder)
        return type(self).opened(folder, self.settings.model_dump())

    def _trained(self) -> Known:
        if self._known is None:
            raise NotFittedError(
                f"{self.recipe.name}: nothing is learned yet; train it (askalike train), or call fit(view)"
            )
        return self._known


def learn(
    view: View,
    recipe: Recipe,
    folder: Path,
    *,
    dev: Split | None = None,
    mine: Miner | None = None,
    report: Report | None = None,
    say: Say = lambda line: None,
) -> Sequence[Epoch]:
    """Trains a recipe on what a view knows and leaves a model in `folder`; returns its epochs.

    dev: the queries by which the best epoch is chosen; else some clusters are kept back. The same call again, after
    it was interrupted or killed, goes on with the epoch that was not finished. Raises TrainingError.
    """
    seed = recipe.training.seed
    data = gathered(view, recipe.data, dev, recipe.training.dev_documents, seed)
    say(f"{len(data.pairs)} training pairs, {len(data.dev.queries)} dev queries over {len(data.documents)} documents")
    features = _features(recipe).learn(recipe.features, _read(view, data))
    network = _network(recipe, len(features.tokens))
    texts = collected(data.pairs, (question for _, question in view.questions()) if recipe.negatives.random else ())
    examples = _examples(recipe, features, texts, mine, say)
    run = _fingerprint(recipe, view, data)
    partial = folder.with_name(f"{PARTIAL}-{folder.name}")
    job = Job(
        network, recipe.loss, recipe.negatives, recipe.training, examples, _dev(features, data), partial, run, report
    )
    coverage = _begin(job, recipe, features, view, say)
    epochs = train(job)
    _keep(folder, partial, recipe, features, network, epochs, data, view, coverage)
    return epochs


def _begin(job: Job, recipe: Recipe, features: Features, view: View, say: Say) -> str:
    """The network's start, unless there is a checkpoint to go on from."""
    if (epochs := history(job.directory, job.run)) is not None:
        say(f"going on after epoch {len(epochs)}")
        return ""
    reader = _features(recipe).learn(recipe.features.model_copy(update={"fields": recipe.embeddings.reads}), ())

    def words() -> Iterator[list[str]]:
        return (reader.words(question) for _, question in view.questions())

    dim = recipe.network.dim
    start = started(recipe.embeddings, features.tokens, dim, words, recipe.training.seed)
    say(start.coverage)
    vectors = None if start.vectors is None else torch.from_numpy(start.vectors)
    job.network.start(vectors, torch.from_numpy(features.idf))
    return start.coverage


def _features(recipe: Recipe) -> type[Features]:
    return registry.load("features", registry.load("network", recipe.name).features)


def _network(recipe: Recipe, size: int) -> Network:
    """A network with random parameters, drawn with the recipe's seed."""
    with torch.random.fork_rng():
        torch.manual_seed(recipe.training.seed)
        return registry.load("network", recipe.name)(recipe.network, size)  # type: ignore[no-any-return]


def _read(view: View, data: Data) -> Iterator[Text]:
    """What the vocabulary is learned from: the archive's questions, and what of the pairs is no question of it."""
    yield from (question for _, question in view.questions())
    yield from (pair.positive for pair in data.pairs if not isinstance(pair.positive, Question))


def _examples(recipe: Recipe, features: Features, texts: Texts, mine: Miner | None, say: Say) -> Examples:
    settings = recipe.negatives
    columns = [np.zeros((len(texts.query), 0), np.int64)]
    if settings.random:
        columns.append(drawn(texts, settings.random, recipe.training.seed))
    if settings.mined:
        if mine is None:
            raise SettingsError("negatives.mined needs a ranker to mine with: train with askalike train")
        asked = (texts.texts[n] for n in np.unique(texts.query).tolist())
        run = mine({text.id: text for text in asked if isinstance(text, Question)}, settings)
        found, audit = mined(texts, run, settings)
        say(str(audit))
        columns.append(found)
    return Examples(
        features.rows(texts.texts), texts.documents, texts.query, texts.positive, texts.pair_clusters,
        np.concatenate(columns, 1), [text.id for text in texts.texts],
    )  # fmt: skip


def _dev(features: Features, data: Data) -> Dev:
    rows = features.rows([*data.dev.queries.values(), *data.documents.values()])
    return Dev(rows, list(data.dev.queries), list(data.documents), data.answers, data.dev.qrels, data.dev.candidates)


def _fingerprint(recipe: Recipe, view: View, data: Data) -> str:
    """Names a training run: its settings and the data they select. A checkpoint of another one is not gone on from."""
    pairs = [(pair.query.id, pair.positive.id, pair.signal) for pair in data.pairs]
    # where it is trained may change on the way
    tables = {t: {k: v for k, v in rows.items() if k != "accelerator"} for t, rows in recipe.tables().items()}
    parts = [tables, view.change, view.of, pairs, list(data.dev.queries)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _keep(
    folder: Path,
    partial: Path,
    recipe: Recipe,
    features: Features,
    network: Network,
    epochs: Sequence[Epoch],
    data: Data,
    view: View,
    coverage: str,
) -> None:
    """Puts the model together beside its place and moves it there whole: killed before, training ends anew."""
    best = best_of(epochs)
    trained = {
        "pairs": len(data.pairs), "dev_queries": len(data.dev.queries), "dev_documents": len(data.documents),
        "epochs": len(epochs), "best_epoch": best.number, "measure": recipe.training.measure, "value": best.value,
        "change": view.change, "parameters": sum(p.numel() for p in network.parameters()),
    }  # fmt: skip
    tables = {**recipe.tables(), "trained": trained}
    made = folder.with_name(f".made-{folder.name}")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    features.save(made)
    (made / CARD).write_text(card(folder.name, recipe, trained, view, epochs, coverage), encoding="utf-8")
    shutil.copyfile(partial / BEST, made / WEIGHTS)
    (made / MODEL).write_text('encoder = "neural"\n\n' + toml(tables), encoding="utf-8")
    os.replace(made, folder)
    shutil.rmtree(partial)
