"""Why two texts have like vectors, word by word, where an encoder can tell; else the score as a whole."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askalike.encoders import Encoder
from askalike.types import Answer, Contribution, Explanation, Question, Span

LEAST_SUM = 1e-9  # of products: less cannot be shared out
ALIKE = 0.4  # the cosine from which two words are shown beside each other


@runtime_checkable
class Additive(Protocol):
    """An encoder whose vector of a text is the sum of what its words add."""

    def text(self, text: Question | Answer) -> str:
        """What of a question or an answer is encoded, plain."""

    def words(self, text: str) -> Sequence[Any]:
        """The words of a plain text: start, end and vector of each."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a field, where it stands there, and what it adds to the text's vector."""

    text: str
    span: Span
    vector: NDArray[np.float32]


def explained(
    encoder: Encoder, name: str, query: Question, fields: Mapping[str, Question], score: float
) -> Explanation:
    """What each word of the query adds to the score; `fields` are those of the document, each as its own text.

    A vector that is a sum of words' vectors makes the score a sum over the query's words.
    """
    whole = (Contribution(name, (), score),) if score else ()
    if not isinstance(encoder, Additive):
        return Explanation(score, whole)
    texts = {field: encoder.text(text) for field, text in fields.items()}
    asked = list(_words(encoder, "query", encoder.text(query)))
    found = [word for field, text in texts.items() for word in _words(encoder, field, text)]
    total = np.sum([word.vector for word in found], axis=0)
    added = np.array([word.vector @ total for word in asked], np.float64) if found else np.empty(0)
    if not score or abs(added.sum()) < LEAST_SUM:
        return Explanation(score, whole, (), texts)
    nearest = list(map(_Found.of(found).nearest, asked))
    shares = added * (score / added.sum())
    rows = [
        Contribution(_pair(word, other), (other.span.field,) if other else (), float(share))
        for word, other, share in zip(asked, nearest, shares, strict=True)
    ]
    spans = {other.span: None for other in nearest if other}
    return Explanation(score, tuple(sorted(rows, key=lambda c: -c.score)), tuple(spans), texts)


def _words(encoder: Additive, field: str, text: str) -> Iterator[_Word]:
    """The words with what each adds, without the signs around them."""
    for word in encoder.words(text):
        shown = text[word.start : word.end]
        start = word.start + next((i for i, c in enumerate(shown) if c.isalnum()), 0)
        end = word.end - next((i for i, c in enumerate(reversed(shown)) if c.isalnum()), 0)
        yield _Word(text[start:end], Span(field, start, end), word.vector)


@dataclass(frozen=True, slots=True)
class _Found:
    """The words of a document, and what comparing others with them needs, once for all."""

    words: Sequence[_Word]
    vectors: NDArray[np.float32]
    lengths: NDArray[np.float32]
    folded: NDArray[np.object_]

    @classmethod
    def of(cls, words: Sequence[_Word]) -> "_Found":
        vectors = np.array([word.vector for word in words])
        folded = np.array([word.text.casefold() for word in words], np.object_)
        return cls(words, vectors, np.linalg.norm(vectors, axis=1), folded)

    def nearest(self, word: _Word) -> _Word | None:
        """The word most like it, if it is like it at all; the same word before all others."""
        lengths = self.lengths * np.linalg.norm(word.vector)
        alike = self.vectors @ word.vector / np.where(lengths > 0, lengths, 1)
        alike += 2.0 * (self.folded == word.text.casefold())
        return self.words[int(alike.argmax())] if alike.max() >= ALIKE else None


def _pair(word: _Word, other: _Word | None) -> str:
    if other is None or other.text.casefold() == word.text.casefold():
        return word.text
    return f"{word.text} ≈ {other.text}"
