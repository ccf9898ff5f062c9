"""Initial word vectors: skip-gram over the archive's own text, packaged vectors, or a text file of vectors."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from askalike import InputError, SettingsError, TrainingError
from askalike.plugin.features import RESERVED, Bpe, Floats32, find_packaged_vectors
from askalike.plugin.models import replace_file
from askalike.plugin.training import format_count
from askalike_learning.recipes import EmbeddingSettings

Texts = Callable[[], Iterator[list[str]]]
MAX_CACHED_TABLES = 8
"""Number of cached tables of word vectors: those with the latest text settings."""


class InitialVectors(NamedTuple):
    """The initial vectors of a network's tokens."""

    vectors: Floats32 | None
    """(at most tokens, dim), NaN or no row for a token without a vector; None if all are random."""
    coverage: str
    """A sentence with the number of tokens that have a vector, and the vectors' source."""


def initialise_vectors(
    settings: EmbeddingSettings, tokens: Sequence[str], dim: int, texts: Texts, cache: Path | None = None
) -> InitialVectors:
    """Return the initial vectors of a network's tokens. Each call of `texts` yields the archive's texts as words.

    cache: a folder for skip-gram vectors, to be reused for all seeds and networks on the same texts.
    """
    if settings.init == "random":
        return InitialVectors(None, "word vectors are initialised at random")
    if settings.init == "packaged":
        return _add_coverage(load_packaged_vectors(tokens), tokens, "packaged subword vectors")
    if settings.init == "skipgram":
        vectors = _load_or_train_skipgram(settings, tokens, dim, texts, cache)
        return _add_coverage(vectors, tokens, "skip-gram on the archive's own texts")
    return _add_coverage(read_vectors(Path(settings.init), tokens), tokens, settings.init)


def _load_or_train_skipgram(
    settings: EmbeddingSettings, tokens: Sequence[str], dim: int, texts: Texts, cache: Path | None
) -> Floats32:
    if cache is None:
        return train_skipgram(settings, tokens, dim, texts)
    digest = hashlib.sha256(json.dumps([settings.model_dump(exclude={"init_std"}), list(tokens), dim]).encode())
    for words in texts():
        digest.update("\0".join(words).encode("utf-8", "replace"))
    path = cache / f"{digest.hexdigest()[:24]}.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        vectors = train_skipgram(settings, tokens, dim, texts)
        with replace_file(path) as partial, open(partial, "wb") as file:
            np.save(file, vectors)
        for old in sorted(cache.glob("*.npy"), key=lambda file: -file.stat().st_mtime)[MAX_CACHED_TABLES:]:
            old.unlink(missing_ok=True)
    table: Floats32 = np.load(path, allow_pickle=False)
    return table


def train_skipgram(settings: EmbeddingSettings, tokens: Sequence[str], dim: int, texts: Texts) -> Floats32:
    """Return skip-gram vectors, (tokens, dim), trained by one worker to be reproducible. Raises TrainingError."""
    from gensim.models import Word2Vec

    known = set(tokens[RESERVED:])
    if not known:
        raise TrainingError(
            "no word occurs in features.min_texts texts, so there are no word vectors to learn; train on "
            "more texts, or set features.min_texts=1"
        )
    model = Word2Vec(
        sentences=_KnownTokenTexts(texts, known), vector_size=dim, window=settings.context,
        negative=settings.negative_samples, epochs=settings.init_epochs, sg=1, min_count=1, workers=1,
        seed=settings.init_seed,
    )  # fmt: skip
    row_by_token = model.wv.key_to_index
    return _align_with_tokens(tokens, dim, {token: model.wv.vectors[row] for token, row in row_by_token.items()})


def load_packaged_vectors(tokens: Sequence[str]) -> Floats32:
    """Return the packaged vectors of tokens, (at most tokens, dim): a word has the sum of its subwords' vectors.

    The first tokens of a network over n-grams are the subwords themselves. Raises SettingsError.
    """
    from safetensors.numpy import load_file

    weights, tokenizer = find_packaged_vectors()
    known: Floats32 = load_file(weights)["embedding.weight"].astype(np.float32)
    bpe = Bpe.from_file(tokenizer)
    if list(tokens[RESERVED : RESERVED + len(known)]) != bpe.subwords:
        words = [known[subwords].sum(0) for subwords in bpe.encode(tokens[RESERVED:])]
        known = np.array(words, np.float32).reshape(-1, known.shape[1])
    return np.pad(known, ((RESERVED, 0), (0, 0)), constant_values=np.nan)


class _KnownTokenTexts:
    """Texts that can be iterated repeatedly, without words unknown to the network."""

    def __init__(self, texts: Texts, known: set[str]) -> None:
        self._texts = texts
        self._known = known

    def __iter__(self) -> Iterator[list[str]]:
        return ([word for word in text if word in self._known] for text in self._texts())


def read_vectors(path: Path, tokens: Sequence[str]) -> Floats32:
    """Read the vectors of tokens from a text file, (tokens, dim), NaN for missing tokens.

    Files of word2vec, fastText and LexVec begin with a line `count dim`; GloVe's do not, and have tokens with spaces. A
    token gets the vector of a capitalised form if the file has no other. Raises InputError with the malformed line.
    """
    wanted = set(tokens[RESERVED:])
    exact: dict[str, Floats32] = {}
    folded: dict[str, Floats32] = {}
    dim = 0
    for number, token, values in _read_lines(path):
        dim = dim or len(values)
        if token in wanted and token not in exact:
            exact[token] = _parse_vector(path, number, values)
        elif (low := token.lower()) in wanted and low not in folded:
            folded[low] = _parse_vector(path, number, values)
    return _align_with_tokens(tokens, dim, folded | exact)


def _read_lines(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the number of each line, its token and its vector as text."""
    if not path.is_file():
        raise SettingsError(f"embeddings.init={str(path)!r}: expected skipgram, random, packaged, or a file")
    dim = 0
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, 1):
            row = line.rstrip().rsplit(" ", dim) if dim else line.rstrip().split(" ")
            if number == 1 and len(row) == 2 and row[0].isdecimal() and row[1].isdecimal():
                dim = int(row[1])
                continue
            dim = dim or len(row) - 1
            if len(row) != dim + 1 or dim < 1:
                raise InputError(
                    f"{path}:{number}: expected a word and {format_count(dim, 'number') if dim else 'its vector'}"
                )
            yield number, row[0], row[1:]


def _parse_vector(path: Path, line: int, values: list[str]) -> Floats32:
    try:
        return np.array(values, np.float32)
    except ValueError:
        raise InputError(f"{path}:{line}: expected a word and {format_count(len(values), 'number')}") from None


def _align_with_tokens(tokens: Sequence[str], dim: int, vector_by_token: Mapping[str, Floats32]) -> Floats32:
    vectors = np.full((len(tokens), dim), np.nan, np.float32)
    for row, token in enumerate(tokens):
        if row >= RESERVED and token in vector_by_token:
            vectors[row] = vector_by_token[token]
    return vectors


def _add_coverage(vectors: Floats32, tokens: Sequence[str], source: str) -> InitialVectors:
    covered = int(np.isfinite(vectors.sum(1)).sum())
    total = len(tokens) - RESERVED
    share = f"{covered} of {total} words ({covered / max(total, 1):.1%})"
    return InitialVectors(vectors, f"word vectors: {share} begin as {source}")
