"""Encodes texts with a trained network. Imports torch."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike import Answer, Encoder, NotFittedError, Settings, SettingsError, TrainingView, Vectors, validate_settings
from askalike.plugin import load
from askalike.plugin.features import Text
from askalike.plugin.models import MODEL_FILE, LearnedLabels, open_encoder, read_model_file
from askalike_learning.devices import require_device
from askalike_learning.features import TextFeatures
from askalike_learning.features.words import WordFeatures
from askalike_learning.generate import Generator
from askalike_learning.networks import WEIGHTS_FILE, Network
from askalike_learning.recipe_files import list_recipes
from askalike_learning.recipes import Recipe
from askalike_learning.trained_network import encode_rows, open_network, score_pairs, start_fingerprints
from askalike_learning.training_run import train_recipe


class NeuralEncoderSettings(Settings):
    """Settings for the use of a trained network."""

    device: Literal["cpu", "cuda", "mps"] = Field("cpu", description="device that encodes texts")


class TrainedNetwork(NamedTuple):
    """A trained network with the features that it reads."""

    features: TextFeatures
    network: Network
    fingerprint: str
    trained_until: str | None
    """The date of the newest text or link in the training data."""
    learned_labels: LearnedLabels


class NeuralEncoder(Encoder):
    """Encodes texts with a network; untrained, it is a recipe to train one."""

    Settings = NeuralEncoderSettings

    def __init__(
        self, recipe: Recipe, settings: NeuralEncoderSettings | None = None, trained: TrainedNetwork | None = None
    ) -> None:
        self.recipe = recipe
        self.settings = settings or NeuralEncoderSettings()
        self.trained_network = trained
        """The network and its features; None if untrained."""
        if trained is not None:
            self.trained_until, self.learned_labels = trained.trained_until, trained.learned_labels

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """Return an untrained encoder: `recipe` is a recipe's name or file, the other values are its settings."""
        settings = {key: value for key, value in values.items() if key != "recipe"}
        if not isinstance(name := values.get("recipe"), str):
            raise SettingsError(f"neural: expected recipe, one of {', '.join(list_recipes())}, or a file")
        return cls(Recipe.read(name, settings))

    @classmethod
    def open(cls, folder: Path, values: Mapping[str, Any]) -> Self:
        """Open the trained encoder in a folder of `models/`. Raises InputError if it cannot be read."""
        model = read_model_file(folder)
        settings = validate_settings(NeuralEncoderSettings, values, str(folder.name))
        recipe, features, network = open_network(folder)
        require_device(settings.device, "device")
        digest = hashlib.sha256((folder / WEIGHTS_FILE).read_bytes() + (folder / MODEL_FILE).read_bytes()).hexdigest()
        trained_until = model.get("trained", {}).get("trained_until")
        learned = LearnedLabels.read(folder)
        return cls(
            recipe, settings, TrainedNetwork(features, network.to(settings.device), digest, trained_until, learned)
        )

    @property
    def generator(self) -> Generator | None:
        """See Encoder.generator."""
        trained = self.trained_network
        if trained is None or not trained.network.generates_answers:
            return None
        trained.network.eval()
        return Generator(cast(WordFeatures, trained.features), trained.network)

    @property
    def indexable(self) -> bool:
        """See Encoder.indexable; otherwise `score` computes the score of each pair."""
        network: type[Network] = load("network", self.recipe.name)
        return network.has_indexable_vectors(self.recipe.network)

    def score(self, query: Text, documents: Sequence[Text]) -> NDArray[np.float32]:
        """Return the network's score of each document for the query, (n,)."""
        trained = self._require_trained()
        rows = trained.features.encode([query, *documents])
        vectors = encode_rows(trained.network, rows, _mark_answers([query, *documents]))
        scores = score_pairs(trained.network, vectors, np.zeros(1, np.int64), np.arange(1, len(documents) + 1))
        return np.asarray(scores[0], np.float32)

    @property
    def fingerprint(self) -> str:
        """See Encoder.fingerprint."""
        return self._require_trained().fingerprint

    def encode_queries(self, texts: Sequence[Text]) -> Vectors:
        """Return the vectors of n texts: n rows in every part. A text without known words gets zeros."""
        trained = self._require_trained()
        return encode_rows(trained.network, trained.features.encode(texts), _mark_answers(texts))

    @property
    def values(self) -> Mapping[str, Any]:
        """See Encoder.values; those of an untrained encoder are its recipe's."""
        if self.trained_network is not None:
            return self.settings.model_dump()
        rows = ((f"{t}.{key}", value) for t, row in self.recipe.to_tables().items() for key, value in row.items())
        return {key: value for key, value in rows if key != "network.name"}

    def fit(self, view: TrainingView) -> Encoder:
        """Train on the view's pairs; the model is saved in the archive, named by the recipe and the view."""
        if self.trained_network is not None:
            return self
        if not isinstance(view, TrainingView):
            expected = "expected archive.training_view(held_out), which names the splits to measure"
            raise SettingsError(f"{self.recipe.name}: needs the splits to hold out from training; {expected}")
        run = json.dumps([self.recipe.to_tables(), view.digest, *start_fingerprints(self.recipe)])
        name = f"{self.recipe.name}-{hashlib.sha256(run.encode()).hexdigest()[:12]}"
        folder = view.path / "models" / name
        if not (folder / MODEL_FILE).exists():
            train_recipe(view, self.recipe, folder)
        return open_encoder(folder)  # the encoder that serves the network

    def _require_trained(self) -> TrainedNetwork:
        if self.trained_network is None:
            advice = "train it (askalike train), or call fit(view)"
            raise NotFittedError(f"{self.recipe.name}: not trained yet; {advice}")
        return self.trained_network


def _mark_answers(texts: Sequence[Text]) -> NDArray[np.bool_]:
    return np.array([isinstance(text, Answer) for text in texts], np.bool_)
