"""Texts as the rows that a static encoder adds up: subwords, hashed words, and hashed pairs of adjacent words.

Rows 0 … subwords − 1 are the tokenizer's subwords; the rows of words follow, then those of pairs.
"""

import shutil
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.core.arrays import Array
from askalike.core.config import Settings
from askalike.core.errors import SettingsError
from askalike.core.iteration import chunks
from askalike.native.compiled import Matrix, compiled, inlined, widen
from askalike.text.clean import CodeRule, plain_fields, plain_text
from askalike.text.features import RESERVED, RaggedArray, Text
from askalike.text.language import find_function_languages
from askalike.text.subwords import Bpe, find_packaged_vectors
from askalike.text.tokens import GrowingArray, Tokens, TokenTable
from askalike.text.words import WORD, find_form, hash_word

TOKENIZER_FILE = "tokenizer.json"
CHUNK_SIZE = 1_000
MAX_CACHED_WORDS = 1 << 20


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The numbers of rows for subwords, hashed words and hashed pairs; 0 leaves a kind out."""

    subwords: int
    words: int = 0
    bigrams: int = 0

    @property
    def total(self) -> int:
        """The total number of rows."""
        return self.subwords + self.words + self.bigrams


class WordRows(NamedTuple):
    """What is known of n words by their numbers: each has rows of a matrix, the first ones `rows[: ends[1]]`."""

    forms: NDArray[np.int64]
    """(n,): equal for words that differ only in case and surrounding punctuation; 0 without letters and digits."""
    rows: NDArray[np.int32]
    ends: NDArray[np.int64]
    """(n + 1,): the index of each word's first row, and that after the last word's last."""
    function_languages: NDArray[np.uint8]
    """(n,): see find_function_languages."""


class WeightedRows(NamedTuple):
    """A matrix in 16 or in 32 bits, the other one without rows, and the weights of its rows.

    16-bit rows are converted one by one: converting all of them takes longer than a search.
    """

    halves: Matrix[np.uint16]
    singles: Matrix[np.float32]
    weights: NDArray[np.float32]

    @classmethod
    def of_vectors(cls, vectors: Array, weights: NDArray[np.float32]) -> Self:
        """vectors: float16 or float32, (rows, dim)."""
        if vectors.dtype == np.float16:
            return cls(vectors.view(np.uint16), np.empty((0, vectors.shape[1]), np.float32), weights)
        return cls(np.empty((0, vectors.shape[1]), np.uint16), vectors, weights)

    def sum(self, rows: NDArray[np.int32], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the weighted sum of each text's rows, added in order: float32 (texts, dim).

        starts, ends: (texts), the bounds of each text's rows in `rows`.
        """
        sums = np.empty((len(starts), self.halves.shape[1]), np.float32)
        _sum_texts(rows, starts, ends, self, sums)
        return sums


class PlainTextSettings(Settings):
    """Settings of the preparation of a text for lookup."""

    code: CodeRule = Field("keep", description="whether code is read")
    links: Literal["token", "keep"] = Field("token", description="whether a link is read as one word or as its parts")
    longest: int = Field(128, ge=1, description="maximum number of words read from a text")
    lower_case: bool = Field(False, description="whether texts are lower-cased before they are divided into subwords")


class HashedNgramSettings(PlainTextSettings):
    """Preparation of texts, the fields of a question that are looked up, and the number of rows of each kind."""

    code: CodeRule = Field("drop", description="whether code is read")
    fields: Literal["title", "body", "text"] = Field("text", description="the fields that are read (text: both)")
    subwords: int = Field(0, ge=0, description="number of rows for the tokenizer's subwords; 0: none are used")
    words: int = Field(0, ge=0, description="number of rows for hashed words; 0: none are used")
    bigrams: int = Field(0, ge=0, description="number of rows for hashed pairs of adjacent words; 0: none are used")

    @property
    def row_counts(self) -> RowCounts:
        """The numbers of rows."""
        return RowCounts(self.subwords, self.words, self.bigrams)


class HashedNgramFeatures:
    """Subwords and hashed n-grams by their rows; the id of row n in a network is n + RESERVED."""

    Settings: ClassVar[type[HashedNgramSettings]] = HashedNgramSettings

    def __init__(
        self, settings: HashedNgramSettings, bpe: Bpe | None, texts: Iterable[Text] = (), tokenizer: Path | None = None,
        skips_function_words: bool = False,
    ) -> None:  # fmt: skip
        """skips_function_words: see NgramLookup."""
        self.settings = settings
        self.lookup = NgramLookup(settings.row_counts, bpe, settings.lower_case, skips_function_words)
        self._bpe, self._tokenizer = bpe, tokenizer
        self._to_plain = partial(plain_text, code=settings.code, links=settings.links)
        self._text_counts = np.zeros(settings.row_counts.total, np.int64)
        self._total_texts = 0
        self._word_counts: Counter[str] = Counter()
        for chunk in chunks(texts, CHUNK_SIZE):
            self._count_texts(chunk)

    @classmethod
    def from_texts(cls, settings: HashedNgramSettings, texts: Iterable[Text]) -> Self:
        """Count the texts with each row. Subwords are those of the packaged vectors. Raises SettingsError."""
        if not settings.row_counts.total:
            raise SettingsError("features: no rows; set words, bigrams or subwords")
        tokenizer = find_packaged_vectors()[1] if settings.subwords else None
        bpe = Bpe.from_file(tokenizer) if tokenizer else None
        if len(bpe or ()) != settings.subwords:
            expected = f"expected 0 or {len(bpe or ())}, the tokenizer's"
            raise SettingsError(f"features.subwords={settings.subwords}: {expected}")
        return cls(settings, bpe, texts, tokenizer)

    @classmethod
    def load(cls, settings: HashedNgramSettings, directory: Path) -> Self:
        """Return features with the tokenizer in a model's directory."""
        path = directory / TOKENIZER_FILE
        return cls(settings, Bpe.from_file(path) if settings.subwords else None, (), path)

    def save(self, directory: Path) -> None:
        """Copy the tokenizer if there are subwords."""
        if self._tokenizer:
            shutil.copyfile(self._tokenizer, directory / TOKENIZER_FILE)

    @property
    def tokens(self) -> Sequence[str]:
        """The token of each id: the tokenizer's subword, the most frequent word of a row, "" for pairs."""
        subwords = self._bpe.subwords if self._bpe else ()
        words = [""] * self.settings.words
        for word, _ in reversed(self._word_counts.most_common()):
            words[self.lookup.word_row(word) - self.settings.subwords] = word
        return ["", "", *subwords, *words, *[""] * self.settings.bigrams]

    @property
    def idf(self) -> NDArray[np.float32]:
        """log(texts / texts with the row) of each id; a row in no text counts as being in one."""
        idf = np.log(max(self._total_texts, 1) / np.maximum(self._text_counts, 1)).astype(np.float32)
        return np.concatenate((np.zeros(RESERVED, np.float32), idf))

    def extract_text(self, text: Text) -> str:
        """Return the plain text that is looked up, the beginning of title and body; "" for a text without words."""
        fields = plain_fields(text, self.settings.fields, self._to_plain)
        words = " ".join(fields).split(maxsplit=self.settings.longest)[: self.settings.longest]
        return " ".join(words) if any(map(WORD.search, words)) else ""

    def split_words(self, text: Text) -> list[str]:
        """Return the words of one text."""
        return WORD.findall(self.extract_text(text).lower())

    def encode(self, texts: Iterable[Text]) -> RaggedArray:
        """Return the texts as ids."""
        rows, offsets = self.lookup([self.extract_text(text) for text in texts])
        return RaggedArray(rows + np.int32(RESERVED), offsets)

    def _count_texts(self, texts: Sequence[Text]) -> None:
        plain = [self.extract_text(text) for text in texts]
        rows, offsets = self.lookup(plain)
        numbered = np.repeat(np.arange(len(plain)), np.diff(offsets)) * len(self._text_counts) + rows
        self._text_counts += np.bincount(np.unique(numbered) % len(self._text_counts), minlength=len(self._text_counts))
        self._total_texts += len(plain)
        if self.settings.words:
            self._word_counts.update(word for text in plain for word in WORD.findall(text.lower()))


class NgramLookup:
    """Looks up the rows of texts. It caches words, since words repeat; a lock makes it thread-safe."""

    def __init__(
        self, row_counts: RowCounts, bpe: Bpe | None, lower_case: bool = False, skips_function_words: bool = False
    ) -> None:
        """skips_function_words: function words have no rows in texts of other languages than English that have a list.

        A text is in the language with the most function words in it, English if there are as many of it. A text of
        function words alone keeps them.
        """
        self.row_counts = row_counts
        self._bpe = bpe
        self._lower_case, self._skips_function_words = lower_case, skips_function_words
        self._lock = threading.Lock()
        self._clear_cache()

    def __call__(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the concatenated rows of all texts, and the start of each text's (one offset more than texts)."""
        with self._lock:
            cache, tokens, skipped = self._read(texts)
            counts, row_ends, word_ends = self.row_counts, cache.row_ends.values, cache.word_ends.values
            rows = np.empty(_count_rows(tokens.numbers, row_ends, word_ends), np.int32)
            offsets = np.empty(len(tokens.ends), np.int64)
            _make_rows(
                tokens.numbers, tokens.ends, skipped, row_ends, cache.rows.values, word_ends, cache.words.values,
                counts.words > 0, counts.subwords + counts.words, counts.bigrams, rows, offsets,
            )  # fmt: skip
            return rows[: offsets[-1]], offsets

    def look_up_words(self, texts: Sequence[str]) -> tuple[Sequence[str], WordRows, Tokens, NDArray[np.bool_]]:
        """Return all known words, their rows as separate texts, the texts' words, and which of these have no rows."""
        with self._lock:
            cache, tokens, skipped = self._read(texts)
            rows = WordRows(
                cache.forms.values, cache.rows.values, cache.row_ends.values, cache.function_languages.values
            )
        return cache.table.tokens, rows, tokens, skipped

    def _read(self, texts: Sequence[str]) -> tuple["_NgramCache", Tokens, NDArray[np.bool_]]:
        """Return the cache with all tokens of the texts, these, and whether each is a function word without rows."""
        cache = self._cache
        n_known = len(cache.table.tokens)
        tokens = cache.table.number(texts)
        if len(cache.table.tokens) > n_known and not cache.table.has_room(MAX_CACHED_WORDS):
            self._clear_cache()  # this call still reads the old one
        skipped = np.zeros(len(tokens.numbers), np.bool_)
        if self._skips_function_words:
            _mark_function_words(tokens.numbers, tokens.ends, cache.function_languages.values, skipped)
        return cache, tokens, skipped

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments for pickling, without the cached words."""
        return type(self), (self.row_counts, self._bpe, self._lower_case, self._skips_function_words)

    def word_row(self, word: str) -> int:
        """Return the row of a lower-case word, if there are rows for words."""
        return self.row_counts.subwords + hash_word(word) % self.row_counts.words

    def _clear_cache(self) -> None:
        self._cache = _NgramCache(self.row_counts, self._bpe, self._lower_case)


class _NgramCache:
    """Numbers words split at white space, and caches what is looked up by these numbers."""

    def __init__(self, counts: RowCounts, bpe: Bpe | None, lower_case: bool) -> None:
        self._counts, self._bpe, self._lower_case = counts, bpe if counts.subwords else None, lower_case
        self.table = TokenTable(self._learn)
        self.forms = GrowingArray(np.int64)
        """See WordRows."""
        self._number_form = number_forms().__getitem__
        self.function_languages = GrowingArray(np.uint8)
        """See find_function_languages."""
        self.rows, self.row_ends = GrowingArray(np.int32), GrowingArray(np.int64, 0)
        """The rows of a token's subwords, then those of its words."""
        self.words, self.word_ends = GrowingArray(np.uint64), GrowingArray(np.int64, 0)
        """The hashes of a token's words, for pairs."""

    def _learn(self, tokens: Sequence[str]) -> None:
        forms = [token.casefold() if token.isalnum() else find_form(token).folded for token in tokens]
        self.forms.extend([*map(self._number_form, forms)])
        self.function_languages.extend(list(map(find_function_languages, forms)))
        counts = self._counts
        tokens = list(map(str.lower, tokens)) if self._lower_case else tokens
        parts = words = [list[int]()] * len(tokens)
        if self._bpe:
            parts = self._bpe.encode(tokens)
        if counts.words or counts.bigrams:
            words = [list(map(hash_word, WORD.findall(token.lower()))) for token in tokens]
        if counts.words:
            parts = [
                own + [counts.subwords + word % counts.words for word in hashes]
                for own, hashes in zip(parts, words, strict=True)
            ]
        for own, numbers, ends in ((parts, self.rows, self.row_ends), (words, self.words, self.word_ends)):
            ends.extend(ends.values[-1] + np.cumsum(list(map(len, own))))
            numbers.extend(list(chain.from_iterable(own)))


def number_forms() -> defaultdict[str, int]:
    """Return form → number, which numbers new forms from 1; the empty one is 0. See WordRows."""
    return defaultdict(count(1).__next__, {"": 0})


@compiled()
def _mark_function_words(
    tokens: NDArray[np.int64], ends: NDArray[np.int64], languages: NDArray[np.uint8], skipped: NDArray[np.bool_]
) -> None:
    """Mark the function words of each text that is not in English, unless it has no other words."""
    for text in range(len(ends) - 1):
        best = most = 0
        for language in range(8):
            count = 0
            for i in range(ends[text], ends[text + 1]):
                count += (languages[tokens[i]] >> language) & 1
            if count > most:
                best, most = language, count
        if best and most < ends[text + 1] - ends[text]:
            for i in range(ends[text], ends[text + 1]):
                skipped[i] = (languages[tokens[i]] >> best) & 1 == 1


@compiled()
def _count_rows(tokens: NDArray[np.int64], row_ends: NDArray[np.int64], word_ends: NDArray[np.int64]) -> int:
    """Return the number of the tokens' rows and, at most, of the rows of their pairs of words."""
    count = 0
    for i in range(len(tokens)):
        count += row_ends[tokens[i] + 1] - row_ends[tokens[i]]
        count += word_ends[tokens[i] + 1] - word_ends[tokens[i]]
    return count


@compiled()
def _make_rows(
    tokens: NDArray[np.int64], ends: NDArray[np.int64], skipped: NDArray[np.bool_], row_ends: NDArray[np.int64],
    token_rows: NDArray[np.int32], word_ends: NDArray[np.int64], words: NDArray[np.uint64], has_words: bool,
    first_pair: int, n_bigrams: int, rows: NDArray[np.int32], offsets: NDArray[np.int64],
) -> None:  # fmt: skip
    """Write the concatenated rows of all texts, and the start of each text's rows.

    skipped: the tokens without rows. token_rows, words: see _NgramCache. has_words: whether words have rows.
    first_pair: the first row of pairs.
    """
    n = 0
    offsets[0] = 0
    for text in range(len(ends) - 1):
        last = np.uint64(0)
        for i in range(ends[text], ends[text + 1]):
            if skipped[i]:
                continue
            row, end = row_ends[tokens[i]], row_ends[tokens[i] + 1]
            first_word, last_word = word_ends[tokens[i]], word_ends[tokens[i] + 1]
            while row < end - has_words * (last_word - first_word):
                rows[n] = token_rows[row]
                row, n = row + 1, n + 1
            for w in range(first_word, last_word):
                if has_words:
                    rows[n] = token_rows[row]
                    row, n = row + 1, n + 1
                if n_bigrams and last:
                    pair = (last * np.uint64(0x9E3779B97F4A7C15)) ^ words[w]
                    pair = (pair ^ (pair >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
                    rows[n] = first_pair + np.int64((pair >> np.uint64(8)) % np.uint64(n_bigrams))
                    n += 1
                last = words[w]
        offsets[text + 1] = n


@inlined()
def add_rows(rows: NDArray[np.int32], start: int, end: int, matrix: WeightedRows, total: NDArray[np.float32]) -> None:
    """Write the weighted sum of `rows[start:end]` of a matrix, added in order: (dim)."""
    for k in range(len(total)):
        total[k] = np.float32(0)
    for i in range(start, end):
        weight = matrix.weights[rows[i]]
        if len(matrix.halves):
            half = matrix.halves[rows[i]]
            for k in range(len(total)):
                total[k] += weight * widen(half[k])
        else:
            single = matrix.singles[rows[i]]
            for k in range(len(total)):
                total[k] += weight * single[k]


@compiled()
def _sum_texts(
    rows: NDArray[np.int32], starts: NDArray[np.int64], ends: NDArray[np.int64], matrix: WeightedRows,
    sums: Matrix[np.float32],
) -> None:  # fmt: skip
    for text in range(len(starts)):
        add_rows(rows, starts[text], ends[text], matrix, sums[text])
