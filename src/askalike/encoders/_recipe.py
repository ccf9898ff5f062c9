"""A recipe: everything that decides how a network is made and trained, as tables of settings."""

import importlib.resources
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from askalike import registry
from askalike.config import Settings, validate_settings
from askalike.encoders._embeddings import EmbeddingSettings
from askalike.errors import InputError, SettingsError
from askalike.training.settings import NegativesSettings, TeacherSettings, TrainingSettings

Tables = Mapping[str, Mapping[str, Any]]

SIGNALS = ("duplicates", "judgements", "rephrasings")
TABLE_NAMES = ("network", "features", "embeddings", "teacher", "loss", "negatives", "training", "data")
CORPUS_ENCODERS = ("doc2vec", "topics")
"""Encoders that learn from texts alone: they have settings, and no recipe."""
RECIPE_FOLDER = importlib.resources.files("askalike.encoders") / "recipes"


def list_recipes() -> tuple[str, ...]:
    """The names of the packaged recipes."""
    return tuple(sorted(f.name.removesuffix(".toml") for f in RECIPE_FOLDER.iterdir() if f.name.endswith(".toml")))


def list_trainable() -> tuple[str, ...]:
    """What can be trained by its name: the packaged recipes, and the encoders that need none."""
    return (*list_recipes(), *CORPUS_ENCODERS)


class DataSettings(Settings):
    """Which pairs are learned from."""

    signals: tuple[str, ...] = SIGNALS
    of_cluster: int = 50
    """At most so many pairs of one duplicate cluster, drawn with the seed: one that is huge would drown the others."""
    dev_share: float = 0.1
    """The share of the clusters that is kept for dev where no split is named."""
    dev_queries: int = 1000
    """At most so many dev queries are cut off."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A network's name with the settings of everything about it."""

    name: str
    network: Any
    features: Any
    embeddings: EmbeddingSettings
    teacher: TeacherSettings
    loss_name: str
    loss: Any
    negatives: NegativesSettings
    training: TrainingSettings
    data: DataSettings

    @classmethod
    def read(cls, source: str, values: Mapping[str, Any] | None = None) -> Self:
        """A packaged recipe by its name, or one from a TOML file, with some values set.

        values: `table.key` → value, or `key` where only one table has it. Raises SettingsError for what is not known,
        InputError for a file that is not TOML.
        """
        if source not in list_recipes() and not source.endswith(".toml"):
            raise SettingsError(
                f"no recipe is called {source!r}; there are: {', '.join(list_recipes())}; or name a TOML file"
            )
        return cls.from_tables(
            _read_recipe_file(Path(source)) if source.endswith(".toml") else _read_packaged_recipe(source), values or {}
        )

    @classmethod
    def from_tables(cls, tables: Tables, values: Mapping[str, Any] | None = None) -> Self:
        """From tables as `tables` gives them; what they leave out is as in the network's packaged recipe."""
        if unknown := [name for name in tables if name not in TABLE_NAMES]:
            raise SettingsError(f"a recipe has no table {', '.join(unknown)} (known: {', '.join(TABLE_NAMES)})")
        name = tables.get("network", {}).get("name")
        if not isinstance(name, str):
            raise SettingsError(f"a recipe names its network: name = one of {', '.join(registry.names('network'))}")
        kind = registry.load("network", name)
        own = _load_default_tables(name)
        loss = _choose_loss_name(tables, values or {}, own)
        models = _load_settings_classes(kind, loss)
        set_ = _group_by_table(values or {}, models)
        own, tables = _drop_other_loss(own, loss), _drop_other_loss(tables, loss)
        merged = {t: {**own.get(t, {}), **tables.get(t, {}), **set_.get(t, {})} for t in TABLE_NAMES}
        for table in ("network", "loss"):
            merged[table].pop("name", None)
        found: dict[str, Any] = {"network": validate_settings(models["network"], merged["network"], "network")}
        merged["features"].update(kind.feature_settings(found["network"]))
        found |= {t: validate_settings(models[t], merged[t], t) for t in TABLE_NAMES if t not in found}
        return cls(name, loss_name=loss, **found)

    def to_tables(self) -> dict[str, dict[str, Any]]:
        """The recipe, whole: reading it again gives an equal one."""
        named = {"network": self.name, "loss": self.loss_name}
        rows = {table: getattr(self, table).model_dump() for table in TABLE_NAMES}
        return {table: ({"name": named[table]} if table in named else {}) | row for table, row in rows.items()}


def format_toml(tables: Tables) -> str:
    """Tables of plain values as TOML; None is left out."""
    parts = []
    for table, rows in tables.items():
        lines = [f"{key} = {_format_value(value)}" for key, value in rows.items() if value is not None]
        parts.append("\n".join([f"[{table}]", *lines]))
    return "\n\n".join(parts) + "\n"


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(_format_value(v) for v in value)}]"


def _load_default_tables(network: str) -> Tables:
    """What recipes of that network begin from: the packaged one of its name, if there is one."""
    bare: Tables = {"network": {"name": network}, "loss": {"name": "multiple_negatives"}}
    return {**bare, **(_read_packaged_recipe(network) if network in list_recipes() else {})}


def _read_packaged_recipe(name: str) -> Tables:
    return tomllib.loads((RECIPE_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def _read_recipe_file(path: Path) -> Tables:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a recipe ({error}); expected TOML with a table [network]") from None
    if wrong := [name for name, rows in tables.items() if not isinstance(rows, dict)]:
        raise InputError(f"{path}: {', '.join(wrong)}: expected tables, as in [network]")
    return tables


def _load_settings_classes(network_class: Any, loss_name: str) -> dict[str, type[Settings]]:
    return {
        "network": network_class.Settings,
        "features": registry.load("features", network_class.features).Settings,
        "embeddings": EmbeddingSettings,
        "teacher": TeacherSettings,
        "loss": registry.load("loss", loss_name),
        "negatives": NegativesSettings,
        "training": TrainingSettings,
        "data": DataSettings,
    }


def _choose_loss_name(tables: Tables, values: Mapping[str, Any], defaults: Tables) -> str:
    found = values.get("loss.name", values.get("loss")) or tables.get("loss", {}).get("name")
    return str(found or defaults["loss"]["name"])


def _drop_other_loss(tables: Tables, loss_name: str) -> Tables:
    """Without the loss's settings where they are another one's."""
    if tables.get("loss", {}).get("name", loss_name) == loss_name:
        return tables
    return {table: rows for table, rows in tables.items() if table != "loss"}


def _group_by_table(values: Mapping[str, Any], models: Mapping[str, type[Settings]]) -> dict[str, dict[str, Any]]:
    """`table.key` and `key` by table."""
    placed: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        table, _, key = name.rpartition(".")
        if name in ("loss", "loss.name"):
            continue
        if name == "signals" and isinstance(value, str):
            value = tuple(value.split(","))
        tables = [table] if table else [t for t, model in models.items() if name in model.model_fields]
        if len(tables) != 1 or tables[0] not in models:
            raise SettingsError(_describe_unknown_setting(name, tables, models))
        placed.setdefault(tables[0], {})[key] = value
    return placed


def _describe_unknown_setting(name: str, tables: Sequence[str], models: Mapping[str, type[Settings]]) -> str:
    if len(tables) > 1:
        return f"{name}: which one? {', '.join(f'{table}.{name}' for table in tables)}"
    known = ", ".join(f"{t}.{key}" for t, model in models.items() for key in model.model_fields)
    return f"{name} is not a setting (known: {known})"
