"""Topics (latent Dirichlet allocation, Blei et al. 2003): the share of each of an archive's topics in a text."""

from typing import ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from pydantic import Field
from scipy.special import digamma

from askalike.plugin.features import Array
from askalike_learning.features.words import WordFeatures
from askalike_learning.papers.corpus import Arrays, CorpusEncoder, CorpusEncoderSettings, TokenisedTexts

CHUNK_SIZE = 1_024


class TopicsEncoderSettings(CorpusEncoderSettings):
    """The number of topics, and how they are trained. Stop words are left out, because they have no topic."""

    stop_words: bool = True
    topics: int = Field(100, ge=2, description="number of topics, and size of a text's vector of topic shares")
    prior: float = Field(0.1, gt=0, description="Dirichlet prior of each topic's share in a text")
    epochs: int = Field(5, ge=1, description="number of passes over the archive")
    inference_steps: int = Field(30, ge=1, description="number of inference steps for each text")


class TopicsEncoder(CorpusEncoder):
    """A text's vector is its expected share of each topic, without the prior; scores are cosines.

    The trained array is the expected probability of each word in each topic, exp(E[log β]), (topics, tokens).
    """

    Settings: ClassVar[type[CorpusEncoderSettings]] = TopicsEncoderSettings
    array_names: ClassVar[tuple[str, ...]] = ("topics",)
    settings: TopicsEncoderSettings

    def train_arrays(self, texts: TokenisedTexts, words: WordFeatures) -> Arrays:
        """See CorpusEncoder.train_arrays. gensim trains by online variational Bayes (Hoffman et al. 2010)."""
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel

        settings = self.settings
        model = LdaModel(
            Sparse2Corpus(_count_words(texts, words), documents_columns=False), num_topics=settings.topics,
            id2word=dict(enumerate(words.tokens)), passes=settings.epochs, random_state=settings.seed,
            alpha=settings.prior, eval_every=None, dtype=np.float32,
        )  # fmt: skip
        return {"topics": np.asarray(model.expElogbeta, np.float32)}

    def infer_vectors(self, values: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.float32]:
        """See CorpusEncoder.infer_vectors. Variational inference takes the same number of steps for every text."""
        begins = range(0, max(len(starts) - 1, 1), CHUNK_SIZE)
        return np.concatenate([self._infer_chunk(values, starts[n : n + CHUNK_SIZE + 1]) for n in begins])

    def _infer_chunk(self, values: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.float32]:
        settings = self.settings
        rows = starts - starts[0]
        text = np.repeat(np.arange(len(rows) - 1), np.diff(rows))
        words = np.arange(rows[-1])
        words_of_text = scipy.sparse.csr_array((np.ones(len(words)), words, rows), (len(rows) - 1, len(words)))
        topics = self.trained_arrays["topics"].T[values[starts[0] : starts[-1]]]
        gamma = np.full((len(starts) - 1, settings.topics), settings.prior + 1.0)
        for _ in range(settings.inference_steps):
            theta = np.exp(digamma(gamma) - digamma(gamma.sum(1, keepdims=True)))
            share = theta[text] * topics
            share /= share.sum(1, keepdims=True) + 1e-30
            gamma = settings.prior + words_of_text @ share
        counts = gamma - settings.prior
        return (counts / np.maximum(counts.sum(1, keepdims=True), 1)).astype(np.float32)  # type: ignore[no-any-return]


def _count_words(texts: TokenisedTexts, words: WordFeatures) -> Array:
    """Return the frequency of each word in each text, (texts, tokens) in CSR format."""
    rows = [words.vocabulary.encode(text) for text in texts()]
    columns = np.concatenate([np.array(row, np.int32) for row in rows])
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    matrix = scipy.sparse.csr_array((np.ones(len(columns)), columns, starts), (len(rows), len(words.tokens)))
    matrix.sum_duplicates()
    return matrix  # type: ignore[no-any-return]
