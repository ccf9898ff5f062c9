"""The bag-of-words path of BOW-CNN alone: the cosine of two weighted bags of stems (dos Santos et al. 2015, eq. 1)."""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from askalike.core.config import Settings
from askalike.learning.networks._layers import WeightedBag
from askalike.learning.networks._network import Batch, Network, PartVectors, TokenTrace


class BowNetworkSettings(Settings):
    """The initial weights t of the stems."""

    weights: Literal["idf", "ones"] = Field("idf", description="initial value of the word weights t")


class BowNetwork(Network):
    """s(q1, q2) is the cosine of the bags of words, each word's frequency times its learned weight t."""

    Settings: ClassVar[type[Settings]] = BowNetworkSettings
    features: ClassVar[str] = "stemmed_words"

    def __init__(self, settings: BowNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.bag = WeightedBag(vocabulary_size, trained=True)

    def initialise(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Initialise the weights with the stems' idf or ones."""
        if self.settings.weights == "idf":
            with torch.no_grad():
                self.bag.t.copy_(idf)

    def forward(self, batch: Batch) -> PartVectors:
        """Encode stems, mask (batch, tokens) as one part (batch, distinct stems of the batch)."""
        return (self.bag(batch["stems"], batch["mask"]),)

    def encode(self, batch: Batch) -> PartVectors:
        """Encode bags as a sparse tensor with one column per stem, (batch, size)."""
        return (self.bag.sparse_bags(batch["stems"], batch["mask"]),)

    def trace(self, batch: Batch) -> tuple[TokenTrace, ...]:
        """See Network.trace. Tokens add their stems' weights."""
        return (self.bag.trace(batch["stems"], batch["mask"]),)
