"""A weighted sum of learned vectors of n-grams: subwords, hashed words and pairs of words. Inference needs no torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from askalike import Settings
from askalike.plugin.features import RESERVED
from askalike.plugin.models import save_static_vectors
from askalike.plugin.training import Tables
from askalike_learning.features import TextFeatures
from askalike_learning.networks._network import (
    Batch,
    Network,
    PartVectors,
    copy_pretrained_vectors,
    make_embedding,
    select_rows,
)

RANDOM_ROW_SCALE = 0.1
"""Initial length of rows without a pre-trained vector, relative to those with one."""


class StaticNetworkSettings(Settings):
    """Size, and the initial weights of the pieces."""

    dim: int = Field(256, ge=1, description="size of an n-gram's vector, and of a text's")
    row_weights: Literal["idf", "ones"] = Field("ones", description="initial weight of each n-gram")
    dropout: float = Field(0.0, ge=0, lt=1, description="share of n-grams left out of each text in training")


class StaticNetwork(Network):
    """The sum over a text's n-grams of weight · vector; scores are cosines."""

    Settings: ClassVar[type[Settings]] = StaticNetworkSettings
    features: ClassVar[str] = "hashed_ngrams"
    encoder_name: ClassVar[str] = "static"
    is_table: ClassVar[bool] = True

    def __init__(self, settings: StaticNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = settings.dim
        self.rows = make_embedding(vocabulary_size, settings.dim)
        self.weight = nn.Parameter(torch.ones(vocabulary_size))

    def initialise(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Initialise with the pre-trained vectors, and with short random ones for other pieces."""
        with torch.no_grad():
            if self.settings.row_weights == "idf":
                self.weight.copy_(idf)
            if vectors is not None:
                length = select_rows(vectors, vectors.sum(1).isfinite()).std()
                self.rows.weight.mul_(RANDOM_ROW_SCALE * length / self.rows.weight.std())
                copy_pretrained_vectors(self.rows, vectors)

    def save_model(
        self, folder: Path, settings: Any, features: TextFeatures, tensors: Mapping[str, NDArray[Any]]
    ) -> Tables:
        vectors = tensors["rows.weight"][RESERVED:].astype(np.float16)
        save_static_vectors(folder, vectors, tensors["weight"][RESERVED:].copy())
        features.save(folder)
        return {"static": settings.model_dump()}

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, tokens) as one part (batch, dim)."""
        ids, mask = batch["ids"], batch["mask"]
        flat = ids[mask]
        ends = mask.sum(1).cumsum(0)
        weights = functional.dropout(self.weight[flat], self.settings.dropout, self.training)
        ngrams, places = torch.unique(flat, return_inverse=True)  # one gradient per n-gram, not per occurrence
        starts = functional.pad(ends[:-1], (1, 0))
        bag = functional.embedding_bag
        return (bag(places, self.rows(ngrams), starts, mode="sum", per_sample_weights=weights),)
