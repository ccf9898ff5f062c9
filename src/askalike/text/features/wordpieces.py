"""Texts as the word pieces of a pre-trained model's own tokenizer: what fine-tuned transformers read."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.config import Settings
from askalike.errors import InputError, SettingsError
from askalike.iteration import chunks
from askalike.packages import find_model
from askalike.text.clean import plain_text
from askalike.text.features._features import Text
from askalike.text.features._ragged import RaggedArray
from askalike.types import Answer

TOKENIZER_FILE = "tokenizer.json"
CHUNK_SIZE = 1_000


class WordpieceSettings(Settings):
    """Whose tokenizer, and how much of a text is read."""

    pieces_of: str = Field("", description="the model whose tokenizer it is: network.base says so")
    fields: Literal["title", "body", "title,body"] = Field("title,body", description="what of a question is read")
    longest: int = Field(128, ge=3, description="a text is read up to this piece, the model's own marks included")


class WordpieceFeatures:
    """Pieces by the model's own numbers. A text without a word has none."""

    Settings: ClassVar[type[WordpieceSettings]] = WordpieceSettings

    def __init__(self, settings: WordpieceSettings) -> None:
        self.settings = settings
        self._tokenizer = _load_tokenizer(
            find_model(settings.pieces_of, "network.base") / TOKENIZER_FILE, settings.longest
        )

    @classmethod
    def from_texts(cls, settings: WordpieceSettings, texts: Iterable[Text]) -> Self:
        """Nothing is learned: the tokenizer is the model's."""
        return cls(settings)

    @classmethod
    def load(cls, settings: WordpieceSettings, directory: Path) -> Self:
        """Nothing is kept but the settings."""
        return cls(settings)

    def save(self, directory: Path) -> None:
        """Nothing to keep: the model's folder has its tokenizer."""

    @property
    def tokens(self) -> Sequence[str]:
        """The pieces by number."""
        pieces: dict[str, int] = self._tokenizer.get_vocab()
        return sorted(pieces, key=pieces.__getitem__)

    @property
    def idf(self) -> NDArray[np.float32]:
        """1 for each: they are not counted."""
        return np.ones(len(self.tokens), np.float32)

    def split_words(self, text: Text) -> list[str]:
        """The words of one text."""
        return self._to_plain_text(text).split()

    def encode(self, texts: Iterable[Text]) -> RaggedArray:
        """The texts as numbers, in their order."""
        rows = []
        for chunk in chunks(texts, CHUNK_SIZE):
            plain_texts = [self._to_plain_text(text) for text in chunk]
            encodings = self._tokenizer.encode_batch(plain_texts)
            rows += [encoding.ids if text else [] for text, encoding in zip(plain_texts, encodings, strict=True)]
        return RaggedArray.from_rows(rows)

    def _to_plain_text(self, text: Text) -> str:
        if isinstance(text, Answer):
            return plain_text(text.body, text.markup)
        title = plain_text(text.title, "text") if "title" in self.settings.fields else ""
        body = plain_text(text.body, text.markup) if "body" in self.settings.fields else ""
        return f"{title} {body}".strip()


def _load_tokenizer(path: Path, longest: int) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise SettingsError("tokenizers is not installed: pip install 'askalike[pretrained]'") from None
    try:
        tokenizer = Tokenizer.from_str(json.dumps(json.loads(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a tokenizer ({error}); expected a model with a fast tokenizer") from None
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest)
    return tokenizer
