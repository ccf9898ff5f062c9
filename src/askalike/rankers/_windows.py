"""Why two texts have like vectors, for networks whose numbers are each some stretch of a text's."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from askalike.encoders._traced import TracedText, VectorContributions
from askalike.types import Contribution, Explanation, Span

MAX_SPANS = 5
"""Of so many stretches of the query the like ones in the document are marked."""
TextRange = tuple[int, int]


def explain_by_traces(query: TracedText, document: TracedText, fields: Mapping[str, str], score: float) -> Explanation:
    """What each word, or window of words, of the query adds to the score, beside that of the document it goes with.

    fields: the document's plain texts, which `document.text` has one after the other. The contributions add up to
    the score: a cosine is a sum over columns, and a column of a part is some stretch's.
    """
    added: dict[tuple[str, TextRange], float] = defaultdict(float)
    beside: dict[tuple[str, TextRange], dict[TextRange, float]] = defaultdict(lambda: defaultdict(float))
    for one, other in zip(query.parts, document.parts, strict=True):
        for value, asked, found in _column_products(one, other):
            start, end = query.context_span(asked, one.context)
            key = (query.text[start:end], (start, end))
            added[key] += value
            beside[key][document.context_span(found, other.context)] += value
    total = sum(added.values())
    whole = (Contribution("the whole text", (), score),) if score else ()
    if total <= 0:
        return Explanation(score, whole, (), fields)
    order = sorted(added, key=lambda key: -added[key])
    best = {key: max(beside[key], key=beside[key].__getitem__) for key in order}
    places = {key: _to_span(best[key], fields) for key in order}
    rows = tuple(
        Contribution(
            _text_pair_label(key[0], document.text[slice(*best[key])]),
            _span_fields(places[key]),
            added[key] * score / total,
        )
        for key in order
    )
    spans = dict.fromkeys(place for key in order[:MAX_SPANS] if added[key] > 0 and (place := places[key]))
    return Explanation(score, rows, tuple(spans), fields)


def _column_products(one: VectorContributions, other: VectorContributions) -> Sequence[tuple[float, int, int]]:
    """(what it adds to the weighted cosine, the query's word, the document's) for each pair of like columns."""
    lengths = _norm(one) * _norm(other)
    if not lengths:
        return []
    there: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for column, value, word in zip(other.columns.tolist(), other.values.tolist(), other.words.tolist(), strict=True):
        if value:
            there[column].append((value, word))
    return [
        (one.weight * value * known / lengths, word, place)
        for column, value, word in zip(one.columns.tolist(), one.values.tolist(), one.words.tolist(), strict=True)
        if value
        for known, place in there[column]
    ]


def _norm(part: VectorContributions) -> float:
    sums = np.zeros(int(part.columns.max(initial=0)) + 1)
    np.add.at(sums, part.columns, part.values)
    return float(np.linalg.norm(sums))


def _to_span(text_range: TextRange, fields: Mapping[str, str]) -> Span | None:
    """Where a stretch of the fields' texts, a line each, stands; one over two fields ends with the first."""
    start, end = text_range
    for field, text in fields.items():
        if start < len(text):
            return Span(field, start, min(end, len(text)))
        start, end = start - len(text) - 1, end - len(text) - 1
    return None


def _span_fields(span: Span | None) -> tuple[str, ...]:
    return (span.field,) if span else ()


def _text_pair_label(query_text: str, document_text: str) -> str:
    return query_text if query_text.casefold() == document_text.casefold() else f"{query_text} ≈ {document_text}"
