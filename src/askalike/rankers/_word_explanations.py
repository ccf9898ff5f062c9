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

from askalike.core.arrays import Floats, Vectors
from askalike.core.hits import Contribution, Explanation, Span
from askalike.core.lazy import lazy_property
from askalike.core.records import Answer, Markup, Question
from askalike.encoders import TextWords
from askalike.native.compiled import Matrix, compiled, inlined
from askalike.text.clean import MAX_CACHED_TEXTS
from askalike.text.features.hashed_ngrams import WeightedRows, WordRows, add_rows, prefetch_rows
from askalike.text.tokens import Tokens
from askalike.text.words import WordForm, find_form

MIN_SUM = 1e-9
"""Minimum sum of contributions that is scaled to the score."""
MAX_WORDS = 24
"""Maximum number of words of a text that are left out, one at a time."""
MIN_WORD_SIMILARITY = 0.4
"""Minimum cosine of two words that are shown as a pair."""
MIN_SQUARE = np.float32(0.15)
"""Below the square of MIN_WORD_SIMILARITY: what is below it need not be divided to know that it is not shown."""
SAME_WORD = 2.0
"""Added to the cosine of identical words, so that they come first."""
SIMILARITY_UNIT = 1e5
"""Cosines are rounded to five digits, as later ones depend on the order of addition; of equal ones the first counts."""

AHEAD = 4
"""The distance, in words, at which rows are read from memory ahead."""
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
        texts = [query, *[text for fields in documents for text in fields.values()]]
        words = self._words = encoder.words(texts)
        self._fields = ["", *chain.from_iterable(documents)]
        self._first_texts = np.array([*accumulate(map(len, documents), initial=1)], np.int64)
        count, own = len(words.tokens.numbers), words.tokens.numbers[: words.tokens.ends[1]].tolist()
        self.query_forms = [find_form(words.known[number]) for number in own]
        """The query's words without surrounding punctuation."""
        shape = (len(documents), len(own))
        self.products: Floats = np.zeros(shape)
        """The product of each word of the query with all words of each document, (documents, query's words)."""
        self._nearest = np.full((*shape, 3), -1, np.int64)
        """The number, the text and the offset in it of the most similar words; −1 if none is similar enough."""
        _compare_words(
            *words[1:], self._first_texts, np.full((1 << (2 * count).bit_length(), 2), -1, np.int64),
            np.empty((len(own) + 1, words.matrix.halves.shape[1]), np.float32),
            np.empty((2 * count + 2, len(own)), np.float32), self.products, self._nearest.reshape(-1, 3),
        )  # fmt: skip

    @lazy_property
    def _vectors(self) -> NDArray[np.float32]:
        return self._words.vectors

    def sum(self, document: int) -> NDArray[np.float32]:
        """Return a document's vector, (dim,)."""
        first, last = (self._words.tokens.ends[self._first_texts[document + n]] for n in range(2))
        total: NDArray[np.float32] = self._vectors[first:last].sum(axis=0)
        return total

    def nearest(self) -> list[list[Word | None]]:
        """Return, for each document, its most similar word to each word of the query.

        An identical word comes first; None if no word is similar enough.
        """
        known, fields, documents = self._words.known, self._fields, list[list[Word | None]]()
        for own in self._nearest.tolist():
            words: list[Word | None] = []
            for number, text, start in own:
                if number < 0:
                    words.append(None)
                    continue
                found, offset, _ = find_form(known[number])
                first = start + offset
                words.append(Word(found, Span(fields[text], first, first + len(found))))
            documents.append(words)
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


@inlined(fastmath=True)
def _multiply(one: NDArray[np.float32], other: NDArray[np.float32]) -> np.float32:
    """Return the product of two vectors: there are too few for a multithreaded library to be faster."""
    dot = np.float32(0)
    for k in range(len(one)):
        dot += one[k] * other[k]
    return dot


@inlined(fastmath=True)
def _rounded_cosine(dot: np.float32, square: np.float32, other: np.float32, is_same: bool) -> np.float64:
    norms = np.sqrt(square * other)
    cosine = dot / norms if norms > 0 else np.float32(0)
    rounded: np.float64 = np.rint(cosine * SIMILARITY_UNIT) / SIMILARITY_UNIT + SAME_WORD * is_same
    return rounded


@compiled()
def _compare_words(
    rows: WordRows, tokens: Tokens, skipped: NDArray[np.bool_], matrix: WeightedRows, first_texts: NDArray[np.int64],
    slots: Matrix[np.int64], vectors: Matrix[np.float32], memory: Matrix[np.float32], sums: Matrix[np.float64],
    nearest: Matrix[np.int64],
) -> None:  # fmt: skip
    """Add the products of the query's words with each document's, and write which of these have the best cosines.

    The query is the first text. Each distinct word is multiplied once, and the cosine is 0 for what has neither letters
    nor digits, as a dash is nobody's word. first_texts: (documents + 1), the index of each document's first text.
    slots: 2^n pairs of −1, at least twice as many as words. vectors, memory: working memory, a vector for each word of
    the query and one more; twice as many rows as words and two more, with a column for each word of the query.
    nearest: for each document and word of the query the number, the text and the offset of a word.
    """
    width, last, count = sums.shape[1], len(slots) - 1, 0
    word, squares, best = vectors[width], memory[0], memory[1]
    for j in range(width):
        number = tokens.numbers[j]
        add_rows(rows.rows, rows.ends[number], rows.ends[number + 1 - skipped[j]], matrix, vectors[j])
        squares[j] = _multiply(vectors[j], vectors[j])
    for document in range(len(sums)):
        for j in range(width):
            best[j] = np.float32(0)
        for text in range(first_texts[document], first_texts[document + 1]):
            for i in range(tokens.ends[text], tokens.ends[text + 1]):
                if i + AHEAD < len(tokens.numbers):
                    number = tokens.numbers[i + AHEAD]
                    prefetch_rows(rows.rows, rows.ends[number], rows.ends[number + 1], matrix)
                number = tokens.numbers[i]
                key = 2 * number + skipped[i]
                slot = key & last
                while slots[slot, 0] >= 0 and slots[slot, 0] != key:
                    slot = (slot + 1) & last
                if slots[slot, 0] < 0:
                    count += 2
                    slots[slot, 0], slots[slot, 1], form = key, count, rows.forms[number]
                    add_rows(rows.rows, rows.ends[number], rows.ends[number + 1 - skipped[i]], matrix, word)
                    square = _multiply(word, word)
                    for j in range(width):
                        dot, is_same = _multiply(word, vectors[j]), form == rows.forms[tokens.numbers[j]]
                        memory[count, j], memory[count + 1, j] = dot, np.float32(0)
                        if form and (is_same or (dot > 0 and dot * dot > MIN_SQUARE * square * squares[j])):
                            memory[count + 1, j] = _rounded_cosine(dot, square, squares[j], is_same)
                products, cosines = memory[slots[slot, 1]], memory[slots[slot, 1] + 1]
                for j in range(width):
                    sums[document, j] += np.float64(products[j])
                    if cosines[j] > best[j] and cosines[j] >= MIN_WORD_SIMILARITY:
                        best[j], at = cosines[j], document * width + j
                        nearest[at, 0], nearest[at, 1], nearest[at, 2] = number, text, tokens.starts[i]
