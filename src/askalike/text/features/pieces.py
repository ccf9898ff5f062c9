"""Texts as rows of pieces: subwords, hashed words and hashed pairs of words, as the static encoder adds them up."""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.config import Settings
from askalike.errors import SettingsError
from askalike.text.bpe import Bpe
from askalike.text.clean import plain_text
from askalike.text.features._features import Text
from askalike.text.features._ragged import Ragged
from askalike.text.packaged import packaged
from askalike.text.pieces import WORD, Lookup, Sizes
from askalike.text.vocabulary import RESERVED
from askalike.types import Answer, Markup

TOKENIZER = "tokenizer.json"
CHUNK = 1_000


class LookupSettings(Settings):
    """What becomes of a text before it is looked up."""

    code: Literal["drop", "keep"] = Field("drop", description="whether code counts")
    links: Literal["token", "keep"] = Field("token", description="whether a link counts as one word, or as its parts")
    longest: int = Field(
        128, ge=1, description="how many words of a text are looked up: its beginning says what it asks"
    )
    lower_case: bool = Field(False, description="whether subwords are looked up in lower case")


class PieceSettings(LookupSettings):
    """That, what of a question is looked up, and how many rows there are of each kind."""

    fields: Literal["title", "body", "title,body"] = Field("title,body", description="what of a question is read")
    subwords: int = Field(0, ge=0, description="rows of the tokenizer's vocabulary")
    words: int = Field(0, ge=0, description="rows of hashed words")
    bigrams: int = Field(0, ge=0, description="rows of hashed pairs of words")

    @property
    def sizes(self) -> Sizes:
        """How many rows there are."""
        return Sizes(self.subwords, self.words, self.bigrams)


class Pieces:
    """Pieces by their rows; to a network row n is number n + RESERVED."""

    Settings: ClassVar[type[PieceSettings]] = PieceSettings

    def __init__(
        self, settings: PieceSettings, bpe: Bpe | None, texts: Iterable[Text] = (), tokenizer: Path | None = None
    ) -> None:
        self.settings = settings
        self.lookup = Lookup(settings.sizes, bpe, settings.lower_case)
        self._bpe = bpe
        self._tokenizer = tokenizer
        self._counts = np.zeros(settings.sizes.rows, np.int64)
        self._total = 0
        self._names: Counter[str] = Counter()
        for chunk in _chunks(texts):
            self._count(chunk)

    @classmethod
    def learn(cls, settings: PieceSettings, texts: Iterable[Text]) -> Self:
        """Counts how many texts hold each piece. Subwords are those of the packaged vectors. Raises SettingsError."""
        if not settings.sizes.rows:
            raise SettingsError("features: no rows; set words, bigrams or subwords")
        tokenizer = packaged()[1] if settings.subwords else None
        bpe = Bpe.read(tokenizer) if tokenizer else None
        if len(bpe or ()) != settings.subwords:
            raise SettingsError(
                f"features.subwords={settings.subwords}: expected 0 or {len(bpe or ())}, the tokenizer's"
            )
        return cls(settings, bpe, texts, tokenizer)

    @classmethod
    def load(cls, settings: PieceSettings, directory: Path) -> Self:
        """With the tokenizer in a model's directory."""
        path = directory / TOKENIZER
        return cls(settings, Bpe.read(path) if settings.subwords else None, (), path)

    def save(self, directory: Path) -> None:
        """Copies the tokenizer, where there are subwords."""
        if self._tokenizer:
            shutil.copyfile(self._tokenizer, directory / TOKENIZER)

    @property
    def tokens(self) -> Sequence[str]:
        """What each number stands for: a subword as the tokenizer has it, the commonest word of a row, "" for pairs."""
        subwords = self._bpe.pieces if self._bpe else ()
        words = [""] * self.settings.words
        for word, _ in reversed(self._names.most_common()):
            words[self.lookup.row_of(word) - self.settings.subwords] = word
        return ["", "", *subwords, *words, *[""] * self.settings.bigrams]

    @property
    def idf(self) -> NDArray[np.float32]:
        """log(texts / texts with the piece) of each number; of a piece in no text as if it were in one."""
        found = np.log(max(self._total, 1) / np.maximum(self._counts, 1)).astype(np.float32)
        return np.concatenate((np.zeros(RESERVED, np.float32), found))

    def text(self, text: Text) -> str:
        """What of a text is looked up: the beginning of title and body, plain; "" without a word."""
        texts = []
        if not isinstance(text, Answer) and "title" in self.settings.fields:
            texts.append(self._plain(text.title, "text"))
        if text.body and (isinstance(text, Answer) or "body" in self.settings.fields):
            texts.append(self._plain(text.body, text.markup))
        words = " ".join(texts).split(maxsplit=self.settings.longest)[: self.settings.longest]
        return " ".join(words) if any(map(WORD.search, words)) else ""

    def words(self, text: Text) -> list[str]:
        """The words of one text."""
        return WORD.findall(self.text(text).lower())

    def rows(self, texts: Iterable[Text]) -> Ragged:
        """The texts as numbers."""
        rows, offsets = self.lookup([self.text(text) for text in texts])
        return Ragged(rows + np.int32(RESERVED), offsets)

    def _plain(self, text: str, markup: Markup) -> str:
        return plain_text(text, markup, code=self.settings.code, links=self.settings.links)

    def _count(self, texts: Sequence[Text]) -> None:
        plain = [self.text(text) for text in texts]
        rows, offsets = self.lookup(plain)
        numbered = np.repeat(np.arange(len(plain)), np.diff(offsets)) * len(self._counts) + rows
        self._counts += np.bincount(np.unique(numbered) % len(self._counts), minlength=len(self._counts))
        self._total += len(plain)
        if self.settings.words:
            self._names.update(word for text in plain for word in WORD.findall(text.lower()))


def _chunks(texts: Iterable[Text]) -> Iterator[list[Text]]:
    rest = iter(texts)
    return iter(lambda: list(islice(rest, CHUNK)), [])
