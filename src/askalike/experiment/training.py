"""Training a recipe on an archive under a name: what is hidden, what is mined, and where the model goes."""

import shutil
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askalike import encoders, rankers
from askalike.archive import labels
from askalike.archive.serving import served
from askalike.archive.splits import given, split
from askalike.archive.store import Archive
from askalike.encoders import MODEL
from askalike.encoders._corpus import Corpus
from askalike.encoders._recipe import CORPUS, Recipe
from askalike.errors import ArchiveError, InputError
from askalike.rankers import MODELS
from askalike.training.settings import NegativesSettings
from askalike.types import Question, Run


@dataclass(frozen=True, slots=True)
class Model:
    """A trained model of an archive, as `model.toml` describes it. `value` is the dev measure, a share of 1."""

    name: str
    kind: str
    measure: str
    value: float | None
    pairs: int | None
    size_bytes: int


def chosen(name: str, values: Mapping[str, Any]) -> Recipe | Corpus:
    """What `--recipe` names, with some values set: a recipe, or an encoder that learns from texts alone."""
    return encoders.build(name, values) if name in CORPUS else Recipe.read(name, values)  # type: ignore[return-value]


def hidden(archive: Archive) -> list[str]:
    """The splits that nothing is learned from: given ones but train, and the dev and test parts of partitions."""
    parts = labels.parts(archive.connection)
    held = [name for name, part in parts.items() if part.name in ("dev", "test")]
    return [name for name in given(archive) if name != "train"] + held


def train(
    archive: Archive,
    recipe: Recipe | Corpus,
    name: str,
    *,
    dev: str | None = None,
    hide: Sequence[str] = (),
    withheld: Iterable[str] = (),
    teacher: encoders.Encoder | None = None,
    report: Any = None,
    say: Any = lambda line: None,
) -> Path:
    """Trains what `chosen` gives on an archive, as `models/<name>/`; returns that folder.

    dev: the split whose queries choose the best epoch; else some clusters are kept back from training. teacher: the one
    that the recipe names, where it is at hand already.
    Nothing of `hidden(archive)`, of the splits `hide`, of `dev`, or of the questions `withheld` is learned from. The
    same again goes on where it was interrupted.
    """
    rankers.check_new(name)
    folder = archive.path / MODELS / name
    if (folder / MODEL).exists():
        raise ArchiveError(
            f"{folder}: this model is there; remove it first: askalike models {archive.path} --remove {name}"
        )
    kept = list(dict.fromkeys([*hidden(archive), *hide, *([dev] if dev else [])]))
    view = archive.view(hidden=kept, withheld=withheld)
    if isinstance(recipe, Corpus):
        recipe.learn(view, folder, say)
        return folder
    from askalike.encoders._learning import learn

    def mine(queries: Mapping[str, Question], settings: NegativesSettings) -> Run:
        ranker = rankers.caught_up(rankers.build(settings.ranker, {}, archive.path).fit(view), view)
        return ranker.rank(queries, settings.to_rank)

    measures = split(archive, dev) if dev else None
    learn(view, recipe, folder, dev=measures, mine=mine, teacher=teacher, report=report, say=say)
    return folder


def models(archive: Archive) -> Sequence[Model]:
    """The archive's trained models, by name."""
    return [_described(path.parent) for path in sorted((archive.path / MODELS).glob(f"[!.]*/{MODEL}"))]


def remove(archive: Archive, name: str) -> None:
    """Deletes a model, or what an interrupted training of that name has left.

    Raises ArchiveError without one, and for one that is in service.
    """
    folder = archive.path / MODELS / name
    found = [path for path in (folder, folder.with_name(f".training-{name}")) if path.is_dir()]
    if not found or folder.parent != archive.path / MODELS:
        there = ", ".join(model.name for model in models(archive)) or "none"
        raise ArchiveError(f"{archive.path}: no model {name!r}; there are: {there}")
    now = served(archive)
    if now and name in (now.ranker, *now.settings.get("parts", ())):
        raise ArchiveError(f"{archive.path}: {name!r} is in service; first: askalike rollback {archive.path}")
    for path in found:
        shutil.rmtree(path)


def _described(folder: Path) -> Model:
    try:
        described = tomllib.loads((folder / MODEL).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / MODEL}: not a model's description ({error})") from None
    trained = described.get("trained", {})
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    kind = described.get("network", {}).get("name") or described.get("encoder", "")
    return Model(folder.name, kind, trained.get("measure", ""), trained.get("value"), trained.get("pairs"), size)
