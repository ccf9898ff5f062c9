"""BOW-CNN (dos Santos et al. 2015): a weighted bag of words or stems and the CNN; their cosines, weighted by β."""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from askalike.core.config import Settings
from askalike.core.types import Metric
from askalike.learning.networks._layers import WeightedBag, WindowMax
from askalike.learning.networks._network import Batch, PartVectors, TokenTrace, WordVectorNetwork
from askalike.learning.networks.cnn import CnnNetworkSettings


class BowCnnNetworkSettings(CnnNetworkSettings):
    """Sizes, and the initial word weights t (Table 5: idf trained, idf fixed, ones trained)."""

    units: int = Field(400, ge=1, description="number of convolutional units, and size of a question's vector")
    weights: Literal["idf", "ones"] = Field("idf", description="initial value of the word weights t")
    train_weights: bool = Field(True, description="whether the word weights t are learned")


class BowCnnNetwork(WordVectorNetwork):
    """s(q1, q2) = β1 · cosine of the bags of words + β2 · cosine of the convolutional vectors."""

    Settings: ClassVar[type[Settings]] = BowCnnNetworkSettings
    features: ClassVar[str] = "stemmed_words"
    metrics: tuple[Metric, ...] = ("cosine", "cosine")

    def __init__(self, settings: BowCnnNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.bag = WeightedBag(vocabulary_size, settings.train_weights)
        self.convolution = WindowMax(vocabulary_size, settings.dim, settings.window, settings.units)
        self.beta = nn.Parameter(torch.ones(2))

    @property
    def word_embedding(self) -> nn.Embedding:
        return self.convolution.words

    def initialise(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Initialise with the pre-trained word vectors, and with the words' idf or ones as weights."""
        super().initialise(vectors, idf)
        if self.settings.weights == "idf":
            with torch.no_grad():
                self.bag.t.copy_(idf)

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, stems, mask (batch, tokens) as two parts: (batch, the batch's distinct stems), (batch, units)."""
        return self.bag(batch["stems"], batch["mask"]), self.convolution(batch["ids"], batch["mask"])

    def encode(self, batch: Batch) -> PartVectors:
        """Encode bags as a sparse tensor with a column per stem, (batch, size); the other part as in `forward`."""
        return self.bag.sparse_bags(batch["stems"], batch["mask"]), self.convolution(batch["ids"], batch["mask"])

    def trace(self, batch: Batch) -> tuple[TokenTrace, ...]:
        """See Network.trace. Tokens add their stems' weights; a unit comes from the window in which it is largest."""
        mask = batch["mask"]
        return self.bag.trace(batch["stems"], mask), self.convolution.trace(batch["ids"], mask)

    def part_weights(self) -> Tensor:
        """Return β, (2,)."""
        return self.beta
