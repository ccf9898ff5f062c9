"""Encodes texts with a trained network. Torch is imported with this file, and nowhere above it."""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from askalike import encoders
from askalike.config import Settings, validate_settings
from askalike.encoders import MODEL_FILE
from askalike.encoders._learning import create_network, load_features_class, train_recipe
from askalike.encoders._recipe import Recipe, list_recipes
from askalike.encoders._traced import TracedText, VectorContributions
from askalike.errors import InputError, NotFittedError, SettingsError
from askalike.nn import Network, TokenTrace
from askalike.store.view import View
from askalike.text.features._features import Text, TextFeatures
from askalike.training.checkpoint import load_weights
from askalike.training.encoding import encode_rows, score_pairs, trace_rows
from askalike.types import Answer, Vectors

WEIGHTS_FILE = "weights.safetensors"


class NeuralEncoderSettings(Settings):
    """What may be chosen when a trained network is used."""

    device: Literal["cpu", "cuda", "mps"] = "cpu"


@dataclass(frozen=True, slots=True)
class TrainedNetwork:
    """What a trained encoder is made of."""

    features: TextFeatures
    network: Network
    fingerprint: str
    trained_until: str | None


class NeuralEncoder:
    """A network with the features that it reads."""

    Settings = NeuralEncoderSettings

    def __init__(
        self,
        recipe: Recipe,
        settings: NeuralEncoderSettings | None = None,
        trained_network: TrainedNetwork | None = None,
    ) -> None:
        self.recipe = recipe
        self.settings = settings or NeuralEncoderSettings()
        self._trained_network = trained_network

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """An untrained encoder by a recipe: `recipe` is its name or a file, the rest are the recipe's settings."""
        rest = {key: value for key, value in values.items() if key != "recipe"}
        if not isinstance(name := values.get("recipe"), str):
            raise SettingsError(f"neural: expected recipe, one of {', '.join(list_recipes())}, or a file")
        return cls(Recipe.read(name, rest))

    @classmethod
    def open(cls, folder: Path, values: Mapping[str, Any]) -> Self:
        """The trained encoder in a folder of `models/`. Raises InputError for what cannot be read."""
        try:
            text = (folder / MODEL_FILE).read_text(encoding="utf-8")
            described = tomllib.loads(text)
        except (OSError, ValueError) as error:
            raise InputError(f"{folder / MODEL_FILE}: not a model's description ({error})") from None
        tables = {name: rows for name, rows in described.items() if isinstance(rows, dict) and name != "trained"}
        recipe = Recipe.from_tables(tables)
        settings = validate_settings(NeuralEncoderSettings, values, str(folder.name))
        features = load_features_class(recipe).load(recipe.features, folder)
        network = create_network(recipe, len(features.tokens))
        load_weights(network, folder / WEIGHTS_FILE)
        digest = hashlib.sha256((folder / WEIGHTS_FILE).read_bytes() + text.encode()).hexdigest()
        return cls(
            recipe,
            settings,
            TrainedNetwork(
                features, network.to(settings.device), digest, described.get("trained", {}).get("knows_until")
            ),
        )

    @staticmethod
    def save_model(
        folder: Path, recipe: Recipe, features: TextFeatures, tensors: Mapping[str, NDArray[Any]]
    ) -> Mapping[str, Mapping[str, Any]]:
        """Writes what `opened` reads, but model.toml; returns what that has beside the recipe."""
        features.save(folder)
        save_file(dict(tensors), folder / WEIGHTS_FILE)
        return {}

    @property
    def trained_network(self) -> TrainedNetwork | None:
        """What it is made of, once it is trained."""
        return self._trained_network

    @property
    def can_write_answers(self) -> bool:
        """Whether it has learned to write answers, too."""
        return self._trained_network is not None and self._trained_network.network.generates_answers

    @property
    def indexable(self) -> bool:
        """Whether vectors alone give the score; else `score` does, pair by pair."""
        return self._trained_network is None or self._trained_network.network.indexable

    def score(self, query: Text, documents: Sequence[Text]) -> NDArray[np.float32]:
        """The network's score of each document for the query, (n,)."""
        known = self._require_trained()
        texts = known.features.encode([query, *documents])
        vectors = encode_rows(known.network, texts, _mark_answers([query, *documents]))
        scores = score_pairs(known.network, vectors, np.zeros(1, np.int64), np.arange(1, len(documents) + 1))
        return np.asarray(scores[0], np.float32)

    @property
    def fingerprint(self) -> str:
        """Of everything that decides about vectors: an index refuses those of another one."""
        return self._require_trained().fingerprint

    def encode(self, texts: Sequence[Text], role: Literal["query", "document"]) -> Vectors:
        """The vectors of n texts: one row each, in every part. A text without a known word gets zeros."""
        known = self._require_trained()
        return encode_rows(known.network, known.features.encode(texts), _mark_answers(texts))

    def trace(self, texts: Sequence[Text]) -> Sequence[TracedText] | None:
        """What of each text makes its vectors; None where the network cannot tell."""
        known = self._require_trained()
        spans = getattr(known.features, "spans", None)
        found = trace_rows(known.network, known.features.encode(texts)) if spans else None
        if spans is None or found is None:
            return None
        weights = known.network.part_weights().tolist()
        read = [spans(text) for text in texts]
        return [
            TracedText(plain, words, _collect_contributions(found, weights, n)) for n, (plain, words) in enumerate(read)
        ]

    @property
    def values(self) -> Mapping[str, Any]:
        """See Encoder.values: of an untrained one its recipe's."""
        if self._trained_network is not None:
            return self.settings.model_dump()
        rows = (
            (f"{table}.{key}", value) for table, row in self.recipe.to_tables().items() for key, value in row.items()
        )
        return {key: value for key, value in rows if key != "network.name"}

    @property
    def trained_until(self) -> str | None:
        """The date of the latest text or link that it may have learned from."""
        return self._trained_network.trained_until if self._trained_network else None

    def fit(self, view: View) -> Self:
        """Learns from the view's pairs, in the archive's `models/` under a name that the recipe decides.

        What is trained already, as it is. Dev queries are cut off from the pairs by cluster.
        """
        if self._trained_network is not None:
            return self
        run = json.dumps(
            [self.recipe.to_tables(), view.change, view.kind, view.before, view.group, view.held_out_splits]
        )
        name = f"{self.recipe.name}-{hashlib.sha256(run.encode()).hexdigest()[:12]}"
        folder = Path(view.archive) / "models" / name
        if not (folder / MODEL_FILE).exists():
            train_recipe(view, self.recipe, folder)
        return encoders.open_encoder(folder)  # type: ignore[return-value] # the encoder that serves the network

    def _require_trained(self) -> TrainedNetwork:
        if self._trained_network is None:
            raise NotFittedError(
                f"{self.recipe.name}: nothing is learned yet; train it (askalike train), or call fit(view)"
            )
        return self._trained_network


def _mark_answers(texts: Sequence[Text]) -> NDArray[np.bool_]:
    return np.array([isinstance(text, Answer) for text in texts], np.bool_)


def _collect_contributions(
    traces: Sequence[TokenTrace], weights: Sequence[float], n: int
) -> tuple[VectorContributions, ...]:
    """What makes the vectors of the text of number n, part by part."""
    return tuple(
        VectorContributions(t.columns[n].numpy(), t.values[n].numpy(), t.tokens[n].numpy(), t.context_size, weight)
        for t, weight in zip(traces, weights, strict=True)
    )
