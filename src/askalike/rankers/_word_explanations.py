"""Explains scores by words: the words of a query, each with the most similar word of a document.

If an encoder's vectors are sums over words, the score is a sum over the query's words. Other encoders would have to
read the query again without each word, to see how much the score decreases. Instead, the packaged vectors of words
divide the score among the words that have a similar one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import accumulate, chain
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Floats
from askalike.core.hits import PAIR, Contribution, Explanation, Span
from askalike.core.records import Answer, Markup, Question
from askalike.encoders import DistinctWords, TextWords, build
from askalike.native.compiled import Matrix, compiled, inlined
from askalike.text.language import mark_languages
from askalike.text.words import WordForm, find_form

MIN_SUM = 1e-9
"""Minimum sum of contributions that is scaled to the score."""
MAX_WORDS = 24
"""Maximum number of words of a text that are left out, one at a time."""
MIN_WORD_SIMILARITY = 0.3
"""Minimum cosine of two words that are shown as a pair; see experiments/faithfulness.py."""
MAX_STAND_IN_WORDS = 32
"""Maximum number of a field's words that packaged vectors read for another encoder; more name hardly other words."""
SAME_WORD = 2.0
"""Added to the cosine of identical words, so that they come first."""
SIMILARITY_UNIT = 1e5
"""Cosines are rounded to five digits, as later ones depend on the order of addition; of equal ones the first counts."""

MAX_CACHED_LABELS, MAX_CACHED_READINGS = 4_096, 1_024
TextFields = Mapping[str, str]
"""Field → plain text of each field of a text."""
RawText = tuple[str, str, Markup]
"""A title, a body, and the body's markup."""


@runtime_checkable
class AdditiveEncoder(Protocol):
    """An encoder whose vector of a text is the sum of its words' vectors."""

    def text(self, text: Question | Answer) -> str:
        """Return the plain text of a question or an answer that is encoded, with one space between words."""

    def words(self, texts: Sequence[str]) -> TextWords:
        """Return the words of plain texts, and their contributions to their text's vector."""


class Word(NamedTuple):
    """A word and its position in a field."""

    text: str
    span: Span


class WordReader:
    """Reads the words of a query and of many documents at once. It caches plain texts: the next search shows them."""

    def __init__(self, encoder: AdditiveEncoder, *, stands_in: bool = False) -> None:
        """stands_in: whether scores are another encoder's."""
        self.encoder, self.stands_in = encoder, stands_in
        self.plain_text = lru_cache(MAX_CACHED_READINGS)(lambda *text: encoder.text(Question("", *text)))

    @classmethod
    def of_encoder(cls, encoder: object) -> "WordReader":
        """Return the reader of an encoder's own words if its vectors are sums over words, else of packaged vectors."""
        return cls(encoder) if isinstance(encoder, AdditiveEncoder) else _packaged_words()

    def leave_words_out(self, query: Question) -> list[Question]:
        """Return the query without each of its first MAX_WORDS words."""
        title = self.plain_text(query.title, "", "text").split()
        body = self.plain_text("", query.body, query.markup).split()
        shorter = [replace(query, title=text) for text in _leave_each_out(title)]
        shorter += [replace(query, body=text, markup="text") for text in _leave_each_out(body)]
        return shorter[:MAX_WORDS]


@cache
def _packaged_words() -> WordReader:
    """Return the reader of the packaged vectors of words."""
    settings = {"code": "drop", "longest": MAX_STAND_IN_WORDS}
    return WordReader(build("static", settings), stands_in=True)  # type: ignore[arg-type]


def _leave_each_out(words: Sequence[str]) -> list[str]:
    return [" ".join([*words[:n], *words[n + 1 :]]) for n in range(min(len(words), MAX_WORDS))]


class WordComparison:
    """The words of a plain query and of the plain fields of documents, each compared with each.

    languages: whose function words are not similar to any word; see mark_languages.
    """

    def __init__(
        self, encoder: AdditiveEncoder, query: str, documents: Sequence[TextFields], languages: Collection[str | None]
    ) -> None:
        texts = [query, *[text for fields in documents for text in fields.values()]]
        words = self._words = encoder.words(texts)
        numbers, ends = words.tokens.numbers, words.tokens.ends
        self._fields = ["", *chain.from_iterable(documents)]
        self._ends = ends[[*accumulate(map(len, documents), initial=1)]]
        """(documents + 1): the index of each document's first word among those of all texts."""
        self.query_forms = [find_form(words.known[number]) for number in numbers[: ends[1]].tolist()]
        """The query's words without surrounding punctuation."""
        distinct = words.distinct()
        is_function = words.rows.function_languages[numbers] & mark_languages(languages)
        distinct.forms[distinct.places[is_function > 0]] = 0
        own = distinct.places[: ends[1]]
        squares = np.empty(len(distinct.forms), np.float32)
        products = np.empty((len(squares), len(own)), np.float32)
        cosines = np.empty(products.shape)
        _compare_words(distinct, own, squares, products, cosines)
        shape = len(documents), len(own)
        self.products: Floats = np.zeros(shape)
        """The product of each word of the query with all words of each document, (documents, query's words)."""
        self.nearest_places = np.full(shape, -1, np.int64)
        """The indexes of the most similar words among those of all texts; −1 if none is similar enough."""
        _choose_words(distinct.places, self._ends, products, cosines, self.products, self.nearest_places)

    def nearest(self) -> list[list[Word | None]]:
        """Return, for each document, its most similar word to each word of the query.

        An identical word comes first; None if no word is similar enough.
        """
        tokens, known, names = self._words.tokens, self._words.known, self._fields
        places = np.maximum(self.nearest_places, 0)
        fields = tokens.ends.searchsorted(places, "right") - 1
        columns = self.nearest_places, tokens.numbers[places], fields, tokens.starts[places]

        def read(place: int, number: int, field: int, start: int) -> Word | None:
            if place < 0:
                return None
            text, offset, _ = find_form(known[number])
            return Word(text, Span(names[field], start + offset, start + offset + len(text)))

        documents = zip(*(column.tolist() for column in columns), strict=True)
        return [list(map(read, *document)) for document in documents]


def explain_by_words(
    reader: WordReader, name: str, query: Question, documents: Sequence[Mapping[str, RawText]], scores: Sequence[float],
    of_fields: Sequence[Mapping[str, float]], languages: Collection[str | None], losses: Floats | None = None,
) -> list[Explanation]:  # fmt: skip
    """Return the contributions of a query's words to the scores of a dense ranker.

    documents: the fields of each document. name: the ranker's, shown if no words can be. of_fields: the contributions
    of each document's fields. languages: see WordComparison. losses: the decrease of the scores without each of the
    query's first words, (documents, words); by default scores are divided by the reader's vectors.
    """
    texts = [{field: reader.plain_text(*text) for field, text in fields.items()} for fields in documents]
    plain_query = reader.plain_text(query.title, query.body, query.markup)
    words = WordComparison(reader.encoder, plain_query, texts, languages)
    products = np.where(words.nearest_places < 0, 0, words.products.clip(0)) if reader.stands_in else words.products
    explanations = []
    for place, (nearest, plain, score) in enumerate(zip(words.nearest(), texts, scores, strict=True)):
        added = products[place] if losses is None else losses[place]
        total = float(added.sum()) if losses is None else score
        shares = [] if abs(total) < MIN_SUM else [one * (score / total) for one in added.tolist()]
        if shares and score and any(plain.values()):
            rows, spans = _explain_words(words.query_forms, shares, nearest)
        else:
            rows = name_whole(name, score)
            spans = ()
        explanations.append(Explanation(score, rows, spans, plain, {}, of_fields[place]))
    return explanations


def name_whole(name: str, score: float) -> tuple[Contribution, ...]:
    """Return the name of a ranker as the only reason of a score."""
    return (Contribution(name, (), score),) if score else ()


def _explain_words(
    forms: Sequence[WordForm], shares: Sequence[float], nearest: Sequence[Word | None]
) -> tuple[tuple[Contribution, ...], tuple[Span, ...]]:
    """Return the contributions and spans of a document. nearest: its most similar word to each word of the query."""
    rows = [
        (pair_label(form.text, other.text), (other.span.field,), share) if other else (form.text, (), share)
        for form, other, share in zip(forms, nearest, shares, strict=False)
        if share
    ]
    return Contribution.of_rows(rows), tuple(dict.fromkeys([other.span for other in nearest if other]))


@lru_cache(MAX_CACHED_LABELS)
def pair_label(text: str, other: str) -> str:
    """Return a word or a window of the query with the one that it matches, if that differs by more than case."""
    return text if text == other or text.casefold() == other.casefold() else f"{text}{PAIR}{other}"


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
    0 for a word without a form, as a dash is nobody's word.
    """
    for i in range(len(words.vectors)):
        squares[i] = _multiply(words.vectors[i], words.vectors[i])
    for i in range(len(words.vectors)):
        for j in range(len(own)):
            is_same = words.forms[i] == words.forms[own[j]]
            products[i, j] = _multiply(words.vectors[i], words.vectors[own[j]])
            cosine = _rounded_cosine(products[i, j], squares[i] * squares[own[j]])
            has_forms = words.forms[i] and words.forms[own[j]]
            cosines[i, j] = cosine + SAME_WORD * is_same if has_forms else 0.0


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
