"""Siamese LSTM over words (Lin et al. 2017): the cosine of two texts' last hidden states."""

from typing import ClassVar

from pydantic import Field
from torch import Tensor

from askalike.config import Settings
from askalike.nn._layers import fill
from askalike.nn._network import Batch, Network, Vectors
from askalike.nn._recurrent import Pooling, WordReader, pooled


class SiameseLstmSettings(Settings):
    """Sizes; the draft leaves them open."""

    dim: int = Field(300, ge=1, description="numbers in a word's vector")
    hidden: int = Field(128, ge=1, description="numbers in a hidden state, and in a text's vector")
    pooling: Pooling = Field("last", description="which states make the vector: last, max, mean, mean_max")


class SiameseLstm(Network):
    """Questions and answers go through the same LSTM."""

    Settings: ClassVar[type[Settings]] = SiameseLstmSettings

    def __init__(self, settings: SiameseLstmSettings, size: int) -> None:
        super().__init__(settings, size)
        self.reader = WordReader(size, settings.dim, settings.hidden)

    @property
    def width(self) -> int:
        """Numbers in a text's vector."""
        return int(self.settings.hidden) * (2 if self.settings.pooling == "mean_max" else 1)

    def start(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Word vectors begin as the pre-trained ones."""
        fill(self.reader.words, vectors)

    def forward(self, batch: Batch) -> Vectors:
        """ids, mask (batch, tokens) to one part (batch, width)."""
        return (pooled(self.settings.pooling, self.reader(batch["ids"]), batch["mask"]),)
