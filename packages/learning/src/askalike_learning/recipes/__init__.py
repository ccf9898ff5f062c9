"""The settings of a network's training."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from askalike import InputError, Settings, SettingsError, validate_settings
from askalike.plugin import load, names
from askalike.plugin.training import Tables, TextList, UnknownSettingError
from askalike_learning.recipe_files import list_recipes, read_tables


class NegativesSettings(Settings):
    """The kinds of negatives of a pair (q, p), all from other clusters."""

    random: int = Field(0, ge=0, description="number of random texts for each pair")
    redraw: bool = Field(
        True, description="whether each epoch draws its own random texts; otherwise all epochs have the same"
    )
    mined: int = Field(0, ge=0, description="number of texts for each pair that are ranked high by a ranker")
    judged: int = Field(
        0, ge=0, description="number of documents for each pair that are judged irrelevant to its query"
    )
    in_batch: bool = Field(False, description="whether the other pairs of the batch are negatives")
    hardest: bool = Field(False, description="whether only the highest-scoring drawn negative of each side is used")
    sides: Literal["both", "query"] = Field(
        "both", description="whether negatives are scored with the query only, or also with the positive"
    )
    ranker: str = Field("lm_jelinek_mercer", description="the ranker that negatives are mined from")
    from_rank: int = Field(10, ge=0, description="number of top hits that are skipped: many are unlabelled duplicates")
    to_rank: int = Field(100, ge=1, description="rank of the last hit that is mined")
    max_score: float = Field(
        0.95, gt=0, description="maximum score of a mined negative, as a share of the positive's score"
    )

    @property
    def kinds(self) -> int:
        """The number of kinds of negatives."""
        return sum(map(bool, (self.random, self.mined, self.judged, self.in_batch)))

    @model_validator(mode="after")
    def _check_ranks(self) -> "NegativesSettings":
        if self.from_rank >= self.to_rank:
            raise ValueError("expected from_rank below to_rank")
        return self


class TrainingSettings(Settings):
    """The training loop. An epoch is one pass over all pairs."""

    epochs: int = Field(20, ge=1, description="maximum number of epochs")
    batch_size: int = Field(64, ge=1, description="number of pairs in a batch, on each device")
    accumulate: int = Field(1, ge=1, description="number of batches whose mean gradient makes a step")
    optimizer: Literal["sgd", "adam", "adamw", "adagrad", "lazy_adam"] = Field(
        "sgd", description="the optimizer; lazy_adam updates only a batch's words, much faster with large vocabularies"
    )
    learning_rate: float = Field(0.05, gt=0, description="the optimizer's learning rate")
    weight_decay: float = Field(
        0.0, ge=0, description="L2 penalty of weight matrices, but not of word vectors and biases (adamw: decoupled)"
    )
    schedule: Literal["constant", "linear"] = Field(
        "constant", description="the learning rate is constant, or falls linearly to 0 at the end of the last epoch"
    )
    warm_up: float = Field(0.0, ge=0, lt=1, description="share of all steps in which the learning rate rises from 0")
    reduction: Literal["mean", "sum"] = Field(
        "mean", description="whether a batch's loss is the mean or the sum over its pairs"
    )
    clip: float = Field(0.0, ge=0, description="maximum norm of a gradient; 0: no limit")
    measure: str = Field("Success@10", description="the measure on dev that chooses the best epoch")
    patience: int = Field(4, ge=1, description="number of epochs without improvement after which training stops")
    dev_documents: int = Field(
        50_000, ge=1, description="number of documents ranked for dev queries, in addition to the relevant ones"
    )
    min_pairs: int = Field(32, ge=1, description="minimum number of training pairs")
    seed: int = Field(1, ge=0, description="seed of initial weights, batches and drawn negatives")
    accelerator: Literal["auto", "cpu", "cuda", "mps"] = Field("auto", description="device for training")
    devices: int = Field(1, ge=1, description="number of training processes, each with its own device")
    precision: Literal["auto", "32-true", "bf16-mixed"] = Field(
        "auto", description="number format; auto is bf16 on a GPU; a CPU without bf16 uses 32-true"
    )

    @model_validator(mode="after")
    def _check_combinations(self) -> "TrainingSettings":
        if self.accumulate > 1 and self.devices > 1:
            raise ValueError("accumulate is for one process; set devices=1, or accumulate=1")
        if self.optimizer == "lazy_adam" and self.weight_decay:
            raise ValueError("lazy_adam has no weight decay; set weight_decay=0, or optimizer=adam")
        return self


DUPLICATE_SIGNALS = ("duplicates", "judgements", "rephrasings")
TABLE_NAMES = ("network", "features", "embeddings", "loss", "negatives", "training", "data")


class EmbeddingSettings(Settings):
    """Initial word vectors; all are trained further with the network.

    init: skipgram (Mikolov et al. 2013, on the archive's own text), random, packaged (the packaged subword vectors; a
    word has the sum of its subwords' vectors), the folder of a trained model (static, or the same network over word
    vectors), or a text file of word2vec, fastText, LexVec or GloVe vectors.
    """

    init: str = Field(
        "skipgram",
        description="initial word vectors: skipgram, random, packaged, a model's folder, or a file of vectors",
    )
    init_fields: Literal["title", "body", "text"] = Field("text", description="the fields that are read (text: both)")
    context: int = Field(5, ge=1, description="window size: number of words on either side that a word predicts")
    negative_samples: int = Field(5, ge=1, description="number of negative samples for each predicted word")
    init_epochs: int = Field(10, ge=1, description="number of passes over the archive")
    init_seed: int = Field(1, ge=0, description="seed of skip-gram; training.seed does not change it")
    init_std: float = Field(
        0.0,
        ge=0,
        description="standard deviation that all initial word vectors together are scaled to; 0: they are not scaled",
    )


class DataSettings(Settings):
    """The pairs that a network is trained on."""

    signals: TextList = Field(DUPLICATE_SIGNALS, description="the sources of training pairs")
    irrelevant: bool = Field(
        False, description="whether pairs judged irrelevant are learned, too, each by itself (loss cross_entropy)"
    )
    max_pairs_per_cluster: int = Field(
        50, ge=0, description="maximum number of pairs of one duplicate cluster; 0: no limit"
    )
    max_pairs_per_query: int = Field(
        0, ge=0, description="maximum number of pairs of one query, applied before max_pairs_per_cluster; 0: no limit"
    )
    max_pairs: int = Field(
        0, ge=0, description="maximum number of pairs of one signal, applied last and drawn at random; 0: no limit"
    )
    balanced: bool = Field(
        False, description="whether a cluster with fewer pairs repeats its own, so that each cluster counts the same"
    )
    dev_share: float = Field(0.1, description="share of clusters held out as dev queries if no dev split is named")
    dev_queries: int = Field(1000, description="maximum number of held-out dev queries")

    @model_validator(mode="after")
    def _check_balanced(self) -> Self:
        if self.balanced and not self.max_pairs_per_cluster:
            raise ValueError(
                "balanced: each cluster has max_pairs_per_cluster pairs; expected max_pairs_per_cluster=1 or more"
            )
        return self


@dataclass(frozen=True, slots=True)
class Recipe:
    """The name of a network with all settings of its architecture, features, data and training."""

    name: str
    network: Any
    features: Any
    embeddings: EmbeddingSettings
    loss_name: str
    loss: Any
    negatives: NegativesSettings
    training: TrainingSettings
    data: DataSettings

    @classmethod
    def read(cls, source: str, values: Mapping[str, Any] | None = None) -> Self:
        """Read a packaged recipe by its name, or one from a TOML file, with some values replaced.

        values: `table.key` → value, or `key` if only one table has it. Raises SettingsError for an unknown recipe or
        setting, InputError for a file that is not TOML.
        """
        if not source.endswith(".toml"):
            return cls.from_tables(read_tables(source), values)
        try:
            return cls.from_tables(_read_recipe_file(Path(source)), values)
        except SettingsError as error:
            raise type(error)(f"{source}: {error}") from None

    @classmethod
    def from_tables(cls, tables: Tables, values: Mapping[str, Any] | None = None) -> Self:
        """Create a recipe from tables; missing values are those of the network's packaged recipe."""
        if unknown := [name for name in tables if name not in TABLE_NAMES]:
            raise SettingsError(f"a recipe has no table {', '.join(unknown)} (known: {', '.join(TABLE_NAMES)})")
        name = tables.get("network", {}).get("name")
        if not isinstance(name, str):
            raise SettingsError(f"a recipe names its network: name = one of {', '.join(names('network'))}")
        network_class = load("network", name)
        defaults = _load_default_tables(name)
        loss = _choose_loss_name(tables, values or {}, defaults)
        models = _load_settings_classes(network_class, loss)
        replaced = _group_by_table(values or {}, models)
        defaults, tables = _drop_other_loss(defaults, loss), _drop_other_loss(tables, loss)
        merged = {t: {**defaults.get(t, {}), **tables.get(t, {}), **replaced.get(t, {})} for t in TABLE_NAMES}
        for table in ("network", "loss"):
            merged[table].pop("name", None)
        settings: dict[str, Any] = {"network": validate_settings(models["network"], merged["network"], "network")}
        merged["features"].update(network_class.feature_settings(settings["network"]))
        settings |= {t: validate_settings(models[t], merged[t], t) for t in TABLE_NAMES if t not in settings}
        _check_negatives(settings["negatives"], settings["data"], loss)
        return cls(name, loss_name=loss, **settings)

    def to_tables(self) -> dict[str, dict[str, Any]]:
        """Return all tables of the recipe; `from_tables` creates an equal recipe from them."""
        names = {"network": {"name": self.name}, "loss": {"name": self.loss_name}}
        return {table: {**names.get(table, {}), **getattr(self, table).model_dump()} for table in TABLE_NAMES}


def _load_default_tables(network: str) -> Tables:
    """Return the packaged recipe of a network's name, else a recipe of the network with a default loss."""
    minimal: Tables = {"network": {"name": network}, "loss": {"name": "multiple_negatives"}}
    return {**minimal, **(read_tables(network) if network in list_recipes() else {})}


def _read_recipe_file(path: Path) -> Tables:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a valid recipe ({error}); expected TOML with a table [network]") from None
    if wrong := [name for name, rows in tables.items() if not isinstance(rows, dict)]:
        raise InputError(f"{path}: {', '.join(wrong)}: expected tables, as in [network]")
    return tables


def _load_settings_classes(network_class: Any, loss_name: str) -> dict[str, type[Settings]]:
    return {
        "network": network_class.Settings,
        "features": load("features", network_class.features).Settings,
        "embeddings": EmbeddingSettings,
        "loss": load("loss", loss_name),
        "negatives": NegativesSettings,
        "training": TrainingSettings,
        "data": DataSettings,
    }


def _check_negatives(negatives: NegativesSettings, data: DataSettings, loss: str) -> None:
    """Raise SettingsError if pairs have no negatives, or if the loss cannot learn single pairs."""
    if data.irrelevant and (loss != "cross_entropy" or negatives.kinds):
        expected = "expected loss=cross_entropy, and negatives.judged=0, random=0, mined=0, in_batch=false"
        raise SettingsError(f"data.irrelevant: pairs are learned one by one; {expected}")
    if not data.irrelevant and not negatives.kinds:
        raise SettingsError("no negatives; expected some, such as --set negatives.random=20 or negatives.in_batch=true")


def _choose_loss_name(tables: Tables, values: Mapping[str, Any], defaults: Tables) -> str:
    name = values.get("loss.name", values.get("loss")) or tables.get("loss", {}).get("name")
    return str(name or defaults["loss"]["name"])


def _drop_other_loss(tables: Tables, loss_name: str) -> Tables:
    """Return the tables, without the table of the loss if it belongs to another loss."""
    if tables.get("loss", {}).get("name", loss_name) == loss_name:
        return tables
    return {table: rows for table, rows in tables.items() if table != "loss"}


def _group_by_table(values: Mapping[str, Any], models: Mapping[str, type[Settings]]) -> dict[str, dict[str, Any]]:
    """Group values named `table.key` or `key` by table."""
    grouped: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        table, _, key = name.rpartition(".")
        if name in ("loss", "loss.name"):
            continue
        tables = [table] if table else _tables_with(name, models)
        if len(tables) != 1 or tables[0] not in models:
            raise _unknown_setting_error(name, tables, models)
        grouped.setdefault(tables[0], {})[key] = value
    return grouped


def _tables_with(name: str, models: Mapping[str, type[Settings]]) -> list[str]:
    """Return the tables that have a setting."""
    return [table for table, model in models.items() if name in model.model_fields]


def _unknown_setting_error(name: str, tables: Sequence[str], models: Mapping[str, type[Settings]]) -> SettingsError:
    if len(tables) > 1:
        candidates = ", ".join(f"{table}.{name}" for table in tables)
        return SettingsError(f"{name}: ambiguous; name its table: {candidates}")
    known = ", ".join(f"{t}.{key}" for t, m in models.items() for key in m.model_fields)
    return UnknownSettingError(f"{name} is not a setting (known: {known})")
