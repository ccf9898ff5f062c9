"""Recipes as askalike trains them: those of networks, and of encoders that learn from texts alone. Imports torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from askalike import Encoder, TrainingView, View
from askalike.plugin import load
from askalike.plugin.training import LogCallback, Miner, TrainingProgressCallback, TrainingRecipe
from askalike_learning.neural import NeuralEncoder
from askalike_learning.recipe_files import SUFFIX, read_tables
from askalike_learning.recipes import Recipe
from askalike_learning.training_run import train_recipe


class TextEncoder(Protocol):
    """An encoder that learns from texts alone; its recipe has one table, `[encoder]`, with its name."""

    def train(self, view: View, folder: Path, log: LogCallback) -> None:
        """Train on the view's texts and write a model to `folder`, atomically. Raises TrainingError."""


@dataclass(frozen=True, slots=True)
class NetworkRecipe:
    """The recipe of a network."""

    recipe: Recipe

    @property
    def max_epochs(self) -> int:
        """See TrainingRecipe.max_epochs."""
        return self.recipe.training.epochs

    def create_encoder(self) -> Encoder:
        """See TrainingRecipe.create_encoder."""
        return NeuralEncoder(self.recipe)

    def train(
        self,
        view: TrainingView,
        folder: Path,
        *,
        miner: Miner | None = None,
        report: TrainingProgressCallback | None = None,
        log: LogCallback = lambda line: None,
    ) -> None:
        """See TrainingRecipe.train."""
        train_recipe(view, self.recipe, folder, miner=miner, on_progress=report, log=log)


@dataclass(frozen=True, slots=True)
class TextRecipe:
    """The recipe of an encoder that learns from texts alone."""

    encoder: Any
    """An untrained Encoder that is also a TextEncoder."""

    @property
    def max_epochs(self) -> int:
        """See TrainingRecipe.max_epochs."""
        return int(getattr(self.encoder.settings, "epochs", 1))

    def create_encoder(self) -> Encoder:
        """See TrainingRecipe.create_encoder."""
        return self.encoder  # type: ignore[no-any-return]

    def train(
        self,
        view: TrainingView,
        folder: Path,
        *,
        miner: Miner | None = None,
        report: TrainingProgressCallback | None = None,
        log: LogCallback = lambda line: None,
    ) -> None:
        """See TrainingRecipe.train; neither miner nor report is called."""
        learner: TextEncoder = self.encoder
        learner.train(view, folder, log)


def load_recipe(name: str, values: Mapping[str, Any]) -> TrainingRecipe:
    """Return the recipe of that name, or in a TOML file, with some values set.

    Raises SettingsError for an unknown recipe or setting.
    """
    tables = {} if name.endswith(SUFFIX) else read_tables(name)
    if "encoder" not in tables:
        return NetworkRecipe(Recipe.read(name, values))
    settings = dict(tables["encoder"])
    encoder_class = load("encoder", settings.pop("name"))
    return TextRecipe(encoder_class.from_settings({**settings, **values}))
