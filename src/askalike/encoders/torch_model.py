"""A pre-trained model run with torch, by sentence-transformers, which are imported when one is opened."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import SettingsError


class TorchModel:
    """A pre-trained model run with torch. half: whether in bf16."""

    def __init__(self, folder: Path, device: str, half: bool) -> None:
        model = load_sentence_transformer(folder, device)
        self._model = model.bfloat16() if half else model

    def encode(self, texts: Sequence[str], batch: int = 32) -> NDArray[np.float32]:
        """Return the vectors of texts, (texts, dim). batch: number of texts, of similar length, encoded together."""
        options = {"batch_size": batch, "show_progress_bar": False, "convert_to_tensor": True}
        vectors = self._model.encode(list(texts), **options)
        return np.asarray(vectors.float().cpu(), np.float32).reshape(len(texts), -1)

    def encode_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return the last states of each text's tokens, of length 1: (tokens, hidden) for each text."""
        options = {"output_value": "token_embeddings", "show_progress_bar": False}
        states = [own.float().cpu().numpy() for own in self._model.encode(list(texts), **options)]
        return [own / np.linalg.norm(own, axis=1, keepdims=True) for own in states]


def load_sentence_transformer(folder: Path, device: str | None) -> Any:
    """Load the sentence-transformers model in a folder, without a progress bar.

    Raises SettingsError if sentence-transformers is not installed.
    """
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError:
        raise SettingsError("sentence-transformers is not installed: pip install 'askalike[pretrained]'") from None
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return SentenceTransformer(str(folder), device=device, local_files_only=True)
