"""BOW-CNN (dos Santos et al. 2015): a bag of words, a convolution over word windows, and both together."""

from typing import ClassVar, Literal

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn
from torch.nn import functional

from askalike import Settings
from askalike_learning.networks import (
    RESERVED,
    Batch,
    Metric,
    Network,
    PartVectors,
    WordVectorNetwork,
    WordVectorSettings,
    make_embedding,
)

CONVOLUTION_SETTINGS = {"dim", "window", "units", "train_words"}


class WindowMax(nn.Module):
    """tanh of the max over word windows (dos Santos et al. 2015, eq. 2).

    W1 z is the sum over the window's positions of a position's matrix times a word's vector. So each distinct word
    of a batch is multiplied only once, and the windows are sums of looked-up rows.
    """

    def __init__(self, vocabulary_size: int, dim: int, window: int, units: int, *, train_words: bool = True) -> None:
        super().__init__()
        self.window, self.units = window, units
        self.words = make_embedding(vocabulary_size, dim, trained=train_words)
        self.weight = nn.Parameter(torch.empty(dim, window * units))
        self.bias = nn.Parameter(torch.zeros(units))
        bound = (6 / (dim * window + units)) ** 0.5  # Glorot's, for the matrix as the paper writes it
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode ids, mask (batch, tokens) as (batch, units); zeros for a text without words."""
        highest = self._windows(ids, mask).amax(1) + self.bias
        return highest.masked_fill(~mask.any(1, keepdim=True), 0).tanh()

    def _windows(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return W1 z of each window, (batch, tokens, units); −inf if its middle is padding.

        Sums are computed in place, since memory access dominates the time.
        """
        tokens = ids.shape[1]
        side = self.window // 2
        words, places = torch.unique(functional.pad(ids.where(mask, 0), (side, side)), return_inverse=True)
        products = (self.words(words) @ self.weight).view(len(words), self.window, self.units)
        windows = functional.embedding(places[:, :tokens], products[:, 0])
        for j in range(1, self.window):
            windows += functional.embedding(places[:, j : j + tokens], products[:, j])
        return windows.masked_fill_(~mask[:, :, None], -torch.inf)


class WeightedBag(nn.Module):
    """A weighted bag of words (dos Santos et al. 2015, eq. 1): each word's frequency times its weight t."""

    def __init__(self, vocabulary_size: int, trained: bool) -> None:
        super().__init__()
        self.t = nn.Parameter(torch.ones(vocabulary_size), requires_grad=trained)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode ids, mask (batch, tokens) as (batch, distinct words of the batch). An unknown word has weight 0."""
        return self._bags(ids, mask)[1]

    def sparse_bags(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode the same as a sparse tensor with a column per word of the vocabulary: (batch, size)."""
        words, bags = self._bags(ids, mask)
        row, column = bags.nonzero(as_tuple=True)
        places = torch.stack((row, words[column]))
        values = bags[row, column]
        shape = (len(ids), len(self.t))
        return torch.sparse_coo_tensor(places, values, shape, is_coalesced=True, check_invariants=False)

    def _bags(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        words, places = torch.unique(ids, return_inverse=True)
        counts = torch.zeros(len(ids), len(words), dtype=self.t.dtype, device=ids.device)
        counts.scatter_add_(1, places, (mask & (ids >= RESERVED)).to(counts))
        return words, counts * self.t[words]


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


class CnnNetworkSettings(WordVectorSettings):
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
    words_at: ClassVar[str] = "convolution.words"

    def __init__(self, settings: CnnNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = settings.units
        self.convolution = WindowMax(vocabulary_size, **settings.model_dump(include=CONVOLUTION_SETTINGS))

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, tokens) as one part (batch, units)."""
        return (self.convolution(batch["ids"], batch["mask"]),)


class BowCnnNetworkSettings(CnnNetworkSettings):
    """Sizes, and the initial word weights t (Table 5: idf trained, idf fixed, ones trained)."""

    units: int = Field(400, ge=1, description="number of convolutional units, and size of a question's vector")
    weights: Literal["idf", "ones"] = Field("idf", description="initial value of the word weights t")
    train_weights: bool = Field(True, description="whether the word weights t are learned")


class BowCnnNetwork(WordVectorNetwork):
    """s(q1, q2) = β1 · cosine of the bags of words + β2 · cosine of the convolutional vectors."""

    Settings: ClassVar[type[Settings]] = BowCnnNetworkSettings
    words_at: ClassVar[str] = "convolution.words"
    features: ClassVar[str] = "stemmed_words"
    metrics: tuple[Metric, ...] = ("cosine", "cosine")

    def __init__(self, settings: BowCnnNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.bag = WeightedBag(vocabulary_size, settings.train_weights)
        self.convolution = WindowMax(vocabulary_size, **settings.model_dump(include=CONVOLUTION_SETTINGS))
        self.beta = nn.Parameter(torch.ones(2))

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

    def part_weights(self) -> Tensor:
        """Return β, (2,)."""
        return self.beta
