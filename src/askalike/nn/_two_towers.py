"""What the DSSM's towers share: φ for questions, ψ for answers, one space for both, and a decoder from it."""

from abc import abstractmethod
from typing import ClassVar, Literal

from pydantic import Field
from torch import Tensor, nn

from askalike.config import Settings
from askalike.nn._decoder import Decoder
from askalike.nn._layers import copy_pretrained_vectors, make_embedding
from askalike.nn._network import Batch, Network, PartVectors


class TwoTowerNetworkSettings(Settings):
    """Sizes (the paper's, as far as it gives them), and the generator."""

    dim: int = Field(512, ge=1, description="numbers in a word's vector")
    hidden: int = Field(256, ge=1, description="numbers in what a tower makes of a text, before the dense layers")
    dense: tuple[int, ...] = Field((), description="units of dense layers (tanh) between that and the latent space")
    latent: int = Field(256, ge=1, description="numbers in a question's or an answer's vector")
    metric: Literal["euclidean", "cosine"] = Field("euclidean", description="how vectors are compared")
    train_words: bool = Field(True, description="whether word vectors are learned further")
    writes: bool = Field(False, description="whether a generator is learned with it, which shares φ")
    writer: int = Field(256, ge=16, description="numbers in the generator's state")
    weight: float = Field(1.0, ge=0, description="how much the generator's negative log-likelihood (a word) counts")
    cutoffs: tuple[int, ...] = Field((2_000, 10_000), description="bounds of the softmax's groups of frequency")


class TwoTowerNetwork(Network):
    """Two towers over the same word vectors, and dense layers from each into the latent space."""

    Settings: ClassVar[type[Settings]] = TwoTowerNetworkSettings

    def __init__(self, settings: TwoTowerNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.metrics = (settings.metric,)
        self.words = make_embedding(vocabulary_size, settings.dim)
        self.words.weight.requires_grad_(settings.train_words)
        self.question, self.answer = self.make_tower(), self.make_tower()
        self.question_out, self.answer_out = self._make_dense_layers(), self._make_dense_layers()
        if settings.writes:
            self.decoder = Decoder(vocabulary_size, settings.dim, settings.latent, settings.writer, settings.cutoffs)

    @abstractmethod
    def make_tower(self) -> nn.Module:
        """A module that turns word vectors (batch, …, dim) and their mask into (batch, hidden)."""

    @property
    def generates_answers(self) -> bool:
        """See Network.writes."""
        return bool(self.settings.writes)

    @property
    def vector_dim(self) -> int:
        """Numbers in a text's vector."""
        return int(self.settings.latent)

    def initialise(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Word vectors begin as the pre-trained ones."""
        copy_pretrained_vectors(self.words, vectors)

    def set_word_counts(self, counts: Tensor) -> None:
        """See Network.count."""
        self.decoder.set_word_counts(counts)

    def forward(self, batch: Batch) -> PartVectors:
        """ids, mask (batch, …) and document (batch,) to one part (batch, latent): φ of questions, ψ of answers."""
        answers = batch["document"]
        found = self.words.weight.new_zeros(len(answers), self.vector_dim)
        for rows, tower, out in (
            (~answers, self.question, self.question_out),
            (answers, self.answer, self.answer_out),
        ):
            if rows.any():
                ids, mask = _trim_padding(batch["ids"][rows], batch["mask"][rows])
                vectors = out(tower(self.words(ids), mask))
                there = mask.flatten(1).any(1, keepdim=True)
                found = found.masked_scatter(rows[:, None], vectors.masked_fill(~there, 0).to(found))
        return (found,)

    def auxiliary_loss(
        self, batch: Batch, vectors: PartVectors, query_rows: Tensor, positive_rows: Tensor
    ) -> Tensor | None:
        """The generator's loss of each pair, (n,): weight · negative log-likelihood of the answer, a word."""
        if not self.settings.writes:
            return None
        ids, mask = flatten_sentences(batch["ids"][positive_rows], batch["mask"][positive_rows])
        found, lengths = self.decoder.log_likelihood(self.words, vectors[0][query_rows], ids, mask)
        return -self.settings.weight * found / lengths  # type: ignore[no-any-return]

    def _make_dense_layers(self) -> nn.Sequential:
        sizes = (self.settings.hidden, *self.settings.dense)
        layers: list[nn.Module] = []
        for one, next_ in zip(sizes, self.settings.dense, strict=False):
            layers += [nn.Linear(one, next_), nn.Tanh()]
        return nn.Sequential(*layers, nn.Linear(sizes[-1], self.settings.latent))


def flatten_sentences(ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Texts of sentences as texts of words: (batch, …, tokens) to (batch, tokens), what is real first."""
    ids, mask = ids.flatten(1), mask.flatten(1)
    order = (~mask).byte().argsort(dim=1, stable=True)
    return _trim_padding(ids.gather(1, order), mask.gather(1, order))


def _trim_padding(ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Without the last tokens where none of these texts has one."""
    there = mask.flatten(0, -2).any(0)
    longest = max(int(there.nonzero().max()) + 1 if there.any() else 1, 1)
    return ids[..., :longest], mask[..., :longest]
