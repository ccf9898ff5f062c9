"""Doc2Vec (Le and Mikolov 2014): PV-DBOW, with word vectors learned beside (Lau and Baldwin 2016)."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pydantic import Field

from askalike.encoders._corpus import Array, Arrays, CorpusEncoder, CorpusEncoderSettings, TokenisedTexts
from askalike.text.features.words import WordFeatures

LEARNING_RATES = (0.025, 0.0001)
"""The learning rate of the first pass and of the last, as in word2vec."""
NOISE_POWER = 0.75
"""Noise words are drawn by their frequency to this power, as in word2vec."""


class Doc2vecEncoderSettings(CorpusEncoderSettings):
    """Sizes; the defaults are those that Lau and Baldwin (2016) found best."""

    dim: int = Field(300, ge=1, description="numbers in a text's vector")
    context: int = Field(15, ge=1, description="words on either side that a word predicts")
    sample: float = Field(1e-5, ge=0, description="words commoner than this share are passed over more often")
    noise: int = Field(5, ge=1, description="noise words for each word predicted")
    passes: int = Field(20, ge=1, description="over the archive; as many for each text that is encoded")


class Doc2vecEncoder(CorpusEncoder):
    """A text's vector is the one that best predicts its words against noise; every text's is worked out alike.

    Kept are the words' output vectors, (dim, tokens), and how often each word occurs: what inference needs.
    """

    Settings: ClassVar[type[CorpusEncoderSettings]] = Doc2vecEncoderSettings
    array_names: ClassVar[tuple[str, ...]] = ("outputs", "counts")
    settings: Doc2vecEncoderSettings

    def train_arrays(self, texts: TokenisedTexts, words: WordFeatures) -> Arrays:
        """By gensim with one worker: the same texts and seed give the same vectors."""
        from gensim.models import doc2vec

        class Tagged:
            def __iter__(self) -> Iterator[doc2vec.TaggedDocument]:
                return (doc2vec.TaggedDocument(text, [number]) for number, text in enumerate(texts()))

        own = self.settings
        model = doc2vec.Doc2Vec(
            Tagged(), dm=0, dbow_words=1, vector_size=own.dim, window=own.context, sample=own.sample,
            negative=own.noise, epochs=own.passes, min_count=1, workers=1, seed=own.seed,
        )  # fmt: skip
        outputs, counts = np.zeros((own.dim, len(words.tokens)), np.float32), np.zeros(len(words.tokens), np.int64)
        for token, row in model.wv.key_to_index.items():
            number = words.vocabulary.ids[token]
            outputs[:, number] = model.syn1neg[row]
            counts[number] = model.wv.get_vecattr(token, "count")
        return {"outputs": outputs, "counts": counts}

    def infer_vectors(self, values: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.float32]:
        """Each text begins at zero and is moved by its words, `passes` times; its chance comes from its words alone."""
        own, counts = self.settings, self.trained_arrays["counts"].astype(np.float64)
        drawn = np.cumsum(counts**NOISE_POWER)
        outputs = np.ascontiguousarray(self.trained_arrays["outputs"].T)
        return _infer(
            values,
            starts,
            outputs,
            drawn / drawn[-1],
            _compute_keep_probabilities(counts, own.sample),
            own.noise,
            own.passes,
        )


def _compute_keep_probabilities(counts: Array, sample: float) -> NDArray[np.float64]:
    """The chance of each word to be looked at, as word2vec has it."""
    if not sample:
        return np.ones(len(counts))
    limit = sample * counts.sum()
    return np.minimum(1, (np.sqrt(counts / limit) + 1) * limit / np.maximum(counts, 1))  # type: ignore[no-any-return]


@njit(cache=True)
def _infer(
    values: Array, starts: Array, outputs: Array, noise_cdf: Array, keep_probabilities: Array, noise: int, passes: int
) -> NDArray[np.float32]:
    """PV-DBOW's step for the text's vector alone: towards its words' outputs, away from noise words' outputs."""
    found = np.zeros((len(starts) - 1, outputs.shape[1]), np.float32)
    move = np.zeros(outputs.shape[1], np.float32)
    for text in range(len(starts) - 1):
        vector = found[text]
        chance = np.uint64(1)
        for i in range(starts[text], starts[text + 1]):
            chance = _next_random(chance ^ np.uint64(values[i]))
        for n in range(passes):
            rate = LEARNING_RATES[0] - (LEARNING_RATES[0] - LEARNING_RATES[1]) * n / passes
            for i in range(starts[text], starts[text + 1]):
                chance = _next_random(chance)
                if _to_uniform(chance) > keep_probabilities[values[i]]:
                    continue
                move[:] = 0
                for m in range(noise + 1):
                    word = values[i]
                    if m:
                        chance = _next_random(chance)
                        word = np.searchsorted(noise_cdf, _to_uniform(chance))
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
    return found


@njit(cache=True)
def _next_random(state: np.uint64) -> np.uint64:
    """One step of a linear congruential generator (Knuth's MMIX)."""
    return state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)


@njit(cache=True)
def _to_uniform(state: np.uint64) -> float:
    """A number in [0, 1) of the state's upper bits."""
    return np.float64(state >> np.uint64(11)) / 9007199254740992.0
