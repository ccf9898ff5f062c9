"""A recipe: everything that decides how a network is made and trained, as tables of settings."""

import importlib.resources
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from askalike import registry
from askalike.config import Settings, validated
from askalike.encoders._embeddings import EmbeddingSettings
from askalike.errors import InputError, SettingsError
from askalike.training.settings import NegativesSettings, TeacherSettings, TrainingSettings

Tables = Mapping[str, Mapping[str, Any]]

SIGNALS = ("duplicates", "judgements", "rephrasings")
NAMES = ("network", "features", "embeddings", "teacher", "loss", "negatives", "training", "data")
CORPUS = ("doc2vec", "topics")
"""Encoders that learn from texts alone: they have settings, and no recipe."""
PACKAGED = importlib.resources.files("askalike.encoders") / "recipes"


def recipes() -> tuple[str, ...]:
    """The names of the packaged recipes."""
    return tuple(sorted(f.name.removesuffix(".toml") for f in PACKAGED.iterdir() if f.name.endswith(".toml")))


def trainable() -> tuple[str, ...]:
    """What can be trained by its name: the packaged recipes, and the encoders that need none."""
    return (*recipes(), *CORPUS)


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
        if source not in recipes() and not source.endswith(".toml"):
            raise SettingsError(
                f"no recipe is called {source!r}; there are: {', '.join(recipes())}; or name a TOML file"
            )
        return cls.of(_file(Path(source)) if source.endswith(".toml") else _packaged(source), values or {})

    @classmethod
    def of(cls, tables: Tables, values: Mapping[str, Any] | None = None) -> Self:
        """From tables as `tables` gives them; what they leave out is as in the network's packaged recipe."""
        if unknown := [name for name in tables if name not in NAMES]:
            raise SettingsError(f"a recipe has no table {', '.join(unknown)} (known: {', '.join(NAMES)})")
        name = tables.get("network", {}).get("name")
        if not isinstance(name, str):
            raise SettingsError(f"a recipe names its network: name = one of {', '.join(registry.names('network'))}")
        kind = registry.load("network", name)
        own = _own(name)
        loss = _loss_name(tables, values or {}, own)
        models = _models(kind, loss)
        set_ = _placed(values or {}, models)
        own, tables = _for_loss(own, loss), _for_loss(tables, loss)
        merged = {t: {**own.get(t, {}), **tables.get(t, {}), **set_.get(t, {})} for t in NAMES}
        for table in ("network", "loss"):
            merged[table].pop("name", None)
        found: dict[str, Any] = {"network": validated(models["network"], merged["network"], "network")}
        merged["features"].update(kind.told(found["network"]))
        found |= {t: validated(models[t], merged[t], t) for t in NAMES if t not in found}
        return cls(name, loss_name=loss, **found)

    def tables(self) -> dict[str, dict[str, Any]]:
        """The recipe, whole: reading it again gives an equal one."""
        named = {"network": self.name, "loss": self.loss_name}
        rows = {table: getattr(self, table).model_dump() for table in NAMES}
        return {table: ({"name": named[table]} if table in named else {}) | row for table, row in rows.items()}


def toml(tables: Tables) -> str:
    """Tables of plain values as TOML; None is left out."""
    parts = []
    for table, rows in tables.items():
        lines = [f"{key} = {_value(value)}" for key, value in rows.items() if value is not None]
        parts.append("\n".join([f"[{table}]", *lines]))
    return "\n\n".join(parts) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(_value(v) for v in value)}]"


def _own(network: str) -> Tables:
    """What recipes of that network begin from: the packaged one of its name, if there is one."""
    bare: Tables = {"network": {"name": network}, "loss": {"name": "multiple_negatives"}}
    return {**bare, **(_packaged(network) if network in recipes() else {})}


def _packaged(name: str) -> Tables:
    return tomllib.loads((PACKAGED / f"{name}.toml").read_text(encoding="utf-8"))


def _file(path: Path) -> Tables:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a recipe ({error}); expected TOML with a table [network]") from None
    if wrong := [name for name, rows in tables.items() if not isinstance(rows, dict)]:
        raise InputError(f"{path}: {', '.join(wrong)}: expected tables, as in [network]")
    return tables


def _models(kind: Any, loss: str) -> dict[str, type[Settings]]:
    return {
        "network": kind.Settings,
        "features": registry.load("features", kind.features).Settings,
        "embeddings": EmbeddingSettings,
        "teacher": TeacherSettings,
        "loss": registry.load("loss", loss),
        "negatives": NegativesSettings,
        "training": TrainingSettings,
        "data": DataSettings,
    }


def _loss_name(tables: Tables, values: Mapping[str, Any], own: Tables) -> str:
    found = values.get("loss.name", values.get("loss")) or tables.get("loss", {}).get("name")
    return str(found or own["loss"]["name"])


def _for_loss(tables: Tables, loss: str) -> Tables:
    """Without the loss's settings where they are another one's."""
    if tables.get("loss", {}).get("name", loss) == loss:
        return tables
    return {table: rows for table, rows in tables.items() if table != "loss"}


def _placed(values: Mapping[str, Any], models: Mapping[str, type[Settings]]) -> dict[str, dict[str, Any]]:
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
            raise SettingsError(_unplaced(name, tables, models))
        placed.setdefault(tables[0], {})[key] = value
    return placed


def _unplaced(name: str, tables: Sequence[str], models: Mapping[str, type[Settings]]) -> str:
    if len(tables) > 1:
        return f"{name}: which one? {', '.join(f'{table}.{name}' for table in tables)}"
    known = ", ".join(f"{t}.{key}" for t, model in models.items() for key in model.model_fields)
    return f"{name} is not a setting (known: {known})"
