"""Texts as rows for the static encoder: subwords, hashed words and hashed pairs of words."""

import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.core.config import Settings
from askalike.core.errors import SettingsError
from askalike.core.iteration import chunks
from askalike.core.types import RESERVED
from askalike.text.clean import CodeRule, plain_text
from askalike.text.features import RaggedArray, Text, plain_fields
from askalike.text.hashed_ngrams import NgramLookup, RowCounts
from askalike.text.subwords import Bpe, find_packaged_vectors
from askalike.text.words import WORD

TOKENIZER_FILE = "tokenizer.json"
CHUNK_SIZE = 1_000


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
