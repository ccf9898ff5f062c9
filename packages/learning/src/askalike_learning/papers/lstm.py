"""LSTMs over words: pooled states (SemEval-2017 Task 3 B); the siamese and hierarchical ones of Lin et al. (2017)."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from askalike import Settings, SettingsError
from askalike_learning.networks import Batch, PartVectors, WordVectorNetwork, WordVectorSettings, make_embedding
from askalike_learning.papers.recurrence import pack, read_packed

Pooling = Literal["last", "max", "mean", "mean_max"]
MIN_DENSITY = 0.8
"""Share of real tokens above which torch's own LSTM encodes texts as fast."""


class LstmLayer(nn.Module):
    """A unidirectional LSTM. Padding comes after the last real step and so affects no state before it."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)

    def forward(self, steps: Tensor) -> Tensor:
        """Return the hidden state after each step: (batch, steps, dim) to (batch, steps, hidden)."""
        return self.lstm(steps)[0]  # type: ignore[no-any-return]

    def read(self, pooling: Pooling, vectors: Tensor, mask: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return the pooled states over texts, (batch, hidden) or (batch, 2 · hidden).

        vectors: (batch, steps, dim); with rows, (batch, steps), each step's row of vectors (n, dim). mask: (batch,
        steps), True = real step. On a processor, learning reads no padding, and multiplies each row by the input's
        weights once; to a GPU, a step costs the same whatever the number of texts.
        """
        weight, recurrent, *biases = self.lstm.all_weights[0]
        is_dense = not torch.is_grad_enabled() and int(mask.sum()) > MIN_DENSITY * mask.numel()
        if weight.device.type != "cpu" or weight.dtype is not torch.float32 or is_dense:
            return pool_states(pooling, self(vectors if rows is None else functional.embedding(rows, vectors)), mask)
        packing = pack(mask)
        if not packing.sizes:
            return vectors.new_zeros(len(mask), pooled_size(pooling, self.lstm.hidden_size))
        if rows is None:
            vectors = vectors.flatten(0, 1)[packing.places]
            places = torch.arange(len(packing.places))
        else:
            places = rows.flatten()[packing.places]
        inputs = functional.linear(vectors, weight, biases[0] + biases[1]).to(weight.dtype)
        states = read_packed(inputs, places, recurrent, packing.sizes)
        if pooling == "last":
            return states[packing.last].masked_fill(~mask.any(1, keepdim=True), 0)
        padded = states.new_zeros(mask.numel(), states.shape[1]).index_copy(0, packing.places, states)
        return pool_states(pooling, padded.view(*mask.shape, -1), mask)


class WordLstm(nn.Module):
    """Word vectors, and an LSTM over them."""

    def __init__(self, vocabulary_size: int, words: WordVectorSettings, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = make_embedding(vocabulary_size, words.dim, trained=words.train_words)
        self.recurrent = LstmLayer(words.dim, hidden)
        self.dropout = dropout

    def forward(self, pooling: Pooling, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the pooled states over texts: ids, mask (batch, tokens) to (batch, hidden) or (batch, 2 · hidden)."""
        if self.training and self.dropout:
            return self.recurrent.read(pooling, functional.dropout(self.words(ids), self.dropout), mask)
        return read_words(pooling, self.words, self.recurrent, ids, mask)


def read_words(pooling: Pooling, words: nn.Embedding, layer: LstmLayer, ids: Tensor, mask: Tensor) -> Tensor:
    """Return an LSTM's pooled states over word vectors: ids, mask (batch, tokens) to (batch, hidden or 2 · hidden)."""
    distinct, rows = torch.unique(ids, return_inverse=True)
    return layer.read(pooling, words(distinct), mask, rows)


def pool_states(pooling: Pooling, states: Tensor, mask: Tensor) -> Tensor:
    """Pool states (batch, steps, hidden) to one vector: (batch, hidden), or (batch, 2 · hidden) for mean_max.

    mask: (batch, steps), True = real step. A text without real steps gets zeros.
    """
    return POOLINGS[pooling](states, mask).masked_fill(~mask.any(1, keepdim=True), 0)


def pooled_size(pooling: Pooling, hidden: int) -> int:
    """Return the size of a vector pooled from states of a size."""
    return hidden * (2 if pooling == "mean_max" else 1)


def pool_sentences(words: nn.Embedding, layer: LstmLayer, over: LstmLayer, ids: Tensor, mask: Tensor) -> Tensor:
    """Return the last state of the LSTM `over` sentences, each being the last state of `layer` over its words.

    ids, mask: (batch, sentences, tokens), True = real token. Returns (batch, hidden). No LSTM reads padding.
    """
    present = mask.any(2)
    sentences = read_words("last", words, layer, ids[present], mask[present])
    steps = sentences.new_zeros(*present.shape, sentences.shape[1]).masked_scatter(present[:, :, None], sentences)
    return over.read("last", steps, present)


def _pool_last(states: Tensor, mask: Tensor) -> Tensor:
    return states[torch.arange(len(states), device=states.device), (mask.sum(1) - 1).clamp_min(0)]


def _pool_max(states: Tensor, mask: Tensor) -> Tensor:
    highest = states.masked_fill(~mask[:, :, None], -torch.inf).amax(1)
    return highest.masked_fill(~mask.any(1, keepdim=True), 0)


def _pool_mean(states: Tensor, mask: Tensor) -> Tensor:
    return states.masked_fill(~mask[:, :, None], 0).sum(1) / mask.sum(1, keepdim=True).clamp_min(1)


def _pool_mean_max(states: Tensor, mask: Tensor) -> Tensor:
    return torch.cat((_pool_mean(states, mask), _pool_max(states, mask)), 1)


POOLINGS = {"last": _pool_last, "max": _pool_max, "mean": _pool_mean, "mean_max": _pool_mean_max}


class LstmNetworkSettings(WordVectorSettings):
    """Sizes (the paper's), the pooling of states into a vector, and the comparison of two vectors."""

    hidden: int = Field(400, ge=1, description="size of a hidden state")
    pooling: Pooling = Field("mean_max", description="how hidden states are pooled into the vector")
    head: Literal["pair", "cosine"] = Field(
        "cosine",
        description="a pair's score: cosine, or pair, a classifier of [u; v; |u − v|; u ∘ v] that only re-ranks",
    )
    dense: int = Field(200, ge=1, description="number of units of the classifier's dense layer")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout of word vectors in training")


class LstmNetwork(WordVectorNetwork):
    """Scores are log odds that two texts belong together: w · cosine + b, or the pair classifier's."""

    Settings: ClassVar[type[Settings]] = LstmNetworkSettings
    words_at: ClassVar[str] = "reader.words"

    def __init__(self, settings: LstmNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = pooled_size(settings.pooling, settings.hidden)
        self.reader = WordLstm(vocabulary_size, settings, settings.hidden, settings.dropout)
        if settings.head == "pair":
            self.first, self.second = nn.Linear(4 * self.vector_dim, settings.dense), nn.Linear(settings.dense, 1)
        else:
            self.log_scale, self.bias = nn.Parameter(torch.tensor([1.5])), nn.Parameter(torch.tensor(-2.0))

    @staticmethod
    def has_indexable_vectors(settings: LstmNetworkSettings) -> bool:
        return settings.head == "cosine"

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, tokens) as one part (batch, vector_dim)."""
        return (self.reader(self.settings.pooling, batch["ids"], batch["mask"]),)

    def part_weights(self) -> Tensor:
        """Return w, above 0, (1,); 1 for the pair classifier."""
        return self.log_scale.exp() if self.indexable else super().part_weights()

    def score_pairs(self, left: PartVectors, right: PartVectors) -> Tensor:
        """Return the scores of pairs of texts: (…, vector_dim), which may broadcast, to (…)."""
        if self.indexable:
            return super().score_pairs(left, right) + self.bias
        u, v = torch.broadcast_tensors(left[0], right[0])  # type: ignore[no-untyped-call]
        features = torch.cat((u, v, (u - v).abs(), u * v), -1)
        return self.second(functional.relu(self.first(features)))[..., 0]  # type: ignore[no-any-return]

    def score_matrix(self, left: PartVectors, right: PartVectors) -> Tensor:
        """Return the scores of all pairs of texts: (n, vector_dim) and (m, vector_dim) to (n, m)."""
        if self.indexable:
            return super().score_matrix(left, right) + self.bias
        return self.score_pairs(tuple(p[:, None] for p in left), tuple(p[None] for p in right))


class SiameseLstmNetworkSettings(WordVectorSettings):
    """Sizes, which the draft does not specify."""

    hidden: int = Field(128, ge=1, description="size of a hidden state, and of a text's vector")
    pooling: Pooling = Field("last", description="how hidden states are pooled into the vector")


class SiameseLstmNetwork(WordVectorNetwork):
    """Questions and answers are encoded by the same LSTM."""

    Settings: ClassVar[type[Settings]] = SiameseLstmNetworkSettings
    words_at: ClassVar[str] = "reader.words"

    def __init__(self, settings: SiameseLstmNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = pooled_size(settings.pooling, settings.hidden)
        self.reader = WordLstm(vocabulary_size, settings, settings.hidden)

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, tokens) as one part (batch, vector_dim)."""
        return (self.reader(self.settings.pooling, batch["ids"], batch["mask"]),)


class SiameseLstmTopicsNetworkSettings(SiameseLstmNetworkSettings):
    """The sizes, and the topic network: a `siamese_lstm` that was trained on questions of one category."""

    topics: str = Field("", description="the folder of the topic network, a trained siamese_lstm; it is not changed")
    topic_hidden: int = Field(128, ge=1, description="size of its vector of a text; its dim is that of the network")


class SiameseLstmTopicsNetwork(WordVectorNetwork):
    """An LSTM over words, each concatenated with the topic network's vector of the whole text; cosines."""

    Settings: ClassVar[type[Settings]] = SiameseLstmTopicsNetworkSettings

    def __init__(self, settings: SiameseLstmTopicsNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = pooled_size(settings.pooling, settings.hidden)
        topic_settings = SiameseLstmNetworkSettings(dim=settings.dim, hidden=settings.topic_hidden)
        self.topics = SiameseLstmNetwork(topic_settings, vocabulary_size).requires_grad_(False)
        self.words = make_embedding(vocabulary_size, settings.dim, trained=settings.train_words)
        self.recurrent = LstmLayer(settings.dim + settings.topic_hidden, settings.hidden)

    @staticmethod
    def part_models(settings: Any) -> Mapping[str, str]:
        """Raises SettingsError if no topic network is given."""
        if not settings.topics:
            trained = "askalike train ARCHIVE --recipe siamese_lstm --signals same_category --name NAME"
            raise SettingsError(f"network.topics: expected the folder of a trained siamese_lstm; train one: {trained}")
        return {"topics": settings.topics}

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, tokens) as one part (batch, vector_dim)."""
        words = self.words(batch["ids"])
        topics = self.topics(batch)[0]
        steps = torch.cat((words, topics[:, None].expand(-1, words.shape[1], -1)), -1)
        return (self.recurrent.read(self.settings.pooling, steps, batch["mask"]),)


class HierarchicalLstmNetworkSettings(WordVectorSettings):
    """Sizes, which the draft does not specify."""

    sentence: int = Field(128, ge=1, description="size of a sentence's vector")
    hidden: int = Field(128, ge=1, description="size of a text's vector")


class HierarchicalLstmNetwork(WordVectorNetwork):
    """The last state of an LSTM over sentences, each the last state of an LSTM over its words; cosines."""

    Settings: ClassVar[type[Settings]] = HierarchicalLstmNetworkSettings
    words_at: ClassVar[str] = "reader.words"
    features: ClassVar[str] = "sentences"

    def __init__(self, settings: HierarchicalLstmNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = settings.hidden
        self.reader = WordLstm(vocabulary_size, settings, settings.sentence)
        self.over = LstmLayer(settings.sentence, settings.hidden)

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, sentences, tokens) as one part (batch, hidden)."""
        return (pool_sentences(self.reader.words, self.reader.recurrent, self.over, batch["ids"], batch["mask"]),)
