"""Downloads a pre-trained model from the Hugging Face hub, on request only.

The environment variable HF_ENDPOINT names a server other than huggingface.co; HF_TOKEN is for models that need a token.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from askalike.core.errors import InputError, SettingsError
from askalike.core.files import compute_sha256

FileChoice = Callable[[Sequence[str], Path], Sequence[str]]
"""Takes the names of all files and the folder of those fetched so far; returns the names of those needed."""


def fetch_model(name: str, folder: Path, choose_files: FileChoice) -> str:
    """Fetch the files of a model that `choose_files` names, until it names no more; return the commit's hash.

    name: such as `sentence-transformers/all-MiniLM-L6-v2`. Raises SettingsError without huggingface_hub, InputError if
    the hub has no such model or cannot be reached, or if a file does not match the hub's checksum.
    """
    try:
        from huggingface_hub import HfApi, hf_hub_download
    except ImportError:
        raise SettingsError("huggingface_hub is not installed: pip install 'askalike[encoder]'") from None
    endpoint = os.environ.get("HF_ENDPOINT")  # the current value, not the one from when huggingface_hub was imported
    try:
        described = HfApi(endpoint).model_info(name, files_metadata=True)
        commit = str(described.sha)
        digests = {file.rfilename: file.lfs.sha256 if file.lfs else None for file in described.siblings or ()}
        fetched: set[str] = set()
        while missing := set(choose_files(list(digests), folder)) - fetched:
            for file in sorted(missing):
                hf_hub_download(name, file, revision=commit, local_dir=folder, endpoint=endpoint)
                _verify(folder / file, digests[file])
            fetched |= missing
    except (OSError, ValueError) as error:
        problem = " ".join(str(error).split()).split(". ")[0]
        raise InputError(f"{name}: could not be fetched ({problem}); check the name and the network") from None
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    return commit


def _verify(path: Path, digest: str | None) -> None:
    if digest and compute_sha256(path) != digest:
        raise ValueError(f"{path.name} differs from the file that the hub describes")
