"""Texts as sets of their words' hashed letter trigrams, for SCQA."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import ClassVar

from pydantic import Field

from askalike.core.types import RESERVED
from askalike.text.features import RaggedArray, Text, TextSettings, UntrainedFeatures, make_analyzer, plain_fields
from askalike.text.words import Tokenizer, hash_word


class TrigramSettings(TextSettings):
    """Stemmed words without function words, as in Das et al. (2016)."""

    tokenizer: Tokenizer = "standard"
    stem: bool = True
    stop_words: bool = True
    trigrams: int = Field(
        8_192, ge=1, description="number of rows that trigrams are hashed to, and width of the dense layer"
    )


class TrigramFeatures(UntrainedFeatures):
    """Letter trigrams of each word with a # before and after it."""

    Settings: ClassVar[type[TrigramSettings]] = TrigramSettings

    def __init__(self, settings: TrigramSettings) -> None:
        super().__init__(settings)
        self._analyzer = make_analyzer(settings)
        self._hash_word_cached = lru_cache(100_000)(self._hash_word)

    @property
    def tokens(self) -> Sequence[str]:
        return [""] * (RESERVED + self.settings.trigrams)

    def split_words(self, text: Text) -> list[str]:
        """Return the words of one text."""
        plain = "\n".join(plain_fields(text, self.settings.fields, self._analyzer.plain_text))
        return self._analyzer.analyze(plain, getattr(text, "language", None))

    def encode(self, texts: Iterable[Text]) -> RaggedArray:
        """Return the texts as sets of ids, ascending."""
        sets = ({n for word in self.split_words(text) for n in self._hash_word_cached(word)} for text in texts)
        return RaggedArray.from_rows(map(sorted, sets))

    def _hash_word(self, word: str) -> tuple[int, ...]:
        marked = f"#{word}#"
        return tuple(hash_word(marked[n : n + 3]) % self.settings.trigrams + RESERVED for n in range(len(marked) - 2))
