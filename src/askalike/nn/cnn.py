"""CNN (dos Santos et al. 2015): the cosine of two questions' max over word windows."""

from typing import ClassVar

from pydantic import Field, field_validator
from torch import Tensor

from askalike.config import Settings
from askalike.nn._layers import WindowMax, copy_pretrained_vectors
from askalike.nn._network import Batch, Network, PartVectors, TokenTrace


class CnnNetworkSettings(Settings):
    """Sizes; the defaults are the paper's (Table 2)."""

    dim: int = Field(200, ge=1, description="numbers in a word's vector")
    window: int = Field(3, ge=1, description="words in a window, odd: centred on each word")
    units: int = Field(1000, ge=1, description="convolutional units: numbers in a question's vector")

    @field_validator("window")
    @classmethod
    def _check_odd(cls, window: int) -> int:
        if window % 2 == 0:
            raise ValueError("expected an odd number")
        return window


class CnnNetwork(Network):
    """s(q1, q2) is the cosine of the two questions' convolutional vectors."""

    Settings: ClassVar[type[Settings]] = CnnNetworkSettings

    def __init__(self, settings: CnnNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.convolution = WindowMax(vocabulary_size, settings.dim, settings.window, settings.units)

    @property
    def vector_dim(self) -> int:
        """Numbers in a question's vector."""
        return int(self.settings.units)

    def initialise(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Word vectors begin as the pre-trained ones."""
        copy_pretrained_vectors(self.convolution.words, vectors)

    def forward(self, batch: Batch) -> PartVectors:
        """ids, mask (batch, tokens) to one part (batch, units)."""
        return (self.convolution(batch["ids"], batch["mask"]),)

    def trace(self, batch: Batch) -> tuple[TokenTrace, ...]:
        """Each unit is the window's where it is largest."""
        return (self.convolution.trace(batch["ids"], batch["mask"]),)
