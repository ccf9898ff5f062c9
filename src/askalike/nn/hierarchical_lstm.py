"""Hierarchical Siamese LSTM (Lin et al. 2017): words make sentences, sentences make the text."""

from typing import ClassVar

from pydantic import Field
from torch import Tensor

from askalike.config import Settings
from askalike.nn._layers import fill
from askalike.nn._network import Batch, Network, Vectors
from askalike.nn._recurrent import Recurrent, WordReader, pooled


class HierarchicalLstmSettings(Settings):
    """Sizes; the draft leaves them open."""

    dim: int = Field(300, ge=1, description="numbers in a word's vector")
    sentence: int = Field(128, ge=1, description="numbers in a sentence's vector")
    hidden: int = Field(128, ge=1, description="numbers in a text's vector")


class HierarchicalLstm(Network):
    """The last state of an LSTM over sentences, each the last state of an LSTM over its words; cosines."""

    Settings: ClassVar[type[Settings]] = HierarchicalLstmSettings
    features: ClassVar[str] = "sentences"

    def __init__(self, settings: HierarchicalLstmSettings, size: int) -> None:
        super().__init__(settings, size)
        self.reader = WordReader(size, settings.dim, settings.sentence)
        self.over = Recurrent(settings.sentence, settings.hidden)

    @property
    def width(self) -> int:
        """Numbers in a text's vector."""
        return int(self.settings.hidden)

    def start(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Word vectors begin as the pre-trained ones."""
        fill(self.reader.words, vectors)

    def forward(self, batch: Batch) -> Vectors:
        """ids, mask (batch, sentences, tokens) to one part (batch, hidden). Padding is read by no LSTM."""
        ids, mask = batch["ids"], batch["mask"]
        there = mask.any(2)
        sentences = pooled("last", self.reader(ids[there]), mask[there])
        steps = sentences.new_zeros(*there.shape, sentences.shape[1]).masked_scatter(there[:, :, None], sentences)
        return (pooled("last", self.over(steps), there),)
