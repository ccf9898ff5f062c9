"""Why two texts have like vectors, word by word: as the encoder can tell, else by leaving words out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askalike.encoders import Encoder
from askalike.encoders._traced import TracedText
from askalike.rankers._occlusion import encoder_score_function, explain_by_occlusion
from askalike.rankers._windows import explain_by_traces
from askalike.types import Answer, Contribution, Explanation, Question, Span

MIN_SUM = 1e-9  # of products: less cannot be shared out
MIN_WORD_SIMILARITY = 0.4  # the cosine from which two words are shown beside each other


@runtime_checkable
class AdditiveEncoder(Protocol):
    """An encoder whose vector of a text is the sum of what its words add."""

    def text(self, text: Question | Answer) -> str:
        """What of a question or an answer is encoded, plain."""

    def words(self, text: str) -> Sequence[Any]:
        """The words of a plain text: start, end and vector of each."""


@runtime_checkable
class TracingEncoder(Protocol):
    """An encoder that may know which stretch of a text makes each number of its vector."""

    def trace(self, texts: Sequence[Question | Answer]) -> Sequence[TracedText] | None:
        """What of each text makes its vectors; None where it cannot be told."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a field, and where it stands there."""

    text: str
    span: Span


def explain_by_vectors(
    encoder: Encoder,
    name: str,
    query: Question,
    fields: Mapping[str, Question],
    score: float,
    word_reader: "WordReader",
) -> Explanation:
    """What each word of the query adds to the score; `fields` are those of the document, each as its own text.

    reads: how the words of an additive encoder are read: `read`, or what remembers some of it.

    A vector that is a sum of words' vectors makes the score a sum over the query's words, one whose numbers are each
    some window's a sum over windows. Of any other encoder it is what the score loses without each word.
    """
    if not isinstance(encoder, AdditiveEncoder):
        return _explain_network(encoder, name, query, fields, score)
    whole = (Contribution(name, (), score),) if score else ()
    texts = {field: encoder.text(text) for field, text in fields.items()}
    asked, found = word_reader(encoder, (("query", encoder.text(query)),)), word_reader(encoder, tuple(texts.items()))
    if not score or not asked.words or not found.words:
        return Explanation(score, whole, (), texts)
    added = (asked.vectors @ found.vectors.sum(axis=0)).astype(np.float64)
    if abs(added.sum()) < MIN_SUM:
        return Explanation(score, whole, (), texts)
    shares = added * (score / added.sum())
    nearest = found.find_nearest(asked)
    rows = [
        Contribution(_word_pair_label(word, other), (other.span.field,) if other else (), float(share))
        for word, other, share in zip(asked.words, nearest, shares, strict=True)
    ]
    spans = {other.span: None for other in nearest if other}
    return Explanation(score, tuple(sorted(rows, key=lambda c: -c.score)), tuple(spans), texts)


def _explain_network(
    encoder: Encoder, name: str, query: Question, fields: Mapping[str, Question], score: float
) -> Explanation:
    if not fields:
        return Explanation(score, (Contribution(name, (), score),) if score else ())
    document = _merge_fields(fields)
    found = encoder.trace([query, document]) if isinstance(encoder, TracingEncoder) else None
    if found is None:
        reason = explain_by_occlusion(encoder_score_function(encoder), name, query, {0: document}, {0: score})[0]
        return _name_rephrasing(reason, fields)
    plain = found[1].text.split("\n", 1) if len(fields) > 1 else [found[1].text]
    return explain_by_traces(found[0], found[1], dict(zip(fields, plain, strict=False)), score)


def _merge_fields(fields: Mapping[str, Question]) -> Question:
    """The document that these are the fields of."""
    first, last = next(iter(fields.values())), list(fields.values())[-1]
    return replace(first, body=last.body, markup=last.markup)


def _name_rephrasing(reason: Explanation, fields: Mapping[str, Question]) -> Explanation:
    """Where the only field is a rephrasing, its title goes by that name."""
    if "rephrasing" not in fields:
        return reason
    names = {"title": "rephrasing"}
    spans = tuple(replace(span, field=names.get(span.field, span.field)) for span in reason.spans)
    return replace(reason, spans=spans, text={names.get(f, f): text for f, text in reason.text.items()})


@dataclass(frozen=True, slots=True)
class EncodedWords:
    """The words of a text's fields, and what comparing them with others needs."""

    words: Sequence[_Word]
    vectors: NDArray[np.float32]
    """(words, dim): what each adds to the text's vector."""
    norms: NDArray[np.float32]
    casefolded: NDArray[np.object_]

    def find_nearest(self, query_words: "EncodedWords") -> list[_Word | None]:
        """Of each word of another text the one most like it, if any is like it at all; the same word before all
        others."""
        lengths = np.outer(query_words.norms, self.norms)
        alike = query_words.vectors @ self.vectors.T / np.where(lengths > 0, lengths, 1)
        alike += 2.0 * (query_words.casefolded[:, None] == self.casefolded)
        best = alike.argmax(axis=1)
        return [
            self.words[n] if row[n] >= MIN_WORD_SIMILARITY else None
            for n, row in zip(best.tolist(), alike, strict=True)
        ]


WordReader = Callable[..., EncodedWords]
"""`read`, or what remembers what it has read."""


def read_words(encoder: AdditiveEncoder, texts: tuple[tuple[str, str], ...]) -> EncodedWords:
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
    return EncodedWords(words, rows, np.linalg.norm(rows, axis=1) if words else np.empty(0, np.float32), folded)


def _word_pair_label(word: _Word, other: _Word | None) -> str:
    if other is None or other.text.casefold() == word.text.casefold():
        return word.text
    return f"{word.text} ≈ {other.text}"
