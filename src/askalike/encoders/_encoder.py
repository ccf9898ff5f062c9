"""The base class of encoders, its cache of vectors on disk, and the share of each word in a text's vectors."""

import fcntl
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Floats32, Vectors
from askalike.core.errors import SettingsError
from askalike.core.files import folder_errors, identify, make_folders
from askalike.core.model_folders import LearnedLabels
from askalike.core.records import Answer, Question
from askalike.native.compiled import Matrix
from askalike.store import TrainingView
from askalike.text.features.hashed_ngrams import RowCounts, WeightedRows, WordRows, number_forms
from askalike.text.language import find_function_languages
from askalike.text.tokens import Tokens, number_distinct
from askalike.text.words import find_form

if TYPE_CHECKING:
    from scipy.sparse import csr_array

KEY_BYTES = 16
SHARED_FOLDER = Path("index/encoded")
"""Folder of the vectors of an archive's documents; they are recomputed if it is missing."""
MAX_ENCODERS = 4
"""Number of encoders whose shared vectors are kept: the most recently used."""
MIN_CAPACITY = 1 << 20
ROWS_PER_DOCUMENT = 8
"""Capacity of a shared cache in rows per document: its phrasings, with different fields and in several versions."""
MAX_RECENT = 64
"""Number of texts of queries whose vectors are remembered."""
Role = Literal["query", "document"]


class VectorCache:
    """The vectors of one encoder in a folder, appended as they are computed; incomplete rows are ignored.

    below: a read-only cache that is looked up first. capacity: the number of rows above which the file is emptied.
    Several processes may append at the same time.
    """

    def __init__(
        self, folder: Path, fingerprint: str, below: "VectorCache | None" = None, capacity: int | None = None,
        root: Path | None = None,
    ) -> None:  # fmt: skip
        """root: the folder above, which must stay where it is; by default the root of the file system."""
        self.folder, self._root = folder, root or Path(folder.anchor)
        self._identity = identify(self._root)
        self._file_prefix = fingerprint[:16]
        self._below, self._capacity = below, capacity
        self._rows: NDArray[np.void] | None = None
        """The rows of the file when it was last mapped; None before that."""
        self._row_by_key: dict[bytes, int] = {}
        self._inode = 0

    @classmethod
    def share(
        cls, archive: Path, fingerprint: str, documents: int, kind: str = "", below: "VectorCache | None" = None,
        older: "VectorCache | None" = None,
    ) -> Self:  # fmt: skip
        """Return the cache of an encoder's vectors of an archive's documents, shared by all commands.

        documents: their number, which limits the size of the cache. kind: the folder of other texts than documents.
        older: a cache that may have read the same file, whose keys are then not read again.
        """
        folder = archive / SHARED_FOLDER / kind
        with suppress(FileNotFoundError):  # another process may remove the same files
            files = sorted(folder.glob("*.vectors"), key=lambda file: -file.stat().st_mtime)
            for old in [file for file in files if not file.name.startswith(fingerprint[:16])][MAX_ENCODERS - 1 :]:
                old.unlink()
        cache = cls(folder, fingerprint, below, max(MIN_CAPACITY, ROWS_PER_DOCUMENT * documents), archive)
        if older and (older.folder, older._identity) == (folder, cache._identity):
            cache._rows, cache._row_by_key, cache._inode = older._rows, older._row_by_key, older._inode
            cache._open_existing()
        return cache

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Return None for other processes: they return the vectors they encode, and this process appends them."""
        return type(None), ()

    def get_or_encode(self, texts: Sequence[str], encode: Callable[[Sequence[str]], Floats32]) -> Floats32:
        """Return the vectors of texts, (texts, dim); `encode` computes missing ones. Raises ArchiveError."""
        keys = list(map(_compute_key, texts))
        vectors = self._read(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        if new:
            encoded = encode(list(new.values()))
            self._append(list(new), encoded)
            vectors |= zip(new, encoded, strict=True)
        return np.stack([vectors[key] for key in keys]) if keys else encode(())

    def find_missing(self, texts: Sequence[str]) -> list[int]:
        """Return the places of the texts whose vectors are not stored."""
        known = self._read(keys := list(map(_compute_key, texts)))
        return [place for place, key in enumerate(keys) if key not in known]

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Floats32]:
        """Return the vectors of the keys that are in the cache."""
        found = self._below._read(keys) if self._below else {}
        if self._rows is None:
            self._open_existing()
        places = {key: row for key in keys if key not in found and (row := self._row_by_key.get(key)) is not None}
        if places and self._rows is not None:
            found |= zip(places, np.array(self._rows["vector"][list(places.values())]), strict=True)
        return found

    def _append(self, keys: Sequence[bytes], vectors: Floats32) -> None:
        dim = vectors.shape[1]
        path = self.folder / f"{self._file_prefix}-{dim}.vectors"
        with folder_errors(self.folder, "computed vectors are cached there: free some space or change its permissions"):
            self._require_in_place()
            make_folders(self._root, self.folder)
            self._require_in_place()
            with _lock_folder(self.folder):
                if self._rows is not None and self._capacity and len(self._rows) + len(keys) > self._capacity:
                    path.unlink(missing_ok=True)
                with open(path, "ab") as file:
                    old = self._map_rows(path, dim)
                    rows = np.zeros(len(keys), old.dtype)
                    rows["key"] = np.array(keys, f"V{KEY_BYTES}")
                    rows["vector"] = vectors
                    file.truncate(old.nbytes)  # an incomplete row of a killed process
                    file.write(rows.tobytes())
                    file.flush()
                    self._map_rows(path, dim)

    def _require_in_place(self) -> None:
        if identify(self._root) != self._identity:
            raise FileNotFoundError(f"{self._root} was removed, moved or replaced")

    def _open_existing(self) -> None:
        """Map the encoder's file if there is one."""
        for path in self.folder.glob(f"{self._file_prefix}-*.vectors"):
            with folder_errors(path, "change its permissions"):
                self._map_rows(path, int(path.stem.rpartition("-")[2]))

    def _map_rows(self, path: Path, dim: int) -> NDArray[np.void]:
        """Map all complete rows of the file, and read the keys of rows appended since the last call."""
        stat = os.stat(path)
        dtype = np.dtype([("key", f"V{KEY_BYTES}"), ("vector", np.float32, (dim,))])
        if stat.st_ino != self._inode:  # the first time, or another process has emptied the cache
            self._rows, self._row_by_key, self._inode = None, {}, stat.st_ino
        known = 0 if self._rows is None else len(self._rows)
        count = stat.st_size // dtype.itemsize
        rows = np.memmap(path, dtype, "r", shape=count) if count else np.zeros(0, dtype)
        keys = rows["key"][known:].tobytes()
        starts = range(0, len(keys), KEY_BYTES)
        self._rows = rows
        self._row_by_key |= {keys[start : start + KEY_BYTES]: row for row, start in enumerate(starts, known)}
        return rows


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, exclusive among threads and processes."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


class RecentVectors(VectorCache):
    """The vectors of the texts that were encoded last, in memory: a sentence is classified before it is searched."""

    def __init__(self) -> None:
        self._vectors: dict[bytes, Floats32] = {}

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Floats32]:
        known = self._vectors  # other threads may replace it
        return {key: known[key] for key in keys if key in known}

    def _append(self, keys: Sequence[bytes], vectors: Floats32) -> None:
        self._vectors = dict([*self._vectors.items(), *zip(keys, vectors, strict=True)][-MAX_RECENT:])


def _compute_key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


@dataclass(frozen=True)
class LookupTable:
    """The rows that an encoder adds up for the vectors of queries, as data: for what does the same elsewhere.

    The rows of a text are those of its first `longest` words at white space: see `text/features/hashed_ngrams.py`.
    """

    vectors: NDArray[Any]
    """(rows, dim), float16 or float32."""
    weights: NDArray[np.float32]
    """(rows,)"""
    counts: RowCounts
    subwords: Sequence[str]
    """Those of the first rows, in the order in which pairs of them are joined."""
    longest: int
    lower_case: bool
    """Whether words are in lower case before they are divided into subwords."""
    function_words: Sequence[Collection[str]]
    """Of each language those that have no rows in a text of it, English first; empty if all have rows."""
    for_documents: bool
    """Whether documents are looked up, too."""
    read: Callable[[Sequence[Question | Answer]], tuple[NDArray[np.int32], NDArray[np.int64]]]
    """Returns the concatenated rows of texts, and the start of each text's (one offset more than texts)."""


class Encoder(ABC):
    """Turns texts, each independently, into vectors whose scores are the similarity of the texts.

    A subclass defines `from_settings`, `fingerprint` and `encode_queries`; everything else has a default.
    """

    trained_until: str | None = None
    """ISO date of the newest text or link in the training data; None if untrained."""
    learned_labels: LearnedLabels = LearnedLabels()
    """The labels that it was trained on, and must not be evaluated on."""
    lexical_weight: float = 0.7
    """Weight of the lexical ranker in a hybrid, in which this encoder has weight 1. Measured with packaged vectors."""
    languages: Sequence[str] | None = None
    """ISO 639-1 codes of the languages that it knows; None for all. For others, hybrids rely more on words."""
    lexical_power: int | None = None
    """The power of a lexical score that counts by itself in a hybrid, see `HybridSearcher`; None: none does."""
    compares_fields: bool = False
    """Whether its vectors of titles and of whole texts are comparable, so that hybrids search both."""
    title_weight: float = 1.0
    """Weight of the titles' similarity next to that of whole texts, which is 1. Measured with packaged vectors."""
    min_score: float | None = None
    """The score below which a document is off topic; None if it was not measured."""
    unrelated_score: float = 0.0
    """The score of texts that have nothing in common, which is 0 as an absolute score."""
    unrelated_texts: Sequence[str] = ()
    """Texts in several languages that have nothing in common; none for an encoder that compares no languages.

    For a query in another language than the texts, its mean similarity to these is 0 as an absolute score.
    """
    courtesy_share: float = 0.0
    """Share of the mean vector of its language's courtesies that is subtracted from a query's; see `DenseSearcher`."""
    talk_direction: str | None = None
    """The name of the direction of talk in its vectors, see `text/talk.py`; None if it is not known."""
    can_approximate: bool = False
    """Whether `approximate_documents` is much faster than `encode_documents`."""

    @classmethod
    @abstractmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """Return an encoder with these settings. Raises SettingsError for an unknown setting or a missing package."""

    @classmethod
    def open(cls, folder: Path, values: Mapping[str, Any]) -> Self:
        """Open the trained encoder in a folder of `models/`. Raises InputError if it cannot be read."""
        raise SettingsError(f"{folder.name}: this kind of encoder has no trained models")

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A digest of everything that determines the vectors; an index refuses vectors with another fingerprint."""

    @property
    def document_fingerprint(self) -> str:
        """The same for documents alone; encoders with equal vectors of documents share an index."""
        return self.fingerprint

    @property
    def values(self) -> Mapping[str, Any]:
        """The settings that can be chosen when the encoder is used, including defaults."""
        return {}

    @property
    def lookup(self) -> LookupTable | None:
        """The table in which it looks queries up; None for an encoder that computes their vectors."""
        return None

    @property
    def indexable(self) -> bool:
        """Whether scores are computed from vectors alone; otherwise it is a PairScorer, which scores each pair."""
        return True

    def fit(self, view: TrainingView) -> "Encoder":
        """Learn from the view's texts and return the fitted encoder, which is itself if there is nothing to learn."""
        return self

    @abstractmethod
    def encode_queries(self, texts: Sequence[Question | Answer]) -> Vectors:
        """Return the vectors of n texts: n rows in every part. A text without words gets zeros.

        Raises NotFittedError if the encoder must be fitted first.
        """

    def encode_documents(self, texts: Sequence[Question | Answer]) -> Vectors:
        """Return the vectors of n texts as documents, by default the same as those of queries."""
        return self.encode_queries(texts)

    def approximate_documents(self, texts: Sequence[Question | Answer]) -> Vectors:
        """Return vectors close to those of `encode_documents`, for documents that are not encoded yet."""
        return self.encode_documents(texts)

    @property
    def generator(self) -> "AnswerGenerator | None":
        """The writer of answers to questions; None for an encoder that was not trained to, the default."""
        return None

    def share_vectors(self, archive: Path, documents: int) -> VectorCache | None:
        """Use the shared cache of an archive's document vectors, and return it; None without a cache, the default.

        documents: their number.
        """
        return None


class AnswerGenerator(Protocol):
    """Writes answers to questions: a part of some trained encoders."""

    def write(self, question: Question) -> str:
        """Return an answer; empty if the question has no word that it knows."""

    def perplexity(self, pairs: Sequence[tuple[Question, Answer]]) -> float:
        """Return exp of the mean negative log-likelihood per word of these answers."""


class DistinctWords(NamedTuple):
    """The n distinct words of some texts."""

    forms: NDArray[np.int64]
    """(n,): see WordRows."""
    vectors: Matrix[np.float32]
    """(n, dim): the contribution of each to a text's vector."""
    places: NDArray[np.int64]
    """(words of the texts): the place of each word among the distinct ones."""


class TextWords(NamedTuple):
    """The words of some texts, separated by white space, and the rows of a matrix whose sums are their vectors."""

    known: Sequence[str]
    """Words by their numbers, among them those of the texts."""
    rows: WordRows
    tokens: Tokens
    """The number of each word of the first text, then of the second, and so on, and its offset in its text."""
    skipped: NDArray[np.bool_]
    """Whether each of these words has no rows in its text."""
    matrix: WeightedRows

    @property
    def vectors(self) -> NDArray[np.float32]:
        """(words of the texts, dim): the contribution of each to its text's vector."""
        distinct = self.distinct()
        return distinct.vectors[distinct.places]

    def distinct(self) -> "DistinctWords":
        """Return the distinct words of the texts. A word that is skipped in some of them counts as two."""
        keys, places = number_distinct(2 * self.tokens.numbers + self.skipped)
        numbers, skipped = keys // 2, keys % 2
        ends = self.rows.ends
        vectors = self.matrix.sum(self.rows.rows, ends[numbers], ends[numbers + 1 - skipped])
        return DistinctWords(self.rows.forms[numbers], vectors, places)

    @classmethod
    def in_context(cls, words: Sequence[Sequence[str]], vectors: NDArray[np.float32]) -> Self:
        """Return the words of each text, each with its own row, as their vectors depend on the words around them.

        The words of a text are separated by one space.
        """
        every = list(chain.from_iterable(words))
        count = len(every)
        numbers = number_forms()
        forms = np.array([numbers[find_form(word).folded] for word in every], np.int64)
        starts = np.array([start for own in words for start in _word_starts(own)], np.int64)
        ends = np.array([*accumulate(map(len, words), initial=0)], np.int64)
        function_languages = np.array(list(map(find_function_languages, every)), np.uint8)
        rows = WordRows(forms, np.arange(count, dtype=np.int32), np.arange(count + 1), function_languages)
        matrix = WeightedRows.of_vectors(vectors, np.ones(count, np.float32))
        return cls(every, rows, Tokens(np.arange(count), starts, ends), np.zeros(count, np.bool_), matrix)


def _word_starts(words: Sequence[str]) -> list[int]:
    return list(accumulate((len(word) + 1 for word in words[:-1]), initial=0)) if words else []


def concatenate_parts(vectors: Vectors) -> "NDArray[np.float32] | csr_array":
    """Concatenate all parts into one, whose dot products are the scores. Raises SettingsError for Euclidean parts."""
    parts = []
    for part in vectors.parts:
        if part.metric == "euclidean" or part.weight < 0:
            raise SettingsError("expected vectors compared by cosine or dot product, with weights above 0")
        values = part.values
        if part.metric == "cosine":
            squares = values.multiply(values) if part.is_sparse else values * values
            lengths = np.sqrt(np.asarray(squares.sum(1), np.float32)).reshape(-1, 1)
            inverse = (1 / np.maximum(lengths, 1e-12)).astype(np.float32)
            values = values.multiply(inverse).tocsr() if part.is_sparse else values * inverse
        parts.append(values if part.weight == 1 else values * np.float32(np.sqrt(part.weight)))
    if any(part.is_sparse for part in vectors.parts):
        from scipy.sparse import hstack  # slow to import

        return hstack(parts, format="csr")
    return np.concatenate(parts, 1) if len(parts) > 1 else parts[0]
