"""The words that a network knows; subwords by a pre-trained model's tokenizer, and the packaged vectors of subwords.

A text is split at white space, and each distinct word is encoded once. With a Llama-style vocabulary, where a word's
first subword begins with "▁" and none spans two words, these are exactly the tokenizer's subwords of the whole text. A
word of more than MAX_WORD_PART characters is split.
"""

import importlib.util
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import InputError, SettingsError
from askalike.core.files import write_atomically
from askalike.core.iteration import lazy_property
from askalike.core.types import RESERVED

UNKNOWN: Final = 1
WORD_START = "▁"
MAX_WORD_PART = 64

VECTORS_PACKAGE = "wordllama"
"""The package with the vectors: two files of WordLlama's wheel (MIT; extra `vectors`), read unchanged."""
VECTOR_FILES = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
NOT_INSTALLED = "static: the packaged vectors are not installed: pip install 'askalike[vectors]'"


class Vocabulary:
    """Words and their ids, most frequent first.

    tokens: the word of each id. ids: the id of each word. text_counts: the number of texts that contain each word.
    """

    def __init__(self, tokens: Sequence[str], text_counts: Sequence[int], total_texts: int) -> None:
        self.tokens: Sequence[str] = ("", "", *tokens)
        self.text_counts: Sequence[int] = (0, 0, *text_counts)
        self.total_texts = total_texts
        self.ids = {token: n for n, token in enumerate(self.tokens) if n >= RESERVED}

    @classmethod
    def from_texts(cls, texts: Iterable[Iterable[str]], min_texts: int = 1, size: int | None = None) -> Self:
        """Return the vocabulary of words in at least `min_texts` of these tokenised texts, of at most `size` words."""
        counts: Counter[str] = Counter()
        total = 0
        for tokens in texts:
            counts.update(set(tokens))
            total += 1
        common = sorted((-n, token) for token, n in counts.items() if n >= min_texts)[:size]
        return cls([token for _, token in common], [-n for n, _ in common], total)

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the id of each word, UNKNOWN for a word that is not in the vocabulary."""
        return [self.ids.get(token, UNKNOWN) for token in tokens]

    @property
    def idf(self) -> NDArray[np.float32]:
        """log(texts / texts with the word), float32 (len,); 0 for padding and the unknown word."""
        return np.array([math.log(self.total_texts / n) if n else 0.0 for n in self.text_counts], np.float32)

    def save(self, path: Path) -> None:
        """Write the number of texts, then a line per word: the word, a tab, the number of texts that contain it."""
        rows = zip(self.tokens[RESERVED:], self.text_counts[RESERVED:], strict=True)
        lines = [str(self.total_texts), *(f"{token}\t{n}" for token, n in rows)]
        write_atomically(path, "\n".join(lines) + "\n")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file from `save`. Raises InputError with the first invalid line."""
        try:
            total, *lines = path.read_bytes().decode().removesuffix("\n").split("\n")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}; expected a model's vocabulary") from None
        except UnicodeDecodeError:
            raise InputError(f"{path}: not UTF-8; train the model again") from None
        rows = [line.split("\t") for line in lines]
        for number, row in enumerate(rows, 2):
            if len(row) != 2 or not row[1].isdecimal():
                raise InputError(f"{path}:{number}: expected a word, a tab and a number; train the model again")
        if not total.isdecimal():
            raise InputError(f"{path}:1: expected the number of texts; train the model again")
        return cls([token for token, _ in rows], [int(n) for _, n in rows], int(total))


class Bpe:
    """Byte-pair encoding (Sennrich et al. 2016) of single words, by a `tokenizer.json` with byte fallback."""

    def __init__(self, path: Path) -> None:
        """path: the file, which is opened on first use."""
        self._path = path

    @classmethod
    def from_file(cls, path: Path) -> "Bpe":
        """Open a `tokenizer.json`. Raises InputError for other types, SettingsError without the package tokenizers."""
        bpe = cls(path)
        if not getattr(bpe._model, "byte_fallback", False):
            kind = type(bpe._model).__name__
            raise InputError(f"{path}: a {kind} tokenizer; expected BPE with bytes for unknown characters")
        return bpe

    @lazy_property
    def _tokenizer(self) -> Any:
        return _read_tokenizer(self._path, self._path.stat().st_mtime_ns)

    @lazy_property
    def _model(self) -> Any:
        return self._tokenizer.model

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size(with_added_tokens=False))

    @property
    def subwords(self) -> list[str]:
        """The subwords by their ids."""
        vocabulary: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=False)
        return sorted(vocabulary, key=vocabulary.__getitem__)

    def encode(self, word: str) -> list[int]:
        """Return the ids of a word's subwords. Lone surrogates, which no plain text has, become question marks."""
        if len(word) < MAX_WORD_PART and word.isascii():
            return [token.id for token in self._model.tokenize(WORD_START + word)]
        word = word.encode(errors="replace").decode()
        parts = [word[i : i + MAX_WORD_PART] for i in range(0, len(word), MAX_WORD_PART)]
        parts[:1] = [WORD_START + part for part in parts[:1]]
        return [token.id for part in parts for token in self._model.tokenize(part)]


@lru_cache(2)
def _read_tokenizer(path: Path, modified_ns: int) -> Any:
    """Open a tokenizer for vectors of subwords, once for a file as it is."""
    return open_tokenizer(path, extra="vectors")


def open_tokenizer(path: Path, extra: str) -> Any:
    """Open a `tokenizer.json` with the package `tokenizers`.

    Raises SettingsError, naming the extra, if the package is not installed, and InputError for an invalid file.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise SettingsError(f"tokenizers is not installed: pip install 'askalike[{extra}]'") from None
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing more specific
        problem = f"not a valid tokenizer ({error}); expected the tokenizer.json of a fast tokenizer"
        raise InputError(f"{path}: {problem}") from None


def find_packaged_vectors() -> tuple[Path, Path]:
    """Return the packaged vectors' two files: weights and tokenizer. Raises SettingsError if they are missing."""
    spec = importlib.util.find_spec(VECTORS_PACKAGE)
    if spec is None or not spec.origin:
        raise SettingsError(NOT_INSTALLED)
    weights, tokenizer = (Path(spec.origin).parent / file for file in VECTOR_FILES)
    if not (weights.exists() and tokenizer.exists()):
        raise SettingsError(f"{NOT_INSTALLED} (the installed {VECTORS_PACKAGE} does not carry them)")
    return weights, tokenizer
