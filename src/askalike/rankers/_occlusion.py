"""Why a model gives a score, for models that cannot tell: what becomes of it without each word."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from askalike.encoders import Encoder
from askalike.text.clean import plain_text
from askalike.types import Contribution, Explanation, Question, Span, VectorPart, Vectors

MAX_WORDS = 24
"""Of a text the first so many words are left out, one at a time."""
MAX_SPANS = 5
"""So many of a document's words are marked."""
Floats = NDArray[np.float64]
ScoreFunction = Callable[[Sequence[Question], Sequence[Question]], Floats]
"""Scores of queries with documents, (queries, documents)."""


@dataclass(frozen=True, slots=True)
class _OccludedWord:
    text: str
    span: Span


def explain_by_occlusion(
    score_function: ScoreFunction,
    name: str,
    query: Question,
    documents: Mapping[int, Question],
    hit_scores: Mapping[int, float],
) -> dict[int, Explanation]:
    """Of each document what its score loses without each of the query's words; its own words that matter are marked.

    documents: what of each is scored, by id; told: the score that each was found with. Contributions do not add up to
    it.
    """
    ids, (asked, _) = list(documents), _first_words(query)
    shorter = [_remove_word(query, word) for word in asked]
    table = score_function([query, *shorter], [documents[id] for id in ids])
    return {
        id: _explain_document(
            score_function, name, query, documents[id], hit_scores[id], asked, table[0, n] - table[1:, n]
        )
        for n, id in enumerate(ids)
    }


def encoder_score_function(encoder: Encoder) -> ScoreFunction:
    """An encoder's scores of texts."""

    def scores(queries: Sequence[Question], documents: Sequence[Question]) -> Floats:
        return similarity_matrix(encoder.encode(queries, "query"), encoder.encode(documents, "document"))

    return scores


def similarity_matrix(one: Vectors, other: Vectors) -> Floats:
    """The scores of texts with others: the weighted sum over the parts, (n, m)."""
    return sum(
        (a.weight * _part_similarities(a, b) for a, b in zip(one.parts, other.parts, strict=True)),
        np.zeros((len(one), len(other))),
    )


def _explain_document(
    score_function: ScoreFunction,
    name: str,
    query: Question,
    document: Question,
    score: float,
    query_words: Sequence[_OccludedWord],
    score_drops: Floats,
) -> Explanation:
    words, texts = _first_words(document)
    kept = score_function([query], [document, *(_remove_word(document, word) for word in words)])[0]
    drops = kept[0] - kept[1:]
    marked = [words[n].span for n in np.argsort(-drops, kind="stable")[:MAX_SPANS] if drops[n] > 0]
    rows = [Contribution(word.text, (), float(drop)) for word, drop in zip(query_words, score_drops, strict=True)]
    if not rows and score:
        rows = [Contribution(name, (), score)]
    return Explanation(score, tuple(sorted(rows, key=lambda c: -c.score)), tuple(marked), texts)


def _first_words(text: Question) -> tuple[list[_OccludedWord], dict[str, str]]:
    """The first words of a text, and its fields' plain texts."""
    texts = {"title": plain_text(text.title, "text"), "body": plain_text(text.body, text.markup)}
    texts = {field: plain for field, plain in texts.items() if plain}
    words = [
        _OccludedWord(found[0], Span(field, found.start(), found.end()))
        for field, plain in texts.items()
        for found in re.finditer(r"\w[\w'’-]*", plain)
    ]
    return words[:MAX_WORDS], texts


def _remove_word(text: Question, word: _OccludedWord) -> Question:
    _, texts = _first_words(text)
    plain = texts[word.span.field]
    rest = f"{plain[: word.span.start]} {plain[word.span.end :]}".strip()
    return replace(text, title=rest) if word.span.field == "title" else replace(text, body=rest, markup="text")


def _part_similarities(one: VectorPart, other: VectorPart) -> Floats:
    a, b = (_to_dense(part) for part in (one, other))
    if one.metric == "euclidean":
        return -np.asarray(np.linalg.norm(a[:, None] - b[None], axis=2))
    if one.metric == "cosine":
        a, b = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in (a, b))
    return np.asarray(a @ b.T)


def _to_dense(part: VectorPart) -> Floats:
    values = part.values.toarray() if scipy.sparse.issparse(part.values) else part.values
    return np.asarray(values, np.float64)
