"""SCQA (Das et al. 2016): a convolutional tower over the letter trigrams of a text; two texts' cosine."""

from itertools import pairwise
from typing import ClassVar

from pydantic import Field, model_validator
from torch import nn
from torch.nn import functional

from askalike import Settings
from askalike_learning.networks import Batch, IntegerList, Network, PartVectors, make_embedding


class ScqaNetworkSettings(Settings):
    """Sizes. The paper does not specify filters, strides and padding, and its first layer is as wide as its input."""

    dim: int = Field(512, ge=1, description="number of units of the first dense layer")
    filters: IntegerList = Field((8, 16), min_length=1, description="number of filters of each convolution")
    kernel: int = Field(5, ge=1, description="filter width")
    stride: int = Field(1, ge=1, description="step of a filter")
    pool: int = Field(4, ge=1, description="width of max pooling")
    units: int = Field(128, ge=1, description="number of units of the last dense layer, and size of a text's vector")

    @model_validator(mode="after")
    def _check_output_length(self) -> "ScqaNetworkSettings":
        if self.output_length < 1:
            raise ValueError(f"dim={self.dim} is too small for these convolutions; raise it, or lower pool or stride")
        return self

    @property
    def output_length(self) -> int:
        """The output length of each filter of the last convolution."""
        size = self.dim
        for _ in self.filters:
            size = ((size + 2 * (self.kernel // 2) - self.kernel) // self.stride + 1) // self.pool
        return size


class ScqaNetwork(Network):
    """A dense layer over a binary vector of trigrams, convolution → max-pool → ReLU several times, a dense layer."""

    Settings: ClassVar[type[Settings]] = ScqaNetworkSettings
    features: ClassVar[str] = "trigrams"

    def __init__(self, settings: ScqaNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = settings.units
        self.first = make_embedding(vocabulary_size, settings.dim)  # the matrix of a dense layer whose input is 0 or 1
        self.bias = nn.Parameter(self.first.weight.new_zeros(settings.dim))
        pairs = pairwise((1, *settings.filters))
        kernel, stride = settings.kernel, settings.stride
        self.convolutions = nn.ModuleList(nn.Conv1d(i, o, kernel, stride, kernel // 2) for i, o in pairs)
        self.last = nn.Linear(settings.filters[-1] * settings.output_length, settings.units)

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, distinct trigrams) as one part (batch, units); zeros for a text without trigrams."""
        ids, mask = batch["ids"], batch["mask"]
        signal = (self.first(ids.where(mask, 0)).sum(1) + self.bias)[:, None]
        for convolution in self.convolutions:
            signal = functional.relu(functional.max_pool1d(convolution(signal), self.settings.pool))
        return (self.last(signal.flatten(1)).masked_fill(~mask.any(1, keepdim=True), 0),)
