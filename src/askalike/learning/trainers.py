"""The seam of packages that train: their recipes by name, and what rankers, experiments and tuning ask of one.

A package registers a Trainer in the group `askalike.trainers`. Without one, there are no recipes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final, Protocol

from askalike.core import registry
from askalike.core.errors import SettingsError
from askalike.core.hits import Run
from askalike.core.iteration import LogCallback
from askalike.core.records import Question
from askalike.encoders import Encoder
from askalike.store import TrainingView

TRAINING_LOGGER: Final = "askalike.training"
"""The logger of training; an experiment keeps its lines."""
SEED_SETTING: Final = "training.seed"
"""The setting of a recipe's seed."""

Miner = Callable[[Mapping[str, Question], str, int], Run]
"""`mine(queries, ranker, depth)` ranks the questions of the training view for training queries, to draw negatives."""


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """The state of training."""

    epoch: int
    """The current epoch, counted from 1."""
    epochs: int
    """The maximum number of epochs."""
    batch: int
    """The number of finished batches of the epoch."""
    batches: int
    """The number of batches in the epoch."""
    loss: float
    """The mean loss of the epoch's pairs so far."""
    examples_per_second: float
    remaining_s: float
    """The estimated time for all remaining epochs, in seconds."""
    least_remaining_s: float
    """The same if no further epoch is better than the best so far."""
    measure: str
    """The name of the dev measure."""
    value: float | None = None
    """The dev measure after the epoch, from 0 to 1; None within an epoch."""
    best: float | None = None
    """The highest dev measure so far."""


TrainingProgressCallback = Callable[[TrainingProgress], None]


class TrainingRecipe(Protocol):
    """A kind of model with all settings of its training."""

    @property
    def max_epochs(self) -> int:
        """The maximum number of passes over the training pairs, or the texts."""

    def create_encoder(self) -> Encoder:
        """Return the untrained encoder, whose `fit` trains it on a view."""

    def train(
        self,
        view: TrainingView,
        folder: Path,
        *,
        miner: Miner | None = None,
        report: TrainingProgressCallback | None = None,
        log: LogCallback = lambda line: None,
    ) -> None:
        """Train on a view, and write the model to `folder`, atomically. The same call resumes an interrupted one.

        Raises TrainingError for too little data or memory, ArchiveError if nothing can be written.
        """


class Trainer(Protocol):
    """The recipes of a package. It is asked for names often, and should not import what trains before it must."""

    def recipe_names(self) -> Sequence[str]:
        """Return the names of its recipes, each also the name of a ranker that is trained where it is measured."""

    def internal_names(self) -> Sequence[str]:
        """Return the names of encoders and of parts of recipes that are no rankers' names, and no model's."""

    def load_recipe(self, name: str, values: Mapping[str, Any]) -> TrainingRecipe:
        """Return the recipe of a name, or in a TOML file, with some values set.

        Raises SettingsError for an unknown recipe or setting.
        """

    def shorten_setting(self, name: str, value: Any) -> Any:
        """Return a setting's value for trying a recipe out in minutes; the value itself if it takes no time.

        name: `table.key`, perhaps after the name of a part of a ranker.
        """


def list_recipes() -> tuple[str, ...]:
    """Return the names of all recipes, sorted."""
    return tuple(sorted({name for trainer in _trainers() for name in trainer.recipe_names()}))


def internal_names() -> frozenset[str]:
    """Return the names of trainers that neither rankers nor models have."""
    return frozenset(name for trainer in _trainers() for name in trainer.internal_names())


def load_recipe(name: str, values: Mapping[str, Any]) -> TrainingRecipe:
    """Return the recipe of that name, or in a TOML file, with some values set.

    Raises SettingsError for an unknown recipe or setting, and if no installed package trains.
    """
    trainers = list(_trainers())
    if not trainers:
        raise SettingsError(f"{name}: no installed package trains models; docs/operating.md names one")
    trainer = next((found for found in trainers if name in found.recipe_names()), trainers[0])
    return trainer.load_recipe(name, values)


def shorten_setting(name: str, value: Any) -> Any:
    """Return the value of a ranker's setting for trying it out in minutes."""
    return reduce(lambda shorter, trainer: trainer.shorten_setting(name, shorter), _trainers(), value)


def _trainers() -> Iterator[Trainer]:
    return (registry.load("trainer", name) for name in registry.names("trainer"))
