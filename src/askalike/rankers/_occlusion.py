"""Why a model gives a score, for models that cannot tell: what becomes of it without each word."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from askalike.encoders import Encoder
from askalike.text.clean import plain_text
from askalike.types import Contribution, Explanation, Part, Question, Span, Vectors

WORDS = 24
"""Of a text the first so many words are left out, one at a time."""
SHOWN = 5
"""So many of a document's words are marked."""
Floats = NDArray[np.float64]
Scores = Callable[[Sequence[Question], Sequence[Question]], Floats]
"""Scores of queries with documents, (queries, documents)."""


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    span: Span


def occluded(
    scores: Scores, name: str, query: Question, documents: Mapping[str, Question], told: Mapping[str, float]
) -> dict[str, Explanation]:
    """Of each document what its score loses without each of the query's words; its own words that matter are marked.

    documents: what of each is scored, by id; told: the score that each was found with. Contributions do not add up to
    it.
    """
    ids, (asked, _) = list(documents), _words(query)
    shorter = [_without(query, word) for word in asked]
    table = scores([query, *shorter], [documents[id] for id in ids])
    return {
        id: _explained(scores, name, query, documents[id], told[id], asked, table[0, n] - table[1:, n])
        for n, id in enumerate(ids)
    }


def by_vectors(encoder: Encoder) -> Scores:
    """An encoder's scores of texts."""

    def scores(queries: Sequence[Question], documents: Sequence[Question]) -> Floats:
        return alike(encoder.encode(queries, "query"), encoder.encode(documents, "document"))

    return scores


def alike(one: Vectors, other: Vectors) -> Floats:
    """The scores of texts with others: the weighted sum over the parts, (n, m)."""
    return sum(
        (a.weight * _of_part(a, b) for a, b in zip(one.parts, other.parts, strict=True)),
        np.zeros((len(one), len(other))),
    )


def _explained(
    scores: Scores, name: str, query: Question, document: Question, score: float, asked: Sequence[_Word], lost: Floats
) -> Explanation:
    words, texts = _words(document)
    kept = scores([query], [document, *(_without(document, word) for word in words)])[0]
    drops = kept[0] - kept[1:]
    marked = [words[n].span for n in np.argsort(-drops, kind="stable")[:SHOWN] if drops[n] > 0]
    rows = [Contribution(word.text, (), float(drop)) for word, drop in zip(asked, lost, strict=True)]
    if not rows and score:
        rows = [Contribution(name, (), score)]
    return Explanation(score, tuple(sorted(rows, key=lambda c: -c.score)), tuple(marked), texts)


def _words(text: Question) -> tuple[list[_Word], dict[str, str]]:
    """The first words of a text, and its fields' plain texts."""
    texts = {"title": plain_text(text.title, "text"), "body": plain_text(text.body, text.markup)}
    texts = {field: plain for field, plain in texts.items() if plain}
    words = [
        _Word(found[0], Span(field, found.start(), found.end()))
        for field, plain in texts.items()
        for found in re.finditer(r"\w[\w'’-]*", plain)
    ]
    return words[:WORDS], texts


def _without(text: Question, word: _Word) -> Question:
    _, texts = _words(text)
    plain = texts[word.span.field]
    rest = f"{plain[: word.span.start]} {plain[word.span.end :]}".strip()
    return replace(text, title=rest) if word.span.field == "title" else replace(text, body=rest, markup="text")


def _of_part(one: Part, other: Part) -> Floats:
    a, b = (_dense(part) for part in (one, other))
    if one.metric == "euclidean":
        return -np.asarray(np.linalg.norm(a[:, None] - b[None], axis=2))
    if one.metric == "cosine":
        a, b = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in (a, b))
    return np.asarray(a @ b.T)


def _dense(part: Part) -> Floats:
    values = part.values.toarray() if scipy.sparse.issparse(part.values) else part.values
    return np.asarray(values, np.float64)
