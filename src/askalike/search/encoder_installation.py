"""Installs a pre-trained encoder in an archive: a copy in its `models/`, which the default ranker then uses.

A model is downloaded from the Hugging Face hub on request only. A hub has a model's weights in several formats: only
the files needed to run it are fetched. The environment variable HF_ENDPOINT names a server other than huggingface.co;
HF_TOKEN is for models that need a token.
"""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import tomli_w

from askalike import rankers
from askalike.core.errors import ArchiveError, InputError, SettingsError
from askalike.core.files import compute_sha256, folder_errors, replace_folder
from askalike.core.model_folders import MODULES_FILE, LearnedLabels, find_model
from askalike.core.records import Question
from askalike.encoders import MODEL_FILE, PACKAGED_ENCODERS, build, find_package, read_model_file
from askalike.encoders.pretrained import MODEL_FOLDER, PretrainedEncoder
from askalike.encoders.transformer.architectures import READABLE
from askalike.rankers import MODELS_FOLDER
from askalike.search import interim
from askalike.store import Archive, count_questions_by, serve_ranker, takes_archive
from askalike.store.deployments import ArchiveEncoder, get_archive_encoder, set_archive_encoder
from askalike.store.encoding_progress import announce_encoding

HYBRID = "hybrid"
HUB_NAME_PATTERN = re.compile(r"[\w.-]+/[\w.-]+")
NEARLY_ALL = 0.9
PROBE = Question("probe", "How do I do this?")
TOLD_KEY = "encoder_suggested"
"""Key in an archive's metadata: that the encoder at hand has been named, or declined."""
DESCRIPTIONS = ("*.json", "*.txt", "*.md", "LICENSE*")
SAFETENSORS = ("*.safetensors",)
EXPORTED = ("*onnx/model.onnx*", "model.onnx*", "[0-9]_*/*.safetensors")
STATIC = "model2vec"
"""The `model_type` of vectors of tokens, without a transformer."""
OTHER_RUNTIMES = ("onnx", "openvino", "coreml")
"""Folders with weights and configurations for other runtimes."""


@takes_archive
def adopt_encoder(archive: Archive, model: str, *, name: str = "", download: bool = False) -> ArchiveEncoder:
    """Copy a model into the archive, and activate the hybrid of the lexical ranker and this encoder.

    archive: or its directory. model: a packaged encoder (PACKAGED_ENCODERS), a folder or an installed package; with
    `download`, a model's name on the hub. name: its name in the archive; by default the last part of `model`, and
    always that of an extra's encoder. A model that the archive already has is not copied again. Its vectors are
    computed by the next search, by `askalike index`, or by a running service. Raises SettingsError if there is no such
    model, the name is taken or an extra is missing, InputError for a model that cannot be run.
    """
    check_source(model, download)
    if model in PACKAGED_ENCODERS and not Path(model).is_dir():
        encoder = _find_packaged(model)
    else:
        name = name or _derive_name(model)
        rankers.check_model_name(name)
        encoder = _copy_model(archive, model, name, download)
    set_archive_encoder(archive, encoder)
    settings = {"parts": [interim.WORDS, encoder.name]}
    if not rankers.is_served(archive, rankers.create(HYBRID, settings, archive)):
        serve_ranker(archive, HYBRID, settings, f"{encoder.name} is the archive's encoder")
    if not archive.engine and len(archive.view()) > interim.AT_ONCE:
        announce_encoding(archive.path, encoder.name, len(archive.view()))
    return encoder


def fitting_encoder(archive: Archive, *, installed: bool = True) -> str | None:
    """Return the encoder that knows the languages of an archive's questions; None if there is none.

    installed: whether to return only one that is installed.

    It is the first that knows those of nearly all questions, else the one that knows most, but at least half: for
    queries in other languages, words count more.
    """
    view = archive.view()
    counts = count_questions_by(view, "language", default=view.language)
    known = {
        name: sum(n for language, n in counts.items() if package.knows([language])) / max(1, len(view))
        for name in PACKAGED_ENCODERS
        if (package := find_package(name)).is_installed or not installed
    }
    best = max(known, key=lambda name: min(known[name], NEARLY_ALL), default=None)
    return best if best and known[best] >= 1 / 2 else None


def suggest_encoder(archive: Archive) -> str | None:
    """Return the encoder that fits an archive that uses none; only once, as it is then recorded as told."""
    if archive.meta.get(TOLD_KEY) or get_archive_encoder(archive) or not (name := fitting_encoder(archive)):
        return None
    decline_encoder(archive)
    return name


def decline_encoder(archive: Archive) -> None:
    """Record that no encoder has to be suggested for an archive any more; nothing if it cannot be written."""
    with suppress(ArchiveError):
        archive.set_meta(**{TOLD_KEY: True})


def _find_packaged(name: str) -> ArchiveEncoder:
    """Return the encoder of an installed package, after a try; nothing is copied, as its hash is known."""
    build(name).encode_queries([PROBE])
    package = find_package(name)
    return ArchiveEncoder(name, package.weights.package, None, {})


def check_source(model: str, download: bool) -> None:
    """Raise SettingsError if `adopt_encoder` would not find the model on this machine."""
    if model == "none":
        raise SettingsError("encoder none: to return to the ranker before the encoder, run askalike rollback DIR")
    if download or (model in PACKAGED_ENCODERS and find_package(model).is_installed):
        return
    if model in PACKAGED_ENCODERS and not Path(model).is_dir():
        raise SettingsError(f"{model} is not installed: {find_package(model).install_command}")
    if HUB_NAME_PATTERN.fullmatch(model) and not Path(model).exists():
        raise SettingsError(f"{model}: no such folder; add --download to fetch it from the hub")
    find_model(model, "encoder")


def _copy_model(archive: Archive, model: str, name: str, download: bool) -> ArchiveEncoder:
    """Copy a model into the archive under a name and try it; return the encoder."""
    folder = archive.path / MODELS_FOLDER / name
    current = get_archive_encoder(archive)
    if current and (current.name, current.source) == (name, model) and folder.exists():
        return current
    if folder.exists():
        raise ArchiveError(f"{folder}: a model of this name already exists; choose another --name, or remove it first")
    with folder_errors(folder, "free some space"), replace_folder(folder) as new:
        place = new / MODEL_FOLDER
        revision = _fetch_or_copy(model, place, download)
        digests = {path.relative_to(place).as_posix(): compute_sha256(path) for path in _files(place)}
        encoder = ArchiveEncoder(name, model, revision, digests)
        described = {"source": model} | ({"revision": revision} if revision else {})
        learned, trained = (LearnedLabels(), {}) if download else _read_training(find_model(model, "encoder"))
        learned.write(new)
        tables = {"encoder": "pretrained", "pretrained": described, **trained}
        (new / MODEL_FILE).write_text(tomli_w.dumps(tables), encoding="utf-8")
    return encoder


def _read_training(source: Path) -> tuple[LearnedLabels, dict[str, Any]]:
    """Return the labels that a model fine-tuned by askalike has learned from, and the date of the newest as a table.

    source: its subfolder `pretrained`. Nothing is known about the training of any other model.
    """
    folder = source.resolve().parent
    if source.name != MODEL_FOLDER or not (folder / MODEL_FILE).exists():
        return LearnedLabels(), {}
    described = read_model_file(folder)
    until = described.get("trained", {}).get("trained_until")
    return LearnedLabels.read(folder), {"trained": {"trained_until": until}} if until else {}


def _fetch_or_copy(model: str, target: Path, download: bool) -> str | None:
    """Fill a folder with a model that can be run; return its commit on the hub, None for a local model."""
    if download:
        revision = fetch_model(model, target)
        _check_runs(target)
        return revision
    source = find_model(model, "encoder")
    _check_runs(source)
    _copy_files(source, target)
    return None


def _check_runs(folder: Path) -> None:
    PretrainedEncoder.from_settings({"encoder": str(folder)}).encode_queries([PROBE])


def _copy_files(source: Path, target: Path) -> None:
    for file in needed_files([path.relative_to(source).as_posix() for path in _files(source)], source):
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / file, target / file)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _derive_name(model: str) -> str:
    return re.sub("[^a-z0-9_.-]+", "-", Path(model).name.lower()).strip("-._")


def fetch_model(name: str, folder: Path) -> str:
    """Fetch the files that are needed to run a model into a folder; return the commit's hash.

    name: such as `sentence-transformers/all-MiniLM-L6-v2`. Raises SettingsError without huggingface_hub, InputError if
    the hub has no such model or cannot be reached, or if a file does not match the hub's checksum.
    """
    try:
        from huggingface_hub import HfApi, hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError:
        raise SettingsError("huggingface_hub is not installed: pip install 'askalike[onnx]'") from None
    failures: tuple[type[BaseException], ...] = (OSError, ValueError, *HfHubHTTPError.__bases__)  # any HTTP client's
    endpoint = os.environ.get("HF_ENDPOINT")  # the current value, not the one from when huggingface_hub was imported
    try:
        described = HfApi(endpoint).model_info(name, files_metadata=True)
        commit = str(described.sha)
        digests = {file.rfilename: file.lfs.sha256 if file.lfs else None for file in described.siblings or ()}
        fetched: set[str] = set()
        while missing := set(needed_files(list(digests), folder)) - fetched:
            for file in sorted(missing):
                hf_hub_download(name, file, revision=commit, local_dir=folder, endpoint=endpoint)
                _verify(folder / file, digests[file])
            fetched |= missing
    except failures as error:
        problem = " ".join(str(error).split()).split(". ")[0]
        raise InputError(f"{name}: could not be fetched ({problem}); check the name and the network") from None
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    return commit


def _verify(path: Path, digest: str | None) -> None:
    if digest and compute_sha256(path) != digest:
        raise ValueError(f"{path.name} differs from the file that the hub describes")


def needed_files(names: Iterable[str], folder: Path) -> Sequence[str]:
    """Return the needed ones of these files, named relative to the model's folder.

    folder: where the JSON files are already; before that, only these are needed.
    """
    names = list(names)
    described = [name for name in names if _matches(name, DESCRIPTIONS) and name.split("/")[0] not in OTHER_RUNTIMES]
    if not (folder / MODULES_FILE).exists():
        return described
    weights = [name for name in names if _matches(name, SAFETENSORS) and name.split("/")[0] not in OTHER_RUNTIMES]
    if weights and all(kind in (*READABLE, STATIC) for kind in _model_types(folder)):
        return [*described, *weights]
    return [*described, *(name for name in names if _matches(name, EXPORTED))]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _model_types(folder: Path) -> Iterator[str]:
    """Yield the model_type of the folder's configurations that have one: the transformer's."""
    for path in (folder / "config.json", *sorted(folder.glob("*/config.json"))):
        try:
            described = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(described, dict) and "model_type" in described:
            yield str(described["model_type"])
