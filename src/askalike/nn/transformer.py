"""A pre-trained sentence-transformers model as a network, to be trained further with any of the losses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.core.config import Settings
from askalike.core.errors import SettingsError
from askalike.core.packages import find_model
from askalike.nn._network import Batch, Network, PartVectors


class TransformerNetworkSettings(Settings):
    """The pre-trained model."""

    base: str = Field(
        "", validation_alias="encoder",
        description="the model to fine-tune: a folder, or an installed package that contains the model",
    )  # fmt: skip


class TransformerNetwork(Network):
    """The model's own vector of a text, with the model's pooling; scores are cosines."""

    Settings: ClassVar[type[Settings]] = TransformerNetworkSettings
    features: ClassVar[str] = "wordpieces"
    encoder_name: ClassVar[str] = "pretrained"

    def __init__(self, settings: TransformerNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.model = load_sentence_transformer(find_model(settings.base, "network.encoder"), "cpu")
        older: Any = self.model.get_sentence_embedding_dimension
        self.vector_dim = int(getattr(self.model, "get_embedding_dimension", older)())

    @staticmethod
    def feature_settings(settings: Any) -> dict[str, Any]:
        return {"pieces_of": settings.base}

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, pieces) as one part (batch, vector_dim); zeros for a text without words."""
        ids, mask = batch["ids"], batch["mask"]
        vectors = self.model({"input_ids": ids, "attention_mask": mask.long()})["sentence_embedding"]
        return (vectors.masked_fill(~mask.any(1, keepdim=True), 0),)


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
