"""Texts as the word pieces of a pre-trained model's own tokenizer, for fine-tuned transformers."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from askalike import Settings
from askalike.plugin.features import (
    Floats32,
    RaggedArray,
    Text,
    chunks,
    find_model,
    open_tokenizer,
    plain_fields,
    plain_text,
)

TOKENIZER_FILE = "tokenizer.json"
CHUNK_SIZE = 1_000


class WordpieceSettings(Settings):
    """The tokenizer's model, and the limits of a text."""

    tokenizer_of: str = Field("", description="the model with the tokenizer; set by network.encoder")
    fields: Literal["title", "body", "text"] = Field("text", description="the fields that are read (text: both)")
    longest: int = Field(
        128, ge=3, description="maximum number of tokens read from a text, including the model's special tokens"
    )


class WordpieceFeatures:
    """Pieces by the model's own ids, whatever the texts are; all weigh the same. A text without words has none."""

    Settings: ClassVar[type[WordpieceSettings]] = WordpieceSettings

    def __init__(self, settings: WordpieceSettings) -> None:
        self.settings = settings
        path = find_model(settings.tokenizer_of, "network.encoder") / TOKENIZER_FILE
        self._tokenizer = open_tokenizer(path)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(settings.longest)

    @classmethod
    def from_texts(cls, settings: WordpieceSettings, texts: Iterable[Text]) -> Self:
        """Return the features."""
        return cls(settings)

    @classmethod
    def load(cls, settings: WordpieceSettings, directory: Path) -> Self:
        """Return the features."""
        return cls(settings)

    def save(self, directory: Path) -> None:
        """Write nothing: the tokenizer stays with its model."""

    @property
    def idf(self) -> Floats32:
        """1 for each id."""
        return np.ones(len(self.tokens), np.float32)

    @property
    def tokens(self) -> Sequence[str]:
        """The piece of each id."""
        pieces: dict[str, int] = self._tokenizer.get_vocab()
        return sorted(pieces, key=pieces.__getitem__)

    def split_words(self, text: Text) -> list[str]:
        """Return the words of one text."""
        return self._to_plain_text(text).split()

    def encode(self, texts: Iterable[Text]) -> RaggedArray:
        """Return the texts as ids, in their order."""
        rows = []
        for chunk in chunks(texts, CHUNK_SIZE):
            plain_texts = [self._to_plain_text(text) for text in chunk]
            encodings = self._tokenizer.encode_batch(plain_texts)
            rows += [encoding.ids if text else [] for text, encoding in zip(plain_texts, encodings, strict=True)]
        return RaggedArray.from_rows(rows)

    def _to_plain_text(self, text: Text) -> str:
        return " ".join(plain_fields(text, self.settings.fields, plain_text)).strip()
