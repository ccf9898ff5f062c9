"""Why two texts have like vectors, word by word: as the encoder can tell, else by leaving words out."""

from collections.abc import Callable, Mapping, Sequence
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
    """A word of a field, and where it stands there."""

    text: str
    span: Span


def explained(
    encoder: Encoder, name: str, query: Question, fields: Mapping[str, Question], score: float, reads: "Reads"
) -> Explanation:
    """What each word of the query adds to the score; `fields` are those of the document, each as its own text.

    reads: how the words of an additive encoder are read: `read`, or what remembers some of it.

    A vector that is a sum of words' vectors makes the score a sum over the query's words, one whose numbers are each
    some window's a sum over windows. Of any other encoder it is what the score loses without each word.
    """
    if not isinstance(encoder, Additive):
        return _by_network(encoder, name, query, fields, score)
    whole = (Contribution(name, (), score),) if score else ()
    texts = {field: encoder.text(text) for field, text in fields.items()}
    asked, found = reads(encoder, (("query", encoder.text(query)),)), reads(encoder, tuple(texts.items()))
    if not score or not asked.words or not found.words:
        return Explanation(score, whole, (), texts)
    added = (asked.vectors @ found.vectors.sum(axis=0)).astype(np.float64)
    if abs(added.sum()) < LEAST_SUM:
        return Explanation(score, whole, (), texts)
    shares = added * (score / added.sum())
    nearest = found.nearest(asked)
    rows = [
        Contribution(_pair(word, other), (other.span.field,) if other else (), float(share))
        for word, other, share in zip(asked.words, nearest, shares, strict=True)
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


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text's fields, and what comparing them with others needs."""

    words: Sequence[_Word]
    vectors: NDArray[np.float32]
    """(words, dim): what each adds to the text's vector."""
    lengths: NDArray[np.float32]
    folded: NDArray[np.object_]

    def nearest(self, asked: "Words") -> list[_Word | None]:
        """Of each word of another text the one most like it, if any is like it at all; the same word before all
        others."""
        lengths = np.outer(asked.lengths, self.lengths)
        alike = asked.vectors @ self.vectors.T / np.where(lengths > 0, lengths, 1)
        alike += 2.0 * (asked.folded[:, None] == self.folded)
        best = alike.argmax(axis=1)
        return [self.words[n] if row[n] >= ALIKE else None for n, row in zip(best.tolist(), alike, strict=True)]


Reads = Callable[..., Words]
"""`read`, or what remembers what it has read."""


def read(encoder: Additive, texts: tuple[tuple[str, str], ...]) -> Words:
    """The words of (field, plain text), without the signs around them."""
    words, vectors = [], []
    for field, text in texts:
        for word in encoder.words(text):
            shown, start, end = text[word.start : word.end], word.start, word.end
            if not shown.isalnum():
                start += next((i for i, c in enumerate(shown) if c.isalnum()), 0)
                end -= next((i for i, c in enumerate(reversed(shown)) if c.isalnum()), 0)
            words.append(_Word(text[start:end], Span(field, start, end)))
            vectors.append(word.vector)
    folded = np.array([word.text.casefold() for word in words], np.object_)
    rows = np.array(vectors, np.float32)
    return Words(words, rows, np.linalg.norm(rows, axis=1) if words else np.empty(0, np.float32), folded)


def _pair(word: _Word, other: _Word | None) -> str:
    if other is None or other.text.casefold() == word.text.casefold():
        return word.text
    return f"{word.text} ≈ {other.text}"
