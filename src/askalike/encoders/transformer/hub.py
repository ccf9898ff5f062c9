"""Downloads a sentence-transformers model from the Hugging Face hub, on request only.

A hub has a model's weights in several formats: only the files needed to run it are fetched. The environment variable
HF_ENDPOINT names a server other than huggingface.co; HF_TOKEN is for models that need a token.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from askalike.core.errors import InputError, SettingsError
from askalike.core.files import compute_sha256
from askalike.core.model_folders import MODULES_FILE
from askalike.encoders.transformer.architectures import READABLE

DESCRIPTIONS = ("*.json", "*.txt", "*.md", "LICENSE*")
SAFETENSORS = ("*.safetensors",)
EXPORTED = ("*onnx/model.onnx*", "model.onnx*", "[0-9]_*/*.safetensors")
STATIC = "model2vec"
"""The `model_type` of vectors of tokens, without a transformer."""
OTHER_RUNTIMES = ("onnx", "openvino", "coreml")
"""Folders with weights and configurations for other runtimes."""


def fetch_model(name: str, folder: Path) -> str:
    """Fetch the files that are needed to run a model into a folder; return the commit's hash.

    name: such as `sentence-transformers/all-MiniLM-L6-v2`. Raises SettingsError without huggingface_hub, InputError if
    the hub has no such model or cannot be reached, or if a file does not match the hub's checksum.
    """
    try:
        from huggingface_hub import HfApi, hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError:
        raise SettingsError("huggingface_hub is not installed: pip install 'askalike[encoder]'") from None
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
