"""CNN (dos Santos et al. 2015): the cosine of two questions' max over word windows."""

from typing import ClassVar

from pydantic import Field, field_validator
from torch import nn

from askalike.core.config import Settings
from askalike.learning.networks._layers import WindowMax
from askalike.learning.networks._network import Batch, PartVectors, TokenTrace, WordVectorNetwork


class CnnNetworkSettings(Settings):
    """Sizes; the defaults are the paper's (Table 2)."""

    dim: int = Field(200, ge=1, description="size of a word's vector")
    window: int = Field(3, ge=1, description="number of words in a window, odd: it is centred on each word")
    units: int = Field(1000, ge=1, description="number of convolutional units, and size of a question's vector")

    @field_validator("window")
    @classmethod
    def _check_odd(cls, window: int) -> int:
        if window % 2 == 0:
            raise ValueError("expected an odd number")
        return window


class CnnNetwork(WordVectorNetwork):
    """s(q1, q2) is the cosine of the two questions' convolutional vectors."""

    Settings: ClassVar[type[Settings]] = CnnNetworkSettings

    def __init__(self, settings: CnnNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = settings.units
        self.convolution = WindowMax(vocabulary_size, settings.dim, settings.window, settings.units)

    @property
    def word_embedding(self) -> nn.Embedding:
        return self.convolution.words

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, tokens) as one part (batch, units)."""
        return (self.convolution(batch["ids"], batch["mask"]),)

    def trace(self, batch: Batch) -> tuple[TokenTrace, ...]:
        """See Network.trace. Each unit comes from the window in which it is largest."""
        return (self.convolution.trace(batch["ids"], batch["mask"]),)
