"""Subwords of single words, by a pre-trained model's tokenizer, and the packaged vectors of subwords.

A text is split at white space, and each distinct word is encoded once. With a Llama-style vocabulary, where a word's
first subword begins with "▁" and none spans two words, these are exactly the tokenizer's subwords of the whole text. A
word of more than MAX_WORD_PART characters is split.
"""

import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from askalike.core.errors import InputError, SettingsError
from askalike.core.iteration import lazy_property

WORD_START = "▁"
MAX_WORD_PART = 64
VECTORS_PACKAGE = "wordllama"
"""The package with the vectors: two files of WordLlama's wheel (MIT), read unchanged."""
VECTOR_FILES = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
_ID = attrgetter("id")


class Bpe:
    """Byte-pair encoding (Sennrich et al. 2016) of single words, by a `tokenizer.json` with byte fallback."""

    def __init__(self, path: Path) -> None:
        """path: the file, which is opened on first use."""
        self._path = path

    @classmethod
    def from_file(cls, path: Path) -> "Bpe":
        """Open a `tokenizer.json`. Raises InputError for other types."""
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

    def encode(self, words: Sequence[str]) -> list[list[int]]:
        """Return the ids of each word's subwords. Lone surrogates, which no plain text has, become question marks."""
        tokenize = self._model.tokenize
        return [
            list(map(_ID, tokenize(WORD_START + word)))
            if len(word) < MAX_WORD_PART and word.isascii()
            else [token.id for part in _divide(word) for token in tokenize(part)]
            for word in words
        ]


def _divide(word: str) -> list[str]:
    """Return the parts of a word that are encoded one by one."""
    word = word.encode(errors="replace").decode()
    parts = [word[i : i + MAX_WORD_PART] for i in range(0, len(word), MAX_WORD_PART)]
    return [WORD_START + part for part in parts[:1]] + parts[1:]


@lru_cache(2)
def _read_tokenizer(path: Path, modified_ns: int) -> Any:
    """Open a tokenizer for vectors of subwords, once for a file as it is."""
    return open_tokenizer(path)


def open_tokenizer(path: Path) -> Any:
    """Open a `tokenizer.json` with the package `tokenizers`. Raises InputError for an invalid file."""
    from tokenizers import Tokenizer  # takes time to load

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing more specific
        problem = f"not a valid tokenizer ({error}); expected the tokenizer.json of a fast tokenizer"
        raise InputError(f"{path}: {problem}") from None


def find_packaged_vectors() -> tuple[Path, Path]:
    """Return the packaged vectors' two files: weights and tokenizer. Raises SettingsError if they are missing."""
    spec = importlib.util.find_spec(VECTORS_PACKAGE)  # it is not imported
    files = [Path(spec.origin).parent / file for file in VECTOR_FILES] if spec and spec.origin else []
    if not files or not all(file.exists() for file in files):
        raise SettingsError(f"static: {VECTORS_PACKAGE} is not installed: pip install --force-reinstall askalike")
    weights, tokenizer = files
    return weights, tokenizer
