"""CNN (dos Santos et al. 2015): the cosine of two questions' max over word windows."""

from typing import ClassVar

from pydantic import Field, field_validator
from torch import Tensor

from askalike.config import Settings
from askalike.nn._layers import WindowMax, fill
from askalike.nn._network import Batch, Network, Trace, Vectors


class CnnSettings(Settings):
    """Sizes; the defaults are the paper's (Table 2)."""

    dim: int = Field(200, ge=1, description="numbers in a word's vector")
    window: int = Field(3, ge=1, description="words in a window, odd: centred on each word")
    units: int = Field(1000, ge=1, description="convolutional units: numbers in a question's vector")

    @field_validator("window")
    @classmethod
    def _has_a_middle(cls, window: int) -> int:
        if window % 2 == 0:
            raise ValueError("expected an odd number")
        return window


class Cnn(Network):
    """s(q1, q2) is the cosine of the two questions' convolutional vectors."""

    Settings: ClassVar[type[Settings]] = CnnSettings

    def __init__(self, settings: CnnSettings, size: int) -> None:
        super().__init__(settings, size)
        self.convolution = WindowMax(size, settings.dim, settings.window, settings.units)

    @property
    def width(self) -> int:
        """Numbers in a question's vector."""
        return int(self.settings.units)

    def start(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Word vectors begin as the pre-trained ones."""
        fill(self.convolution.words, vectors)

    def forward(self, batch: Batch) -> Vectors:
        """ids, mask (batch, tokens) to one part (batch, units)."""
        return (self.convolution(batch["ids"], batch["mask"]),)

    def trace(self, batch: Batch) -> tuple[Trace, ...]:
        """Each unit is the window's where it is largest."""
        return (self.convolution.trace(batch["ids"], batch["mask"]),)
