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
from askalike.core.iteration import lazy_property
from askalike.core.records import Answer, Markup, Question
from askalike.encoders import DistinctWords, TextWords
from askalike.native.compiled import Matrix, compiled, inlined
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
        texts = [query, *[text for fields in documents for text in fields.values()]]
        words = self._words = encoder.words(texts)
        numbers, ends = words.tokens.numbers, words.tokens.ends
        self._fields = ["", *chain.from_iterable(documents)]
        self._ends = ends[[*accumulate(map(len, documents), initial=1)]]
        """(documents + 1): the index of each document's first word among those of all texts."""
        self.query_forms = [find_form(words.known[number]) for number in numbers[: ends[1]].tolist()]
        """The query's words without surrounding punctuation."""
        distinct = words.distinct()
        own = distinct.places[: ends[1]]
        squares = np.empty(len(distinct.forms), np.float32)
        products = np.empty((len(squares), len(own)), np.float32)
        cosines = np.empty(products.shape)
        _compare_words(distinct, own, squares, products, cosines)
        shape = len(documents), len(own)
        self.products: Floats = np.zeros(shape)
        """The product of each word of the query with all words of each document, (documents, query's words)."""
        self._nearest = np.full(shape, -1, np.int64)
        """The indexes of the most similar words among those of all texts; −1 if none is similar enough."""
        _choose_words(distinct.places, self._ends, products, cosines, self.products, self._nearest)

    @lazy_property
    def _vectors(self) -> NDArray[np.float32]:
        return self._words.vectors

    def sum(self, document: int) -> NDArray[np.float32]:
        """Return a document's vector, (dim,)."""
        total: NDArray[np.float32] = self._vectors[self._ends[document] : self._ends[document + 1]].sum(axis=0)
        return total

    def nearest(self) -> list[list[Word | None]]:
        """Return, for each document, its most similar word to each word of the query.

        An identical word comes first; None if no word is similar enough.
        """
        tokens, known, names = self._words.tokens, self._words.known, self._fields
        places = np.maximum(self._nearest, 0)
        fields = tokens.ends.searchsorted(places, "right") - 1
        columns = self._nearest, tokens.numbers[places], fields, tokens.starts[places]
        found: list[list[Word | None]] = []
        for document in zip(*(column.tolist() for column in columns), strict=True):
            words: list[Word | None] = []
            for place, number, field, start in zip(*document, strict=True):
                if place < 0:
                    words.append(None)
                    continue
                text, offset, _ = find_form(known[number])
                first = start + offset
                words.append(Word(text, Span(names[field], first, first + len(text))))
            found.append(words)
        return found


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
            rows = name_whole(name, score)
            spans = ()
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
def _rounded_cosine(dot: np.float32, squares: np.float32) -> np.float64:
    cosine = dot / np.sqrt(squares) if squares > 0 else np.float32(0)
    rounded: np.float64 = np.rint(cosine * SIMILARITY_UNIT) / SIMILARITY_UNIT
    return rounded


@compiled()
def _compare_words(
    words: DistinctWords, own: NDArray[np.int64], squares: NDArray[np.float32], products: Matrix[np.float32],
    cosines: Matrix[np.float64],
) -> None:  # fmt: skip
    """Write the products and the cosines of n distinct words with the query's, (n, query's words) each.

    own: the query's words among them. squares: (n), working memory. Cosines are SAME_WORD larger for the same word, and
    0 for what has neither letters nor digits, as a dash is nobody's word.
    """
    for i in range(len(words.vectors)):
        squares[i] = _multiply(words.vectors[i], words.vectors[i])
    for i in range(len(words.vectors)):
        for j in range(len(own)):
            is_same = words.forms[i] == words.forms[own[j]]
            products[i, j] = _multiply(words.vectors[i], words.vectors[own[j]])
            cosine = _rounded_cosine(products[i, j], squares[i] * squares[own[j]])
            cosines[i, j] = cosine + SAME_WORD * is_same if words.forms[i] else 0.0


@compiled()
def _choose_words(
    places: NDArray[np.int64], ends: NDArray[np.int64], products: Matrix[np.float32], cosines: Matrix[np.float64],
    sums: Matrix[np.float64], nearest: Matrix[np.int64],
) -> None:  # fmt: skip
    """Add up the products of each document's words, and find the first one with the best cosine.

    places: the distinct word of each word. ends: (documents + 1), each document's first word. nearest: −1 at first.
    """
    for document in range(len(sums)):
        for i in range(ends[document], ends[document + 1]):
            for j in range(sums.shape[1]):
                sums[document, j] += np.float64(products[places[i], j])
                cosine, best = cosines[places[i], j], nearest[document, j]
                if cosine >= MIN_WORD_SIMILARITY and (best < 0 or cosine > cosines[places[best], j]):
                    nearest[document, j] = i
