"""Explains the score of a network: exactly if the model allows it, else by occlusion.

If each component of a network's vector comes from one window of words, the score is a sum over windows. For other
models an explanation is the decrease of the score without each word.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Protocol, runtime_checkable

import numpy as np

from askalike.core.arrays import Floats, VectorPart, Vectors
from askalike.core.hits import Contribution, Explanation, Span
from askalike.core.records import Answer, Question
from askalike.encoders import Encoder, TracedText, VectorContributions
from askalike.rankers._word_explanations import MAX_WORDS, Word, name_whole, pair_label
from askalike.text.clean import plain_text

MAX_SPANS = 5
"""Maximum number of words or windows of a document that are highlighted."""
COMPOUND_WORD = re.compile(r"\w[\w'’-]*")

ScoreFunction = Callable[[Sequence[Question], Sequence[Question]], Floats]
"""Scores of queries with documents, (queries, documents)."""


@runtime_checkable
class TracingEncoder(Protocol):
    """An encoder that may know the window of a text behind each component of its vector."""

    def trace(self, texts: Sequence[Question | Answer]) -> Sequence[TracedText] | None:
        """Return the windows behind the vectors of each text; None if the encoder does not know them."""


def explain_network(
    encoder: Encoder, name: str, query: Question, fields: Mapping[str, Question], score: float
) -> Explanation:
    """Return why a document has its score by an encoder whose vectors are no sums over words.

    fields: the document's, each as a separate question. name: the ranker's, shown if no words can be.
    """
    if not fields:
        return Explanation(score, name_whole(name, score))
    title = next(iter(fields.values()))
    body = fields.get("body", title)
    document = replace(title, body=body.body, markup=body.markup)
    traces = encoder.trace([query, document]) if isinstance(encoder, TracingEncoder) else None
    if traces:
        plain = traces[1].text.split("\n", 1) if len(fields) > 1 else [traces[1].text]
        return explain_by_traces(traces[0], traces[1], dict(zip(fields, plain, strict=False)), score)
    scores = encoder_score_function(encoder)
    explanation = explain_by_occlusion(scores, name, query, {0: document}, {0: score})[0]
    if "rephrasing" not in fields:
        return explanation
    spans = tuple(span._replace(field="rephrasing") for span in explanation.spans)
    return replace(explanation, spans=spans, text=dict(zip(["rephrasing"], explanation.text.values(), strict=False)))


def explain_by_traces(query: TracedText, document: TracedText, fields: Mapping[str, str], score: float) -> Explanation:
    """Return the contribution of each window of the query to the score, with its best-matching window of the document.

    fields: the document's plain texts, which are concatenated in `document.text`. The contributions add up to the
    score: a cosine is a sum over columns, and each column of a part comes from one window.
    """
    added: dict[tuple[int, int], float] = defaultdict(float)
    partners: dict[tuple[int, int], dict[tuple[int, int], float]] = defaultdict(lambda: defaultdict(float))
    for one, other in zip(query.parts, document.parts, strict=True):
        for product, query_word, document_word in _column_products(one, other):
            window = query.context_span(query_word, one.context)
            added[window] += product
            partners[window][document.context_span(document_word, other.context)] += product
    total = sum(added.values())
    if total <= 0:
        return Explanation(score, (Contribution("the whole text", (), score),) if score else (), (), fields)
    windows = sorted(added, key=lambda window: -added[window])
    best = {window: max(partners[window], key=partners[window].__getitem__) for window in windows}
    spans = {window: _field_span(best[window], fields) for window in windows}
    rows = []
    for window in windows:
        label = pair_label(query.text[slice(*window)], document.text[slice(*best[window])])
        found_in = (span.field,) if (span := spans[window]) else ()
        rows.append(Contribution(label, found_in, added[window] * score / total))
    marked = dict.fromkeys(span for window in windows[:MAX_SPANS] if added[window] > 0 and (span := spans[window]))
    return Explanation(score, tuple(rows), tuple(marked), fields)


def _column_products(one: VectorContributions, other: VectorContributions) -> Sequence[tuple[float, int, int]]:
    """Return (product, word of the query, word of the document) of each shared column, weighted as in the score."""
    norms = float(np.prod([np.linalg.norm(np.bincount(part.columns, part.values)) for part in (one, other)]))
    if not norms:
        return []
    by_column: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for column, value, word in zip(other.columns.tolist(), other.values.tolist(), other.words.tolist(), strict=True):
        if value:
            by_column[column].append((value, word))
    return [
        (one.weight * value * other_value / norms, word, other_word)
        for column, value, word in zip(one.columns.tolist(), one.values.tolist(), one.words.tolist(), strict=True)
        if value
        for other_value, other_word in by_column[column]
    ]


def _field_span(place: tuple[int, int], fields: Mapping[str, str]) -> Span | None:
    """Return the span of a range of the fields' texts joined by line breaks, cut at the end of its first field."""
    start, end = place
    for field, text in fields.items():
        if start < len(text):
            return Span(field, start, min(end, len(text)))
        start, end = start - len(text) - 1, end - len(text) - 1
    return None


def explain_by_occlusion(
    scorer: ScoreFunction, name: str, query: Question, documents: Mapping[int, Question], scores: Mapping[int, float]
) -> dict[int, Explanation]:
    """Return docid → the decrease of the score without each word of the query; important document words are marked.

    documents: docid → the text that is scored. scores: the scores from the retrieval. Contributions do not add up to
    these.
    """
    query_words, _ = _first_words(query)
    shorter = [_remove_word(query, word) for word in query_words]
    table = scorer([query, *shorter], list(documents.values()))
    explanations = {}
    for column, (docid, document) in enumerate(documents.items()):
        words, texts = _first_words(document)
        variants = [document, *(_remove_word(document, word) for word in words)]
        without = scorer([query], variants)[0]
        lost = without[0] - without[1:]
        spans = tuple(words[n].span for n in np.argsort(-lost, kind="stable")[:MAX_SPANS] if lost[n] > 0)
        drops = (table[0, column] - table[1:, column]).tolist()
        rows = [Contribution(word.text, (), drop) for word, drop in zip(query_words, drops, strict=True)]
        if not rows and scores[docid]:
            rows = [Contribution(name, (), scores[docid])]
        rows.sort(key=attrgetter("score"), reverse=True)
        explanations[docid] = Explanation(scores[docid], tuple(rows), spans, texts)
    return explanations


def encoder_score_function(encoder: Encoder) -> ScoreFunction:
    """Return a function that scores texts by an encoder's vectors."""

    def score(queries: Sequence[Question], documents: Sequence[Question]) -> Floats:
        return similarity_matrix(encoder.encode_queries(queries), encoder.encode_documents(documents))

    return score


def similarity_matrix(one: Vectors, other: Vectors) -> Floats:
    """Return the scores of n texts with m others: the weighted sum over the parts, (n, m)."""
    pairs = zip(one.parts, other.parts, strict=True)
    return sum((a.weight * _part_similarities(a, b) for a, b in pairs), np.zeros((len(one), len(other))))


def _part_similarities(one: VectorPart, other: VectorPart) -> Floats:
    stored = (part.values.toarray() if part.is_sparse else part.values for part in (one, other))
    a, b = (np.asarray(values, np.float64) for values in stored)
    if one.metric == "euclidean":
        return -np.asarray(np.linalg.norm(a[:, None] - b[None], axis=2))
    if one.metric == "cosine":
        a, b = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in (a, b))
    return np.asarray(a @ b.T)


def _first_words(text: Question) -> tuple[list[Word], dict[str, str]]:
    """Return the first words of a text, and field → plain text."""
    texts = {"title": plain_text(text.title, "text"), "body": plain_text(text.body, text.markup)}
    texts = {field: plain for field, plain in texts.items() if plain}
    matches = [(field, match) for field, plain in texts.items() for match in COMPOUND_WORD.finditer(plain)]
    return [Word(match[0], Span(field, *match.span())) for field, match in matches[:MAX_WORDS]], texts


def _remove_word(text: Question, word: Word) -> Question:
    plain = _first_words(text)[1][word.span.field]
    rest = f"{plain[: word.span.start]} {plain[word.span.end :]}".strip()
    return replace(text, title=rest) if word.span.field == "title" else replace(text, body=rest, markup="text")
