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
from askalike.archive.view import View
from askalike.config import Settings, validated
from askalike.encoders import MODEL
from askalike.encoders._learning import features_of, learn, untrained
from askalike.encoders._recipe import Recipe, recipes
from askalike.encoders._traced import Made, Traced
from askalike.errors import InputError, NotFittedError, SettingsError
from askalike.nn._network import Network, Trace
from askalike.text.features._features import Features, Text
from askalike.training.checkpoint import load_weights
from askalike.training.encoding import encoded, scored, traces
from askalike.types import Answer, Vectors

WEIGHTS = "weights.safetensors"


class NeuralSettings(Settings):
    """What may be chosen when a trained network is used."""

    device: Literal["cpu", "cuda", "mps"] = "cpu"


@dataclass(frozen=True, slots=True)
class Known:
    """What a trained encoder is made of."""

    features: Features
    network: Network
    fingerprint: str
    knows_until: str | None


class Neural:
    """A network with the features that it reads."""

    Settings = NeuralSettings

    def __init__(self, recipe: Recipe, settings: NeuralSettings | None = None, known: Known | None = None) -> None:
        self.recipe = recipe
        self.settings = settings or NeuralSettings()
        self._known = known

    @classmethod
    def named(cls, values: Mapping[str, Any]) -> Self:
        """An untrained encoder by a recipe: `recipe` is its name or a file, the rest are the recipe's settings."""
        rest = {key: value for key, value in values.items() if key != "recipe"}
        if not isinstance(name := values.get("recipe"), str):
            raise SettingsError(f"neural: expected recipe, one of {', '.join(recipes())}, or a file")
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
        features = features_of(recipe).load(recipe.features, folder)
        network = untrained(recipe, len(features.tokens))
        load_weights(network, folder / WEIGHTS)
        digest = hashlib.sha256((folder / WEIGHTS).read_bytes() + text.encode()).hexdigest()
        return cls(
            recipe,
            settings,
            Known(features, network.to(settings.device), digest, described.get("trained", {}).get("knows_until")),
        )

    @staticmethod
    def keep(
        folder: Path, recipe: Recipe, features: Features, tensors: Mapping[str, NDArray[Any]]
    ) -> Mapping[str, Mapping[str, Any]]:
        """Writes what `opened` reads, but model.toml; returns what that has beside the recipe."""
        features.save(folder)
        save_file(dict(tensors), folder / WEIGHTS)
        return {}

    @property
    def known(self) -> Known | None:
        """What it is made of, once it is trained."""
        return self._known

    @property
    def writes(self) -> bool:
        """Whether it has learned to write answers, too."""
        return self._known is not None and self._known.network.writes

    @property
    def indexable(self) -> bool:
        """Whether vectors alone give the score; else `score` does, pair by pair."""
        return self._known is None or self._known.network.indexable

    def score(self, query: Text, documents: Sequence[Text]) -> NDArray[np.float32]:
        """The network's score of each document for the query, (n,)."""
        known = self._trained()
        texts = known.features.rows([query, *documents])
        vectors = encoded(known.network, texts, _answers([query, *documents]))
        scores = scored(known.network, vectors, np.zeros(1, np.int64), np.arange(1, len(documents) + 1))
        return np.asarray(scores[0], np.float32)

    @property
    def fingerprint(self) -> str:
        """Of everything that decides about vectors: an index refuses those of another one."""
        return self._trained().fingerprint

    def encode(self, texts: Sequence[Text], role: Literal["query", "document"]) -> Vectors:
        """The vectors of n texts: one row each, in every part. A text without a known word gets zeros."""
        known = self._trained()
        return encoded(known.network, known.features.rows(texts), _answers(texts))

    def traced(self, texts: Sequence[Text]) -> Sequence[Traced] | None:
        """What of each text makes its vectors; None where the network cannot tell."""
        known = self._trained()
        spans = getattr(known.features, "spans", None)
        found = traces(known.network, known.features.rows(texts)) if spans else None
        if spans is None or found is None:
            return None
        weights = known.network.weights().tolist()
        read = [spans(text) for text in texts]
        return [Traced(plain, words, _made(found, weights, n)) for n, (plain, words) in enumerate(read)]

    @property
    def values(self) -> Mapping[str, Any]:
        """See Encoder.values: of an untrained one its recipe's."""
        if self._known is not None:
            return self.settings.model_dump()
        rows = ((f"{table}.{key}", value) for table, row in self.recipe.tables().items() for key, value in row.items())
        return {key: value for key, value in rows if key != "network.name"}

    @property
    def knows_until(self) -> str | None:
        """The date of the latest text or link that it may have learned from."""
        return self._known.knows_until if self._known else None

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
        return encoders.opened(folder)  # type: ignore[return-value] # the encoder that serves the network

    def _trained(self) -> Known:
        if self._known is None:
            raise NotFittedError(
                f"{self.recipe.name}: nothing is learned yet; train it (askalike train), or call fit(view)"
            )
        return self._known


def _answers(texts: Sequence[Text]) -> NDArray[np.bool_]:
    return np.array([isinstance(text, Answer) for text in texts], np.bool_)


def _made(traces: Sequence[Trace], weights: Sequence[float], n: int) -> tuple[Made, ...]:
    """What makes the vectors of the text of number n, part by part."""
    return tuple(
        Made(t.columns[n].numpy(), t.values[n].numpy(), t.tokens[n].numpy(), t.side, weight)
        for t, weight in zip(traces, weights, strict=True)
    )
