"""The base of every network: texts to vectors, and vectors to scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import torch
from numpy.typing import NDArray
from pydantic import Field
from safetensors.numpy import save_file
from torch import Tensor, nn
from torch.nn import functional

from askalike import Settings, SettingsError
from askalike.plugin.models import tensor_errors
from askalike.plugin.training import Metric, Tables
from askalike_learning.features import TextFeatures

WEIGHTS_FILE = "weights.safetensors"
MIN_SQUARED_DISTANCE = 1e-12
"""Lower limit of squared distances before the square root, so that the gradient of equal vectors is 0."""

Batch = Mapping[str, Tensor]
"""Encoded texts: tensors by feature name, batch first; and `document` (batch,), True for an answer."""

PartVectors = tuple[Tensor, ...]
"""One tensor (batch, dim) for each part."""


@dataclass(frozen=True, slots=True)
class BeamSearchOptions:
    """Options of the search. A beam of 1 is greedy: it always takes the most likely next word."""

    beam_size: int = 4
    max_words: int = 60
    length_penalty: float = 0.6
    """Scores are divided by ((5 + words) / 6) ** length_penalty, which favours longer texts (Wu et al. 2016)."""
    no_repeat_ngram: int = 3
    """No n-gram of this length occurs twice; 0 allows all."""


class Network(nn.Module):
    """Encodes texts as vectors of one or more parts; two texts' score is the weighted sum of their parts' scores.

    A network takes its settings and the number of its features' tokens, draws its
    parameters from torch's generator, and defines `forward`; all other methods have defaults.
    """

    Settings: ClassVar[type[Settings]] = Settings
    features: ClassVar[str] = "words"
    """The kind of features that it reads (`askalike.features`)."""
    metrics: tuple[Metric, ...] = ("cosine",)
    """The metric of each part's vectors."""
    encoder_name: ClassVar[str] = "neural"
    """The encoder that opens the trained network."""
    vector_dim: int = 0
    """The dimension of a text's vector if it has one part; 0 if it has several."""
    is_table: ClassVar[bool] = False
    """Whether each parameter has one row per token, (vocabulary size, …): unused tokens then need no training."""

    def __init__(self, settings: Any, vocabulary_size: int) -> None:
        super().__init__()
        self.settings = settings
        self.vocabulary_size = vocabulary_size

    @staticmethod
    def feature_settings(settings: Any) -> Mapping[str, Any]:
        """Return the settings of its features that are determined by its own."""
        return {}

    @staticmethod
    def part_models(settings: Any) -> Mapping[str, str]:
        """Return the folders of the models that modules of the network are initialised from: module → folder."""
        return {}

    @staticmethod
    def has_indexable_vectors(settings: Any) -> bool:
        """Return whether scores are computed from vectors alone; otherwise pairs are scored, for re-ranking only.

        It depends only on the settings, so that it is known before training.
        """
        return True

    @property
    def indexable(self) -> bool:
        """See has_indexable_vectors."""
        return self.has_indexable_vectors(self.settings)

    @property
    def generates_answers(self) -> bool:
        """Whether it is also trained to generate answers."""
        return False

    def set_word_counts(self, counts: Tensor) -> None:
        """Take the count of each token in the training answers, (size,); called before training if it generates."""

    def auxiliary_loss(self, batch: Batch, vectors: PartVectors, queries: Tensor, positives: Tensor) -> Tensor | None:
        """Return a loss of each pair, (n,), to be added to that of the scores; None for none.

        queries, positives: (n,), the pairs' rows among the texts of the batch and their vectors.
        """
        return None

    def generate(self, vector: Tensor, options: BeamSearchOptions) -> list[int]:
        """Return the tokens of the best answer to a question's vector (dim,), if it generates answers."""
        raise NotImplementedError

    def answer_log_likelihood(self, vectors: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the log-likelihood of each answer to its question's vector (n, dim), and its length, (n,) both."""
        raise NotImplementedError

    def initialise(self, vectors: Tensor | None, idf: Tensor) -> None:
        """Initialise with pre-trained vectors (at most size, dim), if there are any, and the tokens' idf (size,)."""

    def forward(self, batch: Batch) -> PartVectors:
        """Return the vectors of a batch, comparable only within a call: columns may be specific to the batch."""
        raise NotImplementedError

    def encode(self, batch: Batch) -> PartVectors:
        """Return the vectors to store, comparable between calls; a part may be sparse (coalesced)."""
        return self(batch)  # type: ignore[no-any-return]

    def save_model(
        self, folder: Path, settings: Any, features: TextFeatures, tensors: Mapping[str, NDArray[Any]]
    ) -> Tables:
        """Write the files that the encoder `encoder_name` opens, but model.toml; return tables to add to the recipe's.

        settings: those of the features. tensors: all parameters, also those of rows that no text uses.
        """
        features.save(folder)
        with tensor_errors():
            save_file(dict(tensors), folder / WEIGHTS_FILE)
        return {}

    def part_weights(self) -> Tensor:
        """Return the weight of each part, (parts,)."""
        return torch.ones(len(self.metrics), device=next(self.parameters()).device)

    def score_pairs(self, left: PartVectors, right: PartVectors) -> Tensor:
        """Return the scores of pairs of texts: parts (…, dim), which may broadcast, to (…)."""
        scores = [_score_pairs(m, x, y) for m, x, y in zip(self.metrics, left, right, strict=True)]
        return torch.stack(scores, -1) @ self.part_weights().to(scores[0])

    def score_matrix(self, left: PartVectors, right: PartVectors) -> Tensor:
        """Return the scores of all pairs of texts: parts (n, dim) and (m, dim) to (n, m)."""
        scores = [_score_matrix(m, x, y) for m, x, y in zip(self.metrics, left, right, strict=True)]
        return torch.stack(scores, -1) @ self.part_weights().to(scores[0])


class WordVectorNetwork(Network):
    """A network over word vectors, which are initialised with pre-trained ones if there are any."""

    words_at: ClassVar[str] = "words"
    """The place of the word vectors among its modules."""

    @property
    def word_embedding(self) -> nn.Embedding:
        """The word vectors: (size, dim)."""
        return cast(nn.Embedding, self.get_submodule(self.words_at))

    def initialise(self, vectors: Tensor | None, idf: Tensor) -> None:
        copy_pretrained_vectors(self.word_embedding, vectors)


class WordVectorSettings(Settings):
    """The size of word vectors, and whether they are trained."""

    dim: int = Field(300, ge=1, description="size of a word's vector")
    train_words: bool = Field(True, description="whether word vectors are trained")


def make_embedding(vocabulary_size: int, dim: int, *, trained: bool = True) -> nn.Embedding:
    """Return random word vectors (normal, standard deviation 0.1); that of padding is 0 and is not trained."""
    table = nn.Embedding(vocabulary_size, dim, padding_idx=0)
    nn.init.normal_(table.weight, std=0.1)
    with torch.no_grad():
        table.weight[0] = 0
    return table.requires_grad_(trained)


def copy_pretrained_vectors(table: nn.Embedding, vectors: Tensor | None) -> None:
    """Copy pre-trained vectors (at most size, dim) into a table; other rows, and non-finite ones, remain random.

    Raises SettingsError if they have another dimension.
    """
    if vectors is None:
        return
    if vectors.shape[1] != table.embedding_dim:
        dim = vectors.shape[1]
        expected = table.embedding_dim
        raise SettingsError(
            f"pre-trained vectors have the size {dim}, network.dim is {expected}; set network.dim={dim}"
        )
    with torch.no_grad():
        rows, vectors = table.weight[1 : len(vectors)], vectors[1:]
        pretrained = vectors.sum(1).isfinite()  # isfinite of the table itself takes as much memory again
        if pretrained.all():
            rows.copy_(vectors)
        else:
            rows[pretrained] = vectors[pretrained].to(rows)


def select_rows(values: Tensor, mask: Tensor) -> Tensor:
    """Return the rows in a mask; the values themselves, not a copy, if these are all rows."""
    return values if mask.all() else values[mask]


def _score_pairs(metric: Metric, left: Tensor, right: Tensor) -> Tensor:
    """Return the scores of pairs of vectors: (…, dim) each, which may broadcast, to (…). Zero vectors have cosine 0."""
    if metric == "cosine":
        return functional.cosine_similarity(left, right, dim=-1)
    if metric == "dot":
        return (left * right).sum(-1)
    return -(left - right).square().sum(-1).clamp_min(MIN_SQUARED_DISTANCE).sqrt()


def _score_matrix(metric: Metric, left: Tensor, right: Tensor) -> Tensor:
    """Return the scores of all pairs of vectors: (n, dim) and (m, dim) to (n, m)."""
    if metric == "euclidean":
        return -torch.cdist(left, right)
    if metric == "cosine":
        left, right = functional.normalize(left, dim=-1, eps=1e-8), functional.normalize(right, dim=-1, eps=1e-8)
    return left @ right.T
