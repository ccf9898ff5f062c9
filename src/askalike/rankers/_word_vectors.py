"""The words of texts with their contributions to a text's vector, for encoders whose vectors are sums over words."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askalike.core.types import Answer, Floats, Question, Span
from askalike.encoders import TextWords
from askalike.native.compiled import Matrix, compiled
from askalike.text.words import find_form

MIN_WORD_SIMILARITY = 0.4
"""Minimum cosine of two words that are shown as a pair."""
SAME_WORD = 2.0
"""Added to the cosine of identical words, so that they come first."""
SIMILARITY_UNIT = 1e5
"""Cosines are rounded to five digits, as later ones depend on the order of addition; of equal ones the first counts."""

TextFields = Mapping[str, str]
"""Field → plain text of each field of a text."""


@runtime_checkable
class AdditiveEncoder(Protocol):
    """An encoder whose vector of a text is the sum of its words' vectors."""

    def text(self, text: Question | Answer) -> str:
        """Return the plain text of a question or an answer that is encoded."""

    def words(self, texts: Sequence[str]) -> TextWords:
        """Return the words of plain texts, and their contributions to their text's vector."""


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
    """Reads the words of a query and of many documents at once."""

    def __init__(self, encoder: AdditiveEncoder) -> None:
        self._encoder = encoder
        self.in_context = isinstance(encoder, ContextualEncoder)
        """Whether a word's vector depends on the words around it."""

    def plain_text(self, text: Question) -> str:
        """Return the plain text that is encoded, with one space between words."""
        return " ".join(self._encoder.text(text).split())

    @classmethod
    def of_encoder(cls, encoder: object) -> "WordReader | None":
        """Return the reader of an encoder's words; None if its vectors are not approximately sums over words."""
        if isinstance(encoder, ContextualEncoder) and not encoder.averages_words:
            return None
        return cls(encoder) if isinstance(encoder, AdditiveEncoder) else None

    def compare(self, query: str, documents: Sequence[TextFields]) -> "WordComparison":
        """Compare each word of a plain query with those of the documents' plain fields."""
        texts = [query, *(text for fields in documents for text in fields.values())]
        return WordComparison(self._encoder.words(texts), documents)


class WordComparison:
    """The words of a query (the first text) and of documents (whose fields are the other texts)."""

    def __init__(self, words: TextWords, documents: Sequence[TextFields]) -> None:
        self._words = words
        self._fields = ["", *(field for fields in documents for field in fields)]
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
        columns = zip(self._best.tolist(), *self._nearest.tolist(), strict=True)
        return [
            [
                self._word(row, text, start) if best >= MIN_WORD_SIMILARITY else None
                for best, row, text, start in zip(*document, strict=True)
            ]
            for document in columns
        ]

    def _word(self, row: int, text: int, start: int) -> Word:
        form = find_form(self._words.words[row])
        start += form.offset
        return Word(form.text, Span(self._fields[text], start, start + len(form.text)))


@compiled(fastmath=True)
def _multiply_words(
    vectors: Matrix[np.float32], rows: NDArray[np.int64], forms: NDArray[np.int64], squares: NDArray[np.float32],
    products: Matrix[np.float32], cosines: Matrix[np.float32],
) -> None:  # fmt: skip
    """Write the product and the rounded cosine of each word with each word of the query, whose rows are the first.

    squares: working memory. There are too few products for a multithreaded library to be faster.
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
            cosines[i, j] = np.rint(cosine * SIMILARITY_UNIT) / SIMILARITY_UNIT + SAME_WORD * (forms[i] == forms[other])


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
