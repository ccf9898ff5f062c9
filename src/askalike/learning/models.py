"""Trained models: the seam of packages that train them, and a model's folder, with its description and its card.

A package registers a Trainer in the group `askalike.trainers`. Without one, there are no recipes. The card has the
licence of the data that a model was made from.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final, Protocol

import tomli_w

from askalike.core import registry
from askalike.core.config import Tables
from askalike.core.errors import SettingsError
from askalike.core.files import replace_folder
from askalike.core.hits import Run
from askalike.core.iteration import LogCallback
from askalike.core.records import Question
from askalike.core.values import format_count
from askalike.encoders import MODEL_FILE, Encoder
from askalike.store import TrainingView, View, count_questions_by

TRAINING_LOGGER: Final = "askalike.training"
"""The logger of training; an experiment keeps its lines."""
SEED_SETTING: Final = "training.seed"
"""The setting of a recipe's seed."""

Miner = Callable[[Mapping[str, Question], str, int], Run]
"""`mine(queries, ranker, depth)` ranks the questions of the training view for training queries, to draw negatives."""
CARD_FILE = "README.md"


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
        raise SettingsError(f"{name}: no installed package trains models; docs/install.md names one")
    trainer = next((found for found in trainers if name in found.recipe_names()), trainers[0])
    return trainer.load_recipe(name, values)


def shorten_setting(name: str, value: Any) -> Any:
    """Return the value of a ranker's setting for trying it out in minutes."""
    return reduce(lambda shorter, trainer: trainer.shorten_setting(name, shorter), _trainers(), value)


def _trainers() -> Iterator[Trainer]:
    return (registry.load("trainer", name) for name in registry.names("trainer"))


def partial_folder(folder: Path) -> Path:
    """Return the folder of a model's checkpoint, until its training is finished."""
    return folder.with_name(f".training-{folder.name}")


def format_toml(tables: Tables) -> str:
    """Return tables as TOML; None values are left out."""
    return tomli_w.dumps({t: {k: v for k, v in row.items() if v is not None} for t, row in tables.items()})


@contextmanager
def write_text_model(folder: Path, encoder: str, tables: Tables, view: View) -> Iterator[Path]:
    """Write a model of a view's texts to `folder`, atomically. The context writes its files into the folder yielded.

    encoder: the registered name of the encoder that opens it. tables: those of model.toml.
    """
    trained = {"texts": len(view), "change": view.change, "trained_until": view.latest_date}
    with replace_folder(folder) as new:
        yield new
        (new / CARD_FILE).write_text(_render_text_model_card(folder.name, encoder, view), encoding="utf-8")
        toml = format_toml({**tables, "trained": trained})
        (new / MODEL_FILE).write_text(f'encoder = "{encoder}"\n\n{toml}', encoding="utf-8")


def _render_text_model_card(name: str, kind: str, view: View) -> str:
    """Return the card of a model trained on texts alone as Markdown."""
    return (
        f"# {name}\n\nA `{kind}` model of the texts of the archive {describe_name(view)!r}, made by askalike. "
        f"All its settings are in `model.toml`.\n\n## Data\n\n- The texts of {len(view)} questions, at change "
        f"{view.change}; no labels were read.\n{describe_licence(view)}\n"
    )


def describe_name(view: View) -> str:
    """Return the name of a view's archive, else its directory."""
    name = view.meta.get("name")
    return name if isinstance(name, str) else str(view.path)


def describe_licence(view: View) -> str:
    """Return a line of a card on the licence of the texts that a model is made from."""
    licences = ", ".join(
        f"{name} ({format_count(n, 'question')})" for name, n in count_questions_by(view, "license", 5).items()
    )
    licences = licences or view.meta.get("license") or "not stated"
    return f"- Licence of the archive's texts: {licences}. The model is made from them."
