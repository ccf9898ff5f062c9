"""DSSM ("Unified sentence embedding for question answering"): towers for questions and answers into one space.

A tower is an LSTM, a weighted mean of word vectors, or an LSTM over sentences; a decoder can generate answers.
"""

from typing import ClassVar, Literal

from pydantic import Field
from torch import Tensor, nn

from askalike import Settings
from askalike_learning.networks import (
    Batch,
    BeamSearchOptions,
    IntegerList,
    PartVectors,
    WordVectorNetwork,
    WordVectorSettings,
    make_embedding,
)
from askalike_learning.papers.generator import Decoder, beam_search
from askalike_learning.papers.lstm import LstmLayer, pool_sentences, read_words


class TwoTowerNetworkSettings(WordVectorSettings):
    """Sizes (the paper's, if it specifies them), and the generator."""

    dim: int = Field(512, ge=1, description="size of a word's vector")
    hidden: int = Field(256, ge=1, description="size of a tower's text vector before the dense layers")
    dense: IntegerList = Field(
        (), description="number of units of each dense layer (tanh) between the towers and the latent space"
    )
    latent: int = Field(256, ge=1, description="size of a question's or an answer's vector")
    metric: Literal["euclidean", "cosine"] = Field("euclidean", description="how vectors are compared")
    writes: bool = Field(False, description="whether a generator that shares φ is trained, too")
    writer: int = Field(256, ge=16, description="size of the generator's state")
    weight: float = Field(1.0, ge=0, description="weight of the generator's negative log-likelihood")
    likelihood: Literal["word", "answer"] = Field(
        "word", description="whether the log-likelihood is divided by an answer's length"
    )
    softmax: Literal["adaptive", "huffman"] = Field(
        "adaptive", description="the generator's softmax: groups of words by frequency, or a Huffman tree"
    )
    cutoffs: IntegerList = Field(
        (2_000, 10_000), description="frequency ranks that bound the groups of the adaptive softmax"
    )


class TwoTowerNetwork(WordVectorNetwork):
    """Two towers over the same word vectors, and dense layers from each into the latent space."""

    Settings: ClassVar[type[Settings]] = TwoTowerNetworkSettings
    tower: ClassVar[type[nn.Module]]
    """Made with the sizes of a word's and a text's vector; words, ids, mask (batch, …, tokens) to (batch, hidden)."""

    def __init__(self, settings: TwoTowerNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = settings.latent
        self.metrics = (settings.metric,)
        self.words = make_embedding(vocabulary_size, settings.dim, trained=settings.train_words)
        self.question, self.answer = (type(self).tower(settings.dim, settings.hidden) for _ in range(2))
        self.question_out, self.answer_out = self._make_dense_layers(), self._make_dense_layers()
        if settings.writes:
            cutoffs = settings.cutoffs if settings.softmax == "adaptive" else None
            self.decoder = Decoder(vocabulary_size, settings.dim, settings.latent, settings.writer, cutoffs)

    @property
    def generates_answers(self) -> bool:
        return bool(self.settings.writes)

    def set_word_counts(self, counts: Tensor) -> None:
        self.decoder.set_word_counts(counts)

    def generate(self, vector: Tensor, options: BeamSearchOptions) -> list[int]:
        return beam_search(self.decoder, self.words, vector, options)[0]

    def answer_log_likelihood(self, vectors: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the log-likelihood of answers, ids and mask (n, …, tokens), with their ends, and their lengths."""
        ids, mask = flatten_sentences(batch["ids"], batch["mask"])
        return self.decoder.log_likelihood(self.words, vectors, ids, mask)

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, …), document (batch,) as one part (batch, latent): φ of questions, ψ of answers."""
        answers = batch["document"]
        encoded = self.words.weight.new_zeros(len(answers), self.vector_dim)
        for rows, tower, out in ((~answers, self.question, self.question_out), (answers, self.answer, self.answer_out)):
            if rows.any():
                ids, mask = _trim_padding(batch["ids"][rows], batch["mask"][rows])
                vectors = out(tower(self.words, ids, mask))
                present = mask.flatten(1).any(1, keepdim=True)
                encoded = encoded.masked_scatter(rows[:, None], vectors.masked_fill(~present, 0).to(encoded))
        return (encoded,)

    def auxiliary_loss(self, batch: Batch, vectors: PartVectors, queries: Tensor, positives: Tensor) -> Tensor | None:
        """Return the generator's loss of each pair, (n,): weight · negative log-likelihood of the answer."""
        if not self.settings.writes:
            return None
        answers = {name: batch[name][positives] for name in ("ids", "mask")}
        likelihoods, lengths = self.answer_log_likelihood(vectors[0][queries], answers)
        if self.settings.likelihood == "word":
            likelihoods = likelihoods / lengths
        return -self.settings.weight * likelihoods  # type: ignore[no-any-return]

    def _make_dense_layers(self) -> nn.Sequential:
        sizes = (self.settings.hidden, *self.settings.dense)
        layers: list[nn.Module] = []
        for inputs, units in zip(sizes, self.settings.dense, strict=False):
            layers += [nn.Linear(inputs, units), nn.Tanh()]
        return nn.Sequential(*layers, nn.Linear(sizes[-1], self.settings.latent))


def flatten_sentences(ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Concatenate the sentences of texts: (batch, …, tokens) to (batch, tokens), real tokens first."""
    ids = ids.flatten(1)
    mask = mask.flatten(1)
    order = (~mask).byte().argsort(dim=1, stable=True)
    return _trim_padding(ids.gather(1, order), mask.gather(1, order))


def _trim_padding(ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Remove the last columns, in which no text has a token."""
    present = mask.flatten(0, -2).any(0)
    longest = int(present.nonzero().max()) + 1 if present.any() else 1
    return ids[..., :longest], mask[..., :longest]


class LastStateTower(nn.Module):
    """The last state of an LSTM over words."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.recurrent = LstmLayer(dim, hidden)

    def forward(self, words: nn.Embedding, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode ids, mask (batch, tokens) as (batch, hidden)."""
        return read_words("last", words, self.recurrent, ids, mask)


class DssmNetwork(TwoTowerNetwork):
    """LSTM towers over words: the last state, and dense layers."""

    tower = LastStateTower


class MeanTower(nn.Module):
    """The mean of word vectors, each with a weight computed from the vector, and a dense layer."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Linear(dim, 1)
        self.dense = nn.Linear(dim, hidden)

    def forward(self, words: nn.Embedding, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode ids, mask (batch, tokens) as (batch, hidden)."""
        vectors = words(ids)
        weights = self.weight(vectors)[..., 0].sigmoid() * mask
        mean = (weights[:, :, None] * vectors).sum(1) / weights.sum(1, keepdim=True).clamp_min(1e-6)
        return self.dense(mean).tanh()  # type: ignore[no-any-return]


class DssmStaticNetwork(TwoTowerNetwork):
    """Towers that ignore the order of words."""

    tower = MeanTower


class SentenceTower(nn.Module):
    """The last state of an LSTM over sentences, each the last state of an LSTM over its words."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.recurrent = LstmLayer(dim, hidden)
        self.over = LstmLayer(hidden, hidden)

    def forward(self, words: nn.Embedding, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode ids, mask (batch, sentences, tokens) as (batch, hidden)."""
        return pool_sentences(words, self.recurrent, self.over, ids, mask)


class DssmHierarchicalLstmNetwork(TwoTowerNetwork):
    """Hierarchical towers, for long answers."""

    features: ClassVar[str] = "sentences"
    tower = SentenceTower
