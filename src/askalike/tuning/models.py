"""The trained models of an archive: trains a recipe under a name, lists and removes models."""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from askalike import encoders, rankers
from askalike.core.config import validate_settings
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.files import measure_folder
from askalike.core.hits import Run
from askalike.core.records import Question
from askalike.encoders import MODEL_FILE
from askalike.labels.splits import document_kind, load_split
from askalike.learning.models import partial_folder
from askalike.learning.trainers import TrainingProgressCallback, TrainingRecipe, load_recipe
from askalike.rankers import MODELS_FOLDER
from askalike.store import Archive, get_served_ranker, imported_splits, partition_parts, takes_archive
from askalike.store.deployments import get_archive_encoder, set_archive_encoder


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A trained model of an archive, from its `model.toml`. `value` is the dev measure, as a share of 1."""

    name: str
    kind: str
    measure: str
    value: float | None
    pairs: int | None
    size_bytes: int


def held_out_splits(archive: Archive) -> list[str]:
    """Return the splits that are not used for training: imported ones except train, and dev and test parts."""
    parts = [name for name, part in partition_parts(archive).items() if part.name in ("dev", "test")]
    return [name for name in imported_splits(archive) if name != "train"] + parts


@takes_archive
def train(
    archive: Archive,
    recipe: TrainingRecipe | str,
    name: str,
    values: Mapping[str, Any] | None = None,
    *,
    dev: str | None = None,
    held_out: Sequence[str] = (),
    excluded_ids: Iterable[str] = (),
    report: TrainingProgressCallback | None = None,
    log: Callable[[str], None] = lambda line: None,
) -> Path:
    """Train a recipe on an archive, and return the model's folder, `models/<name>/`.

    archive: or its directory. recipe: its name, a TOML file, or what a trainer makes of either; a trainer is an
    installed package's. values: settings of a recipe that is named. Training does not use `held_out_splits(archive)`,
    the splits in held_out, dev, or the questions in excluded_ids. dev: the split whose queries choose the best epoch;
    without one, some clusters are set aside. The same call resumes an interrupted one. Raises ArchiveError if a model
    already has the name, SettingsError if nothing installed has the recipe.
    """
    recipe = load_recipe(recipe, values or {}) if isinstance(recipe, str) else recipe
    folder = _new_model_folder(archive, name)
    hidden = list(dict.fromkeys([*held_out_splits(archive), *held_out, *([dev] if dev else [])]))
    kind = document_kind(archive, dev) if dev else "questions"
    dev_labels = load_split(archive, dev, kind) if dev else None
    view = archive.training_view(hidden, kind=kind, dev=dev_labels, excluded_ids=excluded_ids)

    def mine(queries: Mapping[str, Question], ranker: str, depth: int) -> Run:
        miner = rankers.create(ranker, {}, archive.path)
        return rankers.rank(rankers.fit_and_open(miner, replace(view, kind="questions")), queries, depth)

    recipe.train(view, folder, miner=mine, report=report, log=log)
    return folder


@takes_archive
def distil(
    archive: Archive,
    model: str,
    name: str,
    values: Mapping[str, Any] | None = None,
    log: Callable[[str], None] = lambda line: None,
    *,
    teacher: encoders.Encoder | None = None,
    excluded_ids: Iterable[str] = (),
) -> Path:
    """Train a lookup of queries that replaces an encoder, and return the model's folder, `models/<name>/`.

    archive: or its directory. model: a model of the archive, an encoder of an extra, a sentence-transformers folder or
    package; "" for the archive's own encoder. values: of DistillationSettings. teacher: that encoder, if it is loaded
    already. excluded_ids: the questions not to learn from. The same call resumes an interrupted one. Raises
    SettingsError if there is no such encoder, ArchiveError if a model already has the name.
    """
    from askalike.learning.distil import DistillationSettings, learn_lookup, load_teacher

    folder = _new_model_folder(archive, name)
    own = get_archive_encoder(archive)
    if not model and own is None:
        raise SettingsError("distil: no encoder; name one, or choose one for the archive with: askalike encoder use")
    model = model or (own.name if own else "")
    is_named = model in (*rankers.trained_model_names(archive.path), *encoders.PACKAGED_ENCODERS)
    source = {"encoder": model} if is_named else {"encoder": "pretrained", "model": model}
    settings = validate_settings(DistillationSettings, {**(values or {}), **source}, "distil")
    view = archive.training_view((), excluded_ids=excluded_ids)
    learn_lookup(view, settings, teacher or load_teacher(view, settings), folder, log)
    return folder


def _new_model_folder(archive: Archive, name: str) -> Path:
    """Return the folder of a new model. Raises ArchiveError if a model already has the name."""
    rankers.check_model_name(name)
    folder = archive.path / MODELS_FOLDER / name
    if (folder / MODEL_FILE).exists():
        command = f"askalike models {archive.path} --remove {name}"
        raise ArchiveError(f"{folder}: this model already exists; remove it first: {command}")
    return folder


def list_models(archive: Archive) -> Sequence[TrainedModel]:
    """Return the archive's trained models, by name."""
    return [_read_model(path.parent) for path in sorted((archive.path / MODELS_FOLDER).glob(f"[!.]*/{MODEL_FILE}"))]


def remove_model(archive: Archive, name: str) -> None:
    """Delete a model, or the files of an interrupted training of that name.

    Raises ArchiveError if there is none, or if it is active.
    """
    folder = archive.path / MODELS_FOLDER / name
    paths = [path for path in (folder, partial_folder(folder)) if path.is_dir()]
    if not paths or name == ".." or folder.parent != archive.path / MODELS_FOLDER:
        names = ", ".join(model.name for model in list_models(archive)) or "none"
        raise ArchiveError(f"{archive.path}: no model {name!r}; there are: {names}")
    served = get_served_ranker(archive)
    if served and name in served.part_names:
        raise ArchiveError(f"{archive.path}: {name!r} is active; run first: askalike rollback {archive.path}")
    for path in paths:
        shutil.rmtree(path)
    if (encoder := get_archive_encoder(archive)) and encoder.name == name:
        set_archive_encoder(archive, None)


def _read_model(folder: Path) -> TrainedModel:
    model = encoders.read_model_file(folder)
    trained = model.get("trained", {})
    size = measure_folder(folder)
    kind = model.get("network", {}).get("name") or model.get("encoder", "")
    return TrainedModel(folder.name, kind, trained.get("measure", ""), trained.get("value"), trained.get("pairs"), size)
