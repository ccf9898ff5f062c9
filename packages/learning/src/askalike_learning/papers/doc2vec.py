"""Doc2Vec (Le and Mikolov 2014): PV-DBOW, with word vectors trained along with it (Lau and Baldwin 2016)."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.plugin.features import Array
from askalike.plugin.models import Matrix, compiled, inlined
from askalike_learning.features.words import WordFeatures
from askalike_learning.papers.corpus import Arrays, CorpusEncoder, CorpusEncoderSettings, TokenisedTexts

LEARNING_RATES = (0.025, 0.0001)
"""The learning rates of the first and the last pass, as in word2vec."""
NOISE_POWER = 0.75
"""Exponent of word frequencies in the distribution of noise words, as in word2vec."""


class Doc2vecEncoderSettings(CorpusEncoderSettings):
    """Hyperparameters; the defaults are those that Lau and Baldwin (2016) found best."""

    dim: int = Field(300, ge=1, description="size of a text's vector")
    context: int = Field(15, ge=1, description="window size: number of words on either side that a word predicts")
    sample: float = Field(
        1e-5, ge=0, description="subsampling threshold: words more frequent than this share are skipped at random"
    )
    negative_samples: int = Field(5, ge=1, description="number of negative samples for each predicted word")
    epochs: int = Field(
        20, ge=1, description="number of passes over the archive, and of inference steps for each encoded text"
    )


class Doc2vecEncoder(CorpusEncoder):
    """A text's vector is the one that best predicts its words against noise words, inferred also for stored texts.

    The trained arrays are the words' output vectors, (dim, tokens), and the frequency of each word, (tokens,).
    """

    Settings: ClassVar[type[CorpusEncoderSettings]] = Doc2vecEncoderSettings
    array_names: ClassVar[tuple[str, ...]] = ("outputs", "counts")
    settings: Doc2vecEncoderSettings

    def train_arrays(self, texts: TokenisedTexts, words: WordFeatures) -> Arrays:
        """See CorpusEncoder.train_arrays. gensim uses one worker, so that the vectors are reproducible."""
        from gensim.models import doc2vec

        class Tagged:
            def __iter__(self) -> Iterator[doc2vec.TaggedDocument]:
                return (doc2vec.TaggedDocument(text, [number]) for number, text in enumerate(texts()))

        settings = self.settings
        model = doc2vec.Doc2Vec(
            Tagged(), dm=0, dbow_words=1, vector_size=settings.dim, window=settings.context,
            sample=settings.sample, negative=settings.negative_samples, epochs=settings.epochs, min_count=1, workers=1,
            seed=settings.seed,
        )  # fmt: skip
        outputs, counts = np.zeros((settings.dim, len(words.tokens)), np.float32), np.zeros(len(words.tokens), np.int64)
        for token, row in model.wv.key_to_index.items():
            number = words.vocabulary.ids[token]
            outputs[:, number] = model.syn1neg[row]
            counts[number] = model.wv.get_vecattr(token, "count")
        return {"outputs": outputs, "counts": counts}

    def infer_vectors(self, values: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.float32]:
        """See CorpusEncoder.infer_vectors. Vectors start at zero; random numbers depend only on the text's words."""
        settings = self.settings
        counts = self.trained_arrays["counts"].astype(np.float64)
        cumulative = np.cumsum(counts**NOISE_POWER)
        outputs = np.ascontiguousarray(self.trained_arrays["outputs"].T)
        keep = _compute_keep_probabilities(counts, settings.sample)
        vectors = np.zeros((len(starts) - 1, settings.dim), np.float32)
        move = np.empty(settings.dim, np.float32)
        cdf = cumulative / cumulative[-1]
        _infer(values, starts, outputs, cdf, keep, settings.negative_samples, settings.epochs, vectors, move)
        return vectors


def _compute_keep_probabilities(counts: Array, sample: float) -> NDArray[np.float64]:
    """Return the probability that each word is used in a pass, as in word2vec, (tokens,)."""
    if not sample:
        return np.ones(len(counts))
    limit = sample * counts.sum()
    return np.minimum(1, (np.sqrt(counts / limit) + 1) * limit / np.maximum(counts, 1))  # type: ignore[no-any-return]


@compiled()
def _infer(
    values: NDArray[np.int32], starts: NDArray[np.int64], outputs: Matrix[np.float32], cdf: NDArray[np.float64],
    keep: NDArray[np.float64], noise: int, passes: int, vectors: Matrix[np.float32], move: NDArray[np.float32],
) -> None:  # fmt: skip
    """Move each text's vector towards its words' outputs and away from noise words' outputs, as PV-DBOW does.

    vectors: initially zeros, (texts, dim). move: working memory, (dim).
    """
    for text in range(len(starts) - 1):
        vector = vectors[text]
        chance = np.uint64(1)
        for i in range(starts[text], starts[text + 1]):
            chance = _next_random(chance ^ np.uint64(values[i]))
        for n in range(passes):
            rate = LEARNING_RATES[0] - (LEARNING_RATES[0] - LEARNING_RATES[1]) * n / passes
            for i in range(starts[text], starts[text + 1]):
                chance = _next_random(chance)
                if _to_uniform(chance) > keep[values[i]]:
                    continue
                move[:] = 0
                for m in range(noise + 1):
                    word = values[i]
                    if m:
                        chance = _next_random(chance)
                        word = np.searchsorted(cdf, _to_uniform(chance))
                        if word == values[i]:
                            continue
                    score = np.float32(0)
                    for j in range(len(vector)):
                        score += vector[j] * outputs[word, j]
                    step = np.float32(rate * ((1.0 if m == 0 else 0.0) - 1 / (1 + np.exp(-score))))
                    for j in range(len(vector)):
                        move[j] += step * outputs[word, j]
                for j in range(len(vector)):
                    vector[j] += move[j]


@inlined()
def _next_random(state: np.uint64) -> np.uint64:
    """Return the next state of a linear congruential generator (Knuth's MMIX)."""
    return state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)


@inlined()
def _to_uniform(state: np.uint64) -> float:
    """Return a number in [0, 1) from the state's upper bits."""
    return np.float64(state >> np.uint64(11)) / 9007199254740992.0
