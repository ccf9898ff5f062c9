"""A pre-trained sentence-transformers model as a network, to be trained further with any of the losses."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray
from pydantic import Field

from askalike import Settings
from askalike.plugin.models import MODEL_FOLDER, find_model
from askalike.plugin.training import Tables
from askalike_learning.devices import load_sentence_transformer
from askalike_learning.features import TextFeatures
from askalike_learning.networks._network import Batch, Network, PartVectors


class TransformerNetworkSettings(Settings):
    """The pre-trained model."""

    encoder: str = Field(
        "", description="the model to fine-tune: a folder, or an installed package that contains the model",
    )  # fmt: skip


class TransformerNetwork(Network):
    """The model's own vector of a text, with the model's pooling; scores are cosines."""

    Settings: ClassVar[type[Settings]] = TransformerNetworkSettings
    features: ClassVar[str] = "wordpieces"
    encoder_name: ClassVar[str] = "pretrained"

    def __init__(self, settings: TransformerNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.model = load_sentence_transformer(find_model(settings.encoder, "network.encoder"), "cpu")
        older: Any = self.model.get_sentence_embedding_dimension
        self.vector_dim = int(getattr(self.model, "get_embedding_dimension", older)())

    @staticmethod
    def feature_settings(settings: Any) -> dict[str, Any]:
        return {"tokenizer_of": settings.encoder}

    def save_model(
        self, folder: Path, settings: Any, features: TextFeatures, tensors: Mapping[str, NDArray[Any]]
    ) -> Tables:
        """Write the model in sentence-transformers' format."""
        self.model.save(str(folder / MODEL_FOLDER), create_model_card=False)
        return {}

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, pieces) as one part (batch, vector_dim); zeros for a text without words."""
        ids, mask = batch["ids"], batch["mask"]
        vectors = self.model({"input_ids": ids, "attention_mask": mask.long()})["sentence_embedding"]
        return (vectors.masked_fill(~mask.any(1, keepdim=True), 0),)
