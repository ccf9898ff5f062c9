"""Topics (latent Dirichlet allocation, Blei et al. 2003): which of an archive's topics a text is about."""

from typing import ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from pydantic import Field
from scipy.special import digamma

from askalike.encoders._corpus import Array, Arrays, CorpusEncoder, CorpusEncoderSettings, TokenisedTexts
from askalike.text.features.words import WordFeatures

CHUNK = 1_024


class TopicsEncoderSettings(CorpusEncoderSettings):
    """How many topics, and how they are learned. Function words say nothing of a topic."""

    stop_words: bool = True
    topics: int = Field(100, ge=2, description="numbers in a text's vector: its share in each topic")
    prior: float = Field(0.1, gt=0, description="how much of each topic a text has before a word is read")
    passes: int = Field(5, ge=1, description="over the archive")
    steps: int = Field(30, ge=1, description="of inference for each text")


class TopicsEncoder(CorpusEncoder):
    """A text's vector is its expected share in each topic, less what it has without a word; scores are cosines.

    Kept is how strongly each topic speaks each word, exp(E[log β]), (topics, tokens).
    """

    Settings: ClassVar[type[CorpusEncoderSettings]] = TopicsEncoderSettings
    array_names: ClassVar[tuple[str, ...]] = ("topics",)
    settings: TopicsEncoderSettings

    def train_arrays(self, texts: TokenisedTexts, words: WordFeatures) -> Arrays:
        """By gensim's online variational Bayes."""
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel

        own = self.settings
        model = LdaModel(
            Sparse2Corpus(_count_words(texts, words), documents_columns=False), num_topics=own.topics,
            id2word=dict(enumerate(words.tokens)), passes=own.passes, random_state=own.seed, alpha=own.prior,
            eval_every=None, dtype=np.float32,
        )  # fmt: skip
        return {"topics": np.asarray(model.expElogbeta, np.float32)}

    def infer_vectors(self, values: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.float32]:
        """Variational inference, the same number of steps for every text."""
        chunks = range(0, max(len(starts) - 1, 1), CHUNK)
        return np.concatenate([self._infer_chunk(values, starts[n : n + CHUNK + 1]) for n in chunks])

    def _infer_chunk(self, values: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.float32]:
        own = self.settings
        rows = starts - starts[0]
        text, words = np.repeat(np.arange(len(rows) - 1), np.diff(rows)), np.arange(rows[-1])
        of_text = scipy.sparse.csr_array((np.ones(len(words)), words, rows), (len(rows) - 1, len(words)))
        spoken = self.trained_arrays["topics"].T[values[starts[0] : starts[-1]]]
        gamma = np.full((len(starts) - 1, own.topics), own.prior + 1.0)
        for _ in range(own.steps):
            theta = np.exp(digamma(gamma) - digamma(gamma.sum(1, keepdims=True)))
            share = theta[text] * spoken
            share /= share.sum(1, keepdims=True) + 1e-30
            gamma = own.prior + of_text @ share
        found = gamma - own.prior
        return (found / np.maximum(found.sum(1, keepdims=True), 1)).astype(np.float32)  # type: ignore[no-any-return]


def _count_words(texts: TokenisedTexts, words: WordFeatures) -> Array:
    """How often each text has each word, (texts, tokens) CSR."""
    rows = [words.vocabulary.encode(text) for text in texts()]
    columns = np.concatenate([np.array(row, np.int32) for row in rows])
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    matrix = scipy.sparse.csr_array((np.ones(len(columns)), columns, starts), (len(rows), len(words.tokens)))
    matrix.sum_duplicates()
    return matrix  # type: ignore[no-any-return]
