"""Where word vectors begin: skip-gram over the archive's own text, or a file of vectors as text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.config import Settings
from askalike.errors import InputError, SettingsError, TrainingError
from askalike.text.bpe import Bpe
from askalike.text.packaged import find_packaged_vectors
from askalike.types import RESERVED

Array = NDArray[np.float32]


class EmbeddingSettings(Settings):
    """What word vectors begin as; all are trained further with the network.

    start: skipgram (Mikolov et al. 2013, on the archive's own text), random, packaged (the packaged subword vectors,
    where a network reads subwords), teacher (the regression of the teacher's vectors on pieces), a folder
    of a trained `static` or `distil` model, or a file of word2vec, fastText, LexVec or GloVe vectors as text.
    """

    start: str = Field(
        "skipgram", description="skipgram, random, packaged, teacher, a model's folder, or a file of vectors"
    )
    reads: Literal["title", "body", "title,body"] = Field("title,body", description="what of questions is read")
    context: int = Field(5, ge=1, description="words on either side that a word predicts")
    noise: int = Field(5, ge=1, description="noise words for each word predicted")
    passes: int = Field(10, ge=1, description="over the archive")


@dataclass(frozen=True, slots=True)
class InitialVectors:
    """Vectors to begin with, (tokens, dim); a row of NaN where a token has none. None: all begin at random."""

    vectors: Array | None
    coverage: str


def initialise_vectors(
    settings: EmbeddingSettings, tokens: Sequence[str], dim: int, texts: Callable[[], Iterator[list[str]]], seed: int
) -> InitialVectors:
    """The vectors that a network's tokens begin with. `texts` gives the archive's texts as words, as often as asked."""
    if settings.start == "random":
        return InitialVectors(None, "word vectors begin at random")
    if settings.start == "packaged":
        return _add_coverage(load_packaged_vectors(tokens), tokens, "packaged subword vectors")
    if settings.start == "skipgram":
        return _add_coverage(
            train_skipgram(settings, tokens, dim, texts, seed), tokens, "skip-gram on the archive's own text"
        )
    return _add_coverage(read_vectors(Path(settings.start), tokens), tokens, settings.start)


def train_skipgram(
    settings: EmbeddingSettings, tokens: Sequence[str], dim: int, texts: Callable[[], Iterator[list[str]]], seed: int
) -> Array:
    """Skip-gram vectors of these tokens, learned by one worker: the same texts and seed give the same vectors.

    Raises TrainingError where there is no token.
    """
    from gensim.models import Word2Vec

    known = set(tokens[RESERVED:])
    if not known:
        raise TrainingError(
            "no word is in so many texts as features.min_texts asks, so there are no word vectors to learn; train on "
            "more texts, or set features.min_texts=1"
        )
    model = Word2Vec(
        sentences=_KnownTokenTexts(texts, known), vector_size=dim, window=settings.context, negative=settings.noise,
        epochs=settings.passes, sg=1, min_count=1, workers=1, seed=seed,
    )  # fmt: skip
    found = model.wv.key_to_index
    return _align_with_tokens(tokens, dim, {token: model.wv.vectors[row] for token, row in found.items()})


def load_packaged_vectors(tokens: Sequence[str]) -> Array:
    """The packaged vectors of a tokenizer's pieces, which come first. Raises SettingsError for other tokens."""
    from safetensors.numpy import load_file

    weights, tokenizer = find_packaged_vectors()
    known: Array = load_file(weights)["embedding.weight"].astype(np.float32)
    if list(tokens[RESERVED : RESERVED + len(known)]) != Bpe.from_file(tokenizer).pieces:
        raise SettingsError("embeddings.start=packaged: expected a network that reads these subwords")
    vectors = np.full((len(tokens), known.shape[1]), np.nan, np.float32)
    vectors[RESERVED : RESERVED + len(known)] = known
    return vectors


class _KnownTokenTexts:
    """Texts that can be read again and again, without the words that the network does not know."""

    def __init__(self, texts: Callable[[], Iterator[list[str]]], known: set[str]) -> None:
        self._texts = texts
        self._known = known

    def __iter__(self) -> Iterator[list[str]]:
        return ([word for word in text if word in self._known] for text in self._texts())


def read_vectors(path: Path, tokens: Sequence[str]) -> Array:
    """A text file's vectors of these tokens, (tokens, dim), NaN for those it lacks. Holds no others in memory.

    word2vec, fastText and LexVec open with a line `count dim`; GloVe has none, and tokens with spaces. A token that
    the file has in capitals only takes that vector. Raises InputError with the line that is none.
    """
    wanted = set(tokens[RESERVED:])
    exact: dict[str, Array] = {}
    folded: dict[str, Array] = {}
    dim = 0
    for number, token, values in _read_lines(path):
        dim = dim or len(values)
        if token in wanted and token not in exact:
            exact[token] = _parse_vector(path, number, values)
        elif (low := token.lower()) in wanted and low not in folded:
            folded[low] = _parse_vector(path, number, values)
    return _align_with_tokens(tokens, dim, folded | exact)


def _read_lines(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """The number, token and numbers of each line."""
    if not path.is_file():
        raise SettingsError(f"embeddings.start={str(path)!r}: expected skipgram, random, packaged, teacher, or a file")
    dim = 0
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, 1):
            row = line.rstrip().rsplit(" ", dim) if dim else line.rstrip().split(" ")
            if number == 1 and len(row) == 2 and row[0].isdecimal() and row[1].isdecimal():
                dim = int(row[1])
                continue
            dim = dim or len(row) - 1
            if len(row) != dim + 1 or dim < 1:
                raise InputError(f"{path}:{number}: expected a word and {dim or 'its'} numbers")
            yield number, row[0], row[1:]


def _parse_vector(path: Path, line: int, values: list[str]) -> Array:
    try:
        return np.array(values, np.float32)
    except ValueError:
        raise InputError(f"{path}:{line}: expected a word and {len(values)} numbers") from None


def _align_with_tokens(tokens: Sequence[str], dim: int, vector_by_token: Mapping[str, Array]) -> Array:
    vectors = np.full((len(tokens), dim), np.nan, np.float32)
    for row, token in enumerate(tokens):
        if row >= RESERVED and token in vector_by_token:
            vectors[row] = vector_by_token[token]
    return vectors


def _add_coverage(vectors: Array, tokens: Sequence[str], source: str) -> InitialVectors:
    there, all_ = int(np.isfinite(vectors).all(1).sum()), len(tokens) - RESERVED
    return InitialVectors(
        vectors, f"word vectors: {there} of {all_} words ({there / max(all_, 1):.1%}) begin as {source}"
    )
