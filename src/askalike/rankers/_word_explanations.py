"""Explains scores by words, for encoders whose vectors are sums over words: the score is a sum over the query's words.

If a text's vector is the mean of its words in context, a word's contribution is the decrease of the score without it.
Each document is encoded only once.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askalike.core.types import Answer, Contribution, Explanation, Floats, Markup, Question, Span, Vectors
from askalike.encoders import TextWords
from askalike.native.compiled import Matrix, compiled
from askalike.text.clean import MAX_CACHED_TEXTS
from askalike.text.words import WordForm, find_form

MIN_SUM = 1e-9
"""Minimum sum of contributions that is scaled to the score."""
MAX_WORDS = 24
"""Maximum number of words of a text that are left out, one at a time."""
MIN_WORD_SIMILARITY = 0.4
"""Minimum cosine of two words that are shown as a pair."""
SAME_WORD = 2.0
"""Added to the cosine of identical words, so that they come first."""
SIMILARITY_UNIT = 1e5
"""Cosines are rounded to five digits, as later ones depend on the order of addition; of equal ones the first counts."""

MAX_CACHED_LABELS = 4_096
TextFields = Mapping[str, str]
"""Field → plain text of each field of a text."""
RawText = tuple[str, str, Markup]
"""A title, a body, and the body's markup."""


@runtime_checkable
class AdditiveEncoder(Protocol):
    """An encoder whose vector of a text is the sum of its words' vectors."""

    def text(self, text: Question | Answer) -> str:
        """Return the plain text of a question or an answer that is encoded."""

    def words(self, texts: Sequence[str]) -> TextWords:
        """Return the words of plain texts, and their contributions to their text's vector."""

    def encode_queries(self, texts: Sequence[Question]) -> Vectors:
        """See Encoder.encode_queries."""


@runtime_checkable
class ContextualEncoder(AdditiveEncoder, Protocol):
    """An encoder whose word vectors depend on context: removing a word changes the others."""

    averages_words: bool
    """Whether a text's vector has approximately the direction of the sum of its words' vectors."""


class Word(NamedTuple):
    """A word and its position in a field."""

    text: str
    span: Span


class WordReader:
    """Reads the words of a query and of many documents at once. It caches plain texts: the next search shows them."""

    def __init__(self, encoder: AdditiveEncoder) -> None:
        self.encoder = encoder
        self.in_context = isinstance(encoder, ContextualEncoder)
        """Whether a word's vector depends on the words around it."""
        self.plain_text = lru_cache(MAX_CACHED_TEXTS)(self._read)

    def _read(self, title: str, body: str, markup: Markup) -> str:
        """Return the plain text that is encoded, with one space between words."""
        return " ".join(self.encoder.text(Question("", title, body, markup)).split())

    @classmethod
    def of_encoder(cls, encoder: object) -> "WordReader | None":
        """Return the reader of an encoder's words; None if its vectors are not approximately sums over words."""
        if isinstance(encoder, ContextualEncoder) and not encoder.averages_words:
            return None
        return cls(encoder) if isinstance(encoder, AdditiveEncoder) else None


class WordComparison:
    """The words of a plain query and of the plain fields of documents, each compared with each."""

    def __init__(self, encoder: AdditiveEncoder, query: str, documents: Sequence[TextFields]) -> None:
        words = self._words = encoder.words([query, *chain.from_iterable(fields.values() for fields in documents)])
        self._fields = ["", *chain.from_iterable(documents)]
        self._first_texts = np.array([*accumulate(map(len, documents), initial=1)], np.int64)
        self.query_forms = [find_form(words.words[row]) for row in words.rows[: words.ends[1]].tolist()]
        """The query's words without surrounding punctuation."""
        count, shape = len(words.words), (len(documents), len(self.query_forms))
        products, cosines = np.empty((2, count, len(self.query_forms)), np.float32)
        _multiply_words(words.vectors, words.rows, words.forms, np.empty(count, np.float32), products, cosines)
        self.products: Floats = np.zeros(shape)
        """The product of each word of the query with all words of each document, (documents, query's words)."""
        self._best, self._nearest = np.zeros(shape), np.zeros((3, *shape), np.int64)
        _find_nearest(
            words.rows, words.ends, words.starts, self._first_texts, products, cosines, self.products, self._best,
            self._nearest.reshape(3, -1),
        )  # fmt: skip

    def sum(self, document: int) -> NDArray[np.float32]:
        """Return a document's vector, (dim,)."""
        first, last = (self._words.ends[self._first_texts[document + n]] for n in range(2))
        total: NDArray[np.float32] = self._words.vectors[self._words.rows[first:last]].sum(axis=0)
        return total

    def nearest(self) -> list[list[Word | None]]:
        """Return, for each document, its most similar word to each word of the query.

        An identical word comes first; None if no word is similar enough.
        """
        documents: list[list[Word | None]] = []
        for columns in zip(self._best.tolist(), *self._nearest.tolist(), strict=True):
            documents.append([])
            for cosine, row, text, start in zip(*columns, strict=True):
                word = None
                if cosine >= MIN_WORD_SIMILARITY:
                    found, offset, _ = find_form(self._words.words[row])
                    start += offset
                    word = Word(found, Span(self._fields[text], start, start + len(found)))
                documents[-1].append(word)
        return documents


def explain_by_words(
    reader: WordReader, name: str, query: Question, documents: Sequence[Mapping[str, RawText]],
    scores: Sequence[float], of_fields: Sequence[Mapping[str, float]],
) -> list[Explanation]:  # fmt: skip
    """Return the contributions of a query's words to the scores of a dense ranker.

    documents: the fields of each document. name: the ranker's, shown if no words can be. of_fields: the contributions
    of each document's fields.
    """
    texts = [{field: reader.plain_text(*text) for field, text in fields.items()} for fields in documents]
    plain_query = reader.plain_text(query.title, query.body, query.markup)
    words = WordComparison(reader.encoder, plain_query, texts)
    losses = _directions_lost(reader.encoder, plain_query.split()) if reader.in_context and words.query_forms else None
    explanations = []
    for place, (nearest, plain, score) in enumerate(zip(words.nearest(), texts, scores, strict=True)):
        shares = _share_score(words, place, score, losses) if score and any(plain.values()) else []
        if shares:
            rows, spans = _explain_words(words.query_forms, shares, nearest)
        else:
            rows, spans = name_whole(name, score), ()
        explanations.append(Explanation(score, rows, spans, plain, {}, of_fields[place]))
    return explanations


def name_whole(name: str, score: float) -> tuple[Contribution, ...]:
    """Return the name of a ranker as the only reason of a score."""
    return (Contribution(name, (), score),) if score else ()


def _directions_lost(encoder: AdditiveEncoder, words: Sequence[str]) -> Floats:
    """Return the change of the query's unit vector without each of its first words: (words, dim)."""
    removed = range(min(len(words), MAX_WORDS))
    texts = [words, *([*words[:n], *words[n + 1 :]] for n in removed)]
    [part] = encoder.encode_queries([Question("", " ".join(text)) for text in texts]).parts
    units = part.values / np.maximum(np.linalg.norm(part.values, axis=1, keepdims=True), MIN_SUM)
    return np.asarray(units[0] - units[1:], np.float64)


def _share_score(words: WordComparison, document: int, score: float, losses: Floats | None) -> Sequence[float]:
    """Return the contribution of each query word to the score, or the decrease without it; [] if unknown."""
    if losses is not None:
        vector = words.sum(document)
        return list(map(float, losses @ (vector / max(float(np.linalg.norm(vector)), MIN_SUM))))
    added = words.products[document].tolist()
    total = sum(added)
    return [] if abs(total) < MIN_SUM else [one * (score / total) for one in added]


def _explain_words(
    forms: Sequence[WordForm], shares: Sequence[float], nearest: Sequence[Word | None]
) -> tuple[tuple[Contribution, ...], tuple[Span, ...]]:
    """Return the contributions and spans of a document. nearest: its most similar word to each word of the query."""
    rows = [
        (pair_label(form.text, other.text), (other.span.field,), share) if other else (form.text, (), share)
        for form, other, share in zip(forms, nearest, shares, strict=False)
    ]
    return Contribution.of_rows(rows), tuple(dict.fromkeys([other.span for other in nearest if other]))


@lru_cache(MAX_CACHED_LABELS)
def pair_label(text: str, other: str) -> str:
    """Return a word or a window of the query with the one that it matches, if that differs by more than case."""
    return text if text == other or text.casefold() == other.casefold() else f"{text} ≈ {other}"


@compiled(fastmath=True)
def _multiply_words(
    vectors: Matrix[np.float32], rows: NDArray[np.int64], forms: NDArray[np.int64], squares: NDArray[np.float32],
    products: Matrix[np.float32], cosines: Matrix[np.float32],
) -> None:  # fmt: skip
    """Write the product and the rounded cosine of each word with each word of the query, whose rows are the first.

    The cosine is 0 for what has neither letters nor digits, as a dash is nobody's word. squares: working memory. There
    are too few products for a multithreaded library to be faster.
    """
    for i in range(len(vectors)):
        square = np.float32(0)
        for k in range(vectors.shape[1]):
            square += vectors[i, k] * vectors[i, k]
        squares[i] = square
    for i in range(len(vectors)):
        for j in range(products.shape[1]):
            other = rows[j]
            dot = np.float32(0)
            for k in range(vectors.shape[1]):
                dot += vectors[i, k] * vectors[other, k]
            norms = np.sqrt(squares[i] * squares[other])
            cosine = dot / norms if norms > 0 else np.float32(0)
            products[i, j] = dot
            rounded = np.rint(cosine * SIMILARITY_UNIT) / SIMILARITY_UNIT + SAME_WORD * (forms[i] == forms[other])
            cosines[i, j] = rounded if forms[i] else 0.0


@compiled()
def _find_nearest(
    rows: NDArray[np.int64], ends: NDArray[np.int64], starts: NDArray[np.int64], first_texts: NDArray[np.int64],
    products: Matrix[np.float32], cosines: Matrix[np.float32], sums: Matrix[np.float64], best: Matrix[np.float64],
    nearest: Matrix[np.int64],
) -> None:  # fmt: skip
    """Write the sums of products, and the rows, texts and offsets of the words with the best cosines.

    starts: each word's offset in its text. first_texts: (documents + 1), the index of each document's first text.
    """
    count = products.shape[1]
    for document in range(len(sums)):
        for text in range(first_texts[document], first_texts[document + 1]):
            for i in range(ends[text], ends[text + 1]):
                row = rows[i]
                for j in range(count):
                    sums[document, j] += np.float64(products[row, j])
                    if cosines[row, j] > best[document, j]:
                        best[document, j], at = np.float64(cosines[row, j]), document * count + j
                        nearest[0, at], nearest[1, at], nearest[2, at] = row, text, starts[i]
