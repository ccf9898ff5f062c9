"""Why two texts have like vectors, word by word: as the encoder can tell, else by leaving words out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askalike.encoders import Encoder
from askalike.encoders._traced import Traced
from askalike.rankers._occlusion import by_vectors, occluded
from askalike.rankers._windows import traced
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


@runtime_checkable
class Tracing(Protocol):
    """An encoder that may know which stretch of a text makes each number of its vector."""

    def traced(self, texts: Sequence[Question | Answer]) -> Sequence[Traced] | None:
        """What of each text makes its vectors; None where it cannot be told."""


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

    A vector that is a sum of words' vectors makes the score a sum over the query's words, one whose numbers are each
    some window's a sum over windows. Of any other encoder it is what the score loses without each word.
    """
    if not isinstance(encoder, Additive):
        return _by_network(encoder, name, query, fields, score)
    whole = (Contribution(name, (), score),) if score else ()
    texts = {field: encoder.text(text) for field, text in fields.items()}
    asked = list(_words(encoder, "query", encoder.text(query)))
    found = [word for field, text in texts.items() for word in _words(encoder, field, text)]
    total = np.sum([word.vector for word in found], axis=0)
    added = np.array([word.vector @ total for word in asked], np.float64) if found else np.empty(0)
    if not score or abs(added.sum()) < LEAST_SUM:
        return Explanation(score, whole, (), texts)
    nearest = _Found.of(found).nearest(asked)
    shares = added * (score / added.sum())
    rows = [
        Contribution(_pair(word, other), (other.span.field,) if other else (), float(share))
        for word, other, share in zip(asked, nearest, shares, strict=True)
    ]
    spans = {other.span: None for other in nearest if other}
    return Explanation(score, tuple(sorted(rows, key=lambda c: -c.score)), tuple(spans), texts)


def _by_network(
    encoder: Encoder, name: str, query: Question, fields: Mapping[str, Question], score: float
) -> Explanation:
    if not fields:
        return Explanation(score, (Contribution(name, (), score),) if score else ())
    document = _whole(fields)
    found = encoder.traced([query, document]) if isinstance(encoder, Tracing) else None
    if found is None:
        reason = occluded(by_vectors(encoder), name, query, {"": document}, {"": score})[""]
        return _named(reason, fields)
    plain = found[1].text.split("\n", 1) if len(fields) > 1 else [found[1].text]
    return traced(found[0], found[1], dict(zip(fields, plain, strict=False)), score)


def _whole(fields: Mapping[str, Question]) -> Question:
    """The document that these are the fields of."""
    first, last = next(iter(fields.values())), list(fields.values())[-1]
    return replace(first, body=last.body, markup=last.markup)


def _named(reason: Explanation, fields: Mapping[str, Question]) -> Explanation:
    """Where the only field is a rephrasing, its title goes by that name."""
    if "rephrasing" not in fields:
        return reason
    names = {"title": "rephrasing"}
    spans = tuple(replace(span, field=names.get(span.field, span.field)) for span in reason.spans)
    return replace(reason, spans=spans, text={names.get(f, f): text for f, text in reason.text.items()})


def _words(encoder: Additive, field: str, text: str) -> Iterator[_Word]:
    """The words with what each adds, without the signs around them."""
    for word in encoder.words(text):
        shown, start, end = text[word.start : word.end], word.start, word.end
        if not shown.isalnum():
            start += next((i for i, c in enumerate(shown) if c.isalnum()), 0)
            end -= next((i for i, c in enumerate(reversed(shown)) if c.isalnum()), 0)
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

    def nearest(self, asked: Sequence[_Word]) -> list[_Word | None]:
        """Of each word the one most like it, if any is like it at all; the same word before all others."""
        vectors = np.array([word.vector for word in asked])
        lengths = np.outer(np.linalg.norm(vectors, axis=1), self.lengths)
        alike = vectors @ self.vectors.T / np.where(lengths > 0, lengths, 1)
        alike += 2.0 * (np.array([[word.text.casefold()] for word in asked], np.object_) == self.folded)
        best = alike.argmax(axis=1)
        return [self.words[n] if row[n] >= ALIKE else None for n, row in zip(best.tolist(), alike, strict=True)]


def _pair(word: _Word, other: _Word | None) -> str:
    if other is None or other.text.casefold() == word.text.casefold():
        return word.text
    return f"{word.text} ≈ {other.text}"
