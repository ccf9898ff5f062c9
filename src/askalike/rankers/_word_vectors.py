"""The words of texts with what each adds to a text's vector, as encoders know it whose vectors are sums of words."""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askalike.compiled import Matrix, compiled
from askalike.types import Answer, Question, Span

MIN_WORD_SIMILARITY = 0.4
"""The cosine from which two words are shown beside each other."""
SIMILARITY_DIGITS = 5
"""So many digits do not depend on what else is multiplied: of equally similar words the first counts."""
MAX_CACHED_FORMS = 1 << 16
MAX_CACHED_FIELDS = 1_024

TextFields = tuple[tuple[str, str], ...]
"""(field, plain text) of each field of a text."""
TextWords = tuple[Sequence[str], NDArray[np.float32]]
"""The n words of a plain text between white space, and what each adds to its vector: (n, dim)."""


@runtime_checkable
class AdditiveEncoder(Protocol):
    """An encoder whose vector of a text is the sum of its words' vectors."""

    def text(self, text: Question | Answer) -> str:
        """The plain text of a question or an answer that is encoded."""

    def words(self, texts: Sequence[str]) -> Sequence[TextWords]:
        """The words of plain texts, and what each adds to its text's vector."""


@runtime_checkable
class ContextualEncoder(AdditiveEncoder, Protocol):
    """An encoder whose words' vectors depend on the words around them: without one, the others change too."""

    averages_words: bool
    """Whether the vector of a text has about the direction of the sum of its words' vectors."""


class Word(NamedTuple):
    """A word and its place in a field."""

    text: str
    span: Span


class WordForm(NamedTuple):
    """A word from its first letter or digit to its last, the number of characters before it, and without case."""

    text: str
    offset: int
    folded: str


class EncodedWords:
    """The words of a text's fields with their vectors. encoded: of each field."""

    def __init__(self, texts: TextFields, encoded: Sequence[TextWords]) -> None:
        self._fields = [field for field, _ in texts]
        self._words = [words for words, _ in encoded]
        self.vectors = np.concatenate([vectors for _, vectors in encoded]) if encoded else np.empty((0, 0), np.float32)
        """(words, dim): what each word adds to the text's vector."""
        self.words = list(chain.from_iterable(self._words))
        self.forms = list(map(_FORMS.__getitem__, self.words))
        """The words without the punctuation around them."""

    def __len__(self) -> int:
        return len(self.forms)

    @cached_property
    def sum(self) -> NDArray[np.float32]:
        """The text's vector: (dim)."""
        total: NDArray[np.float32] = self.vectors.sum(axis=0)
        return total

    def word(self, n: int) -> Word:
        """The n-th of all words, without the punctuation around it."""
        form, place = self.forms[n], 0
        while n >= len(self._words[place]):
            n -= len(self._words[place])
            place += 1
        start = sum(map(len, self._words[place][:n])) + n + form.offset
        return Word(form.text, Span(self._fields[place], start, start + len(form.text)))


def find_nearest(query: EncodedWords, documents: Sequence[EncodedWords]) -> list[list[Word | None]]:
    """For each document, which has words, the most similar of them to each word of the query.

    The same word comes first; None where none is similar enough.
    """
    if not documents:
        return []
    vectors = np.concatenate([document.vectors for document in documents])
    similarities = np.empty((len(query), len(vectors)), np.float32)
    _write_cosines(query.vectors, vectors, similarities)
    numbers = {form.folded: n for n, form in enumerate(query.forms)}
    wanted = np.array([numbers[form.folded] for form in query.forms])
    present = np.array([numbers.get(form.folded, -1) for document in documents for form in document.forms])
    similarities = similarities.round(SIMILARITY_DIGITS) + 2.0 * (wanted[:, None] == present)
    nearest, start = [], 0
    for document in documents:
        own = similarities[:, start : start + len(document)]
        start += len(document)
        pairs = zip(own.argmax(axis=1).tolist(), own.max(axis=1).tolist(), strict=True)
        nearest.append([document.word(n) if best >= MIN_WORD_SIMILARITY else None for n, best in pairs])
    return nearest


class WordReader:
    """Reads the words of many texts at once."""

    def __init__(self, encoder: AdditiveEncoder) -> None:
        self._encoder = encoder
        self.plain_text = lru_cache(MAX_CACHED_FIELDS)(lambda text: " ".join(encoder.text(text).split()))
        """The plain text of a question that is encoded, with one space between words."""

    def read(self, texts: Sequence[TextFields]) -> list[EncodedWords]:
        """Return the words of each text."""
        encoded = iter(self._encoder.words([plain for text in texts for _, plain in text]))
        return [EncodedWords(text, [next(encoded) for _ in text]) for text in texts]


class _Forms(dict[str, WordForm]):
    """Word → its form, made on first use; emptied when it has too many words."""

    def __missing__(self, word: str) -> WordForm:
        if len(self) >= MAX_CACHED_FORMS:
            self.clear()
        form = self[word] = _strip_punctuation(word)
        return form


_FORMS = _Forms()


def _strip_punctuation(word: str) -> WordForm:
    if word.isalnum():
        return WordForm(word, 0, word.casefold())
    start = next((i for i, c in enumerate(word) if c.isalnum()), 0)
    end = len(word) - next((i for i, c in enumerate(reversed(word)) if c.isalnum()), 0)
    return WordForm(word[start:end], start, word[start:end].casefold())


@compiled(fastmath=True)
def _write_cosines(one: Matrix[np.float32], other: Matrix[np.float32], cosines: Matrix[np.float32]) -> None:
    """Write the cosine of each pair of rows, 0 where one is zero. So few products are not worth a library's threads."""
    for i in range(len(other)):
        length = np.float32(0)
        for k in range(other.shape[1]):
            length += other[i, k] * other[i, k]
        for j in range(len(one)):
            dot = own = np.float32(0)
            for k in range(other.shape[1]):
                dot += one[j, k] * other[i, k]
                own += one[j, k] * one[j, k]
            norms = np.sqrt(length * own)
            cosines[j, i] = dot / norms if norms > 0 else np.float32(0)
