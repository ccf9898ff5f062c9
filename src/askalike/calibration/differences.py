"""Whether two titles that are almost the same ask the same: by the words that only one of them has, and by negations.

Labels hold many rephrasings and hardly any pairs of questions that are one telling word apart, such as *What does
printing cost?* and *What does 3D printing cost?*. Rephrasings say other words in another order; titles in which one
word was exchanged, added or dropped keep all others in their places. So one logistic curve over the words in common, in
order, separates both for all archives; see experiments/one_word_apart.py.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from askalike.core.records import Question
from askalike.text.analyzer import content_analyzer, word_analyzer
from askalike.text.words import WORD, fold_title

_NEGATIONS: Final[Mapping[str, str]] = {
    "en": "not never no cannot without neither nor none nobody nothing",
    "de": "nicht kein keine keinen keinem keiner keines nie niemals ohne",
    "fr": "ne pas jamais sans",
    "es": "no nunca jamás sin",
    "it": "non mai senza",
    "pt": "não nunca nem sem",
    "nl": "niet geen nooit zonder",
    "ru": "не нет нельзя никогда без",
}
"""Words of negation by language; the English ones are used for all other languages."""
_AFFIRMING: Final = re.compile(r"\b(?:not|nicht|non|no) (?:only|just|nur|solo|sólo|soltanto)\b", re.IGNORECASE)
_CONTRACTED: Final = re.compile(r"n['’]t\b")
_TOKEN: Final = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+|%")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_DATES: Final = re.compile(
    r"\b(?:january|february|march|april|june|july|august|september|october|november|december"
    r"|(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?"
    r"|januar|februar|märz|mai|juni|juli|oktober|dezember"
    r"|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?)\b",
    re.IGNORECASE,
)
"""Months and weekdays, in English and German."""
_NUMBER_WORDS: Final = frozenset(
    ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
)
COUNTED_TITLES = 5_000
"""Maximum number of titles whose words are counted."""
MAX_RARE_COUNT = 1
"""Maximum number of counted titles with a word that the archive hardly knows."""
FULL_SAMENESS = 0.4
"""Sameness of titles from which on it does not lower a probability."""
MAX_WORDS = 60
"""Maximum number of words of a title that are compared in order."""
TITLE_CACHE_SIZE = 10_000
"""The number of titles whose words are cached."""
FILLERS = frozenset([
    "thanks", "thank", "please", "hello", "hi", "may", "danke", "bitte", "hallo", "möchte", "möchten", "merci",
    "gracias", "hola", "спасибо", "пожалуйста",
])  # fmt: skip
"""Words of courtesy and wishing, which change no question: no content words here."""
ARTICLES = frozenset([
    "a", "an", "the", "ein", "eine", "einen", "einem", "einer", "eines", "der", "die", "das", "den", "dem", "des",
    "le", "la", "les", "l", "un", "une", "du", "el", "los", "las", "una",
])  # fmt: skip
"""Words that come and go with the noun that is exchanged: *a tool*, *e-books*. They are left out of the order."""
INTERCEPT, WEIGHTS = 5.46, (-4.80, -4.57, -1.54)
"""Of the values of `measure_differences`."""


def is_negated(sentence: str, language: str | None = None) -> bool:
    """Return whether a sentence has a word of negation; `not only` does not count."""
    plain = _AFFIRMING.sub(" ", sentence.lower())
    return bool(_CONTRACTED.search(plain)) or not _negations(language).isdisjoint(_TOKEN.findall(plain))


@lru_cache(maxsize=20_000)
def content_words(sentence: str, language: str | None = None) -> frozenset[str]:
    """Return the stems of a sentence's content words, without numbers, dates and words of negation."""
    plain = _DATES.sub(" ", _CONTRACTED.sub(" ", sentence.lower()))
    words = (w for w in _TOKEN.findall(plain) if w not in _negations(language) and w not in _NUMBER_WORDS)
    return frozenset(
        content_analyzer().analyze(" ".join(w for w in words if not w[0].isdigit() and w != "%"), language)
    )


@lru_cache
def _negations(language: str | None) -> frozenset[str]:
    return frozenset(_NEGATIONS.get(language or "en", _NEGATIONS["en"]).split())


class ReadTitle(NamedTuple):
    """The words of a title.

    terms: all. ordered: all in order, without articles and single letters. content: the term of each content word → the
    word in lower case. is_negated: whether the title denies something.
    """

    terms: frozenset[str]
    ordered: Sequence[str]
    content: Mapping[str, str]
    is_negated: bool

    def says_the_same(self, other: "ReadTitle") -> bool:
        """Return whether both have the same content words, and both deny something or neither does."""
        return self.content.keys() == other.content.keys() and self.is_negated == other.is_negated


class TitleDifferences:
    """Compares titles of an archive. read_titles: returns titles of it, whose words are counted when they are needed.

    language, in its methods: of both titles, None if unknown.
    """

    def __init__(self, read_titles: Callable[[], Sequence[str]]) -> None:
        self._read_titles = read_titles
        self.read = lru_cache(TITLE_CACHE_SIZE)(read_title)

    def sameness(self, query: str, hit: str, language: str | None) -> float:
        """Return the probability that two titles ask the same, if half of such pairs do; 1 for equal content words.

        It is 0 if each has a number that the other lacks, as *exercise 2.2* and *exercise 2.4*.
        """
        if _have_other_numbers(query, hit):
            return 0.0
        own, other = (self.read(title, language) for title in (query, hit))
        if own.says_the_same(other):
            return 1.0
        values = measure_differences(own.ordered, other.ordered)
        return 1 / (1 + math.exp(-INTERCEPT - math.fsum(w * v for w, v in zip(WEIGHTS, values, strict=True))))

    def differ_in_function_words(self, query: str, hit: str, language: str | None) -> bool:
        """Return whether two titles have the same content words and numbers, and both or neither deny something."""
        own, other = (self.read(title, language) for title in (query, hit))
        return bool(own.content) and own.says_the_same(other) and not _have_other_numbers(query, hit)

    def asks_more(self, query: str, hit: Question, language: str | None) -> bool:
        """Return whether a query has the content word of a hit's title and one more, which no text of the hit has.

        The archive hardly knows that word: *Where can I park my boat?* asks more than *Where can I park?*.
        """
        own, other = (self.read(title, language).content for title in (query, hit.title))
        if len(other) > 1 or other.keys() - own.keys():
            return False
        known = {*other, *_terms_of_texts(hit, language)}
        new = [word for term, word in own.items() if term not in known]
        return len(new) == 1 and self._counts[new[0]] <= MAX_RARE_COUNT

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(word for title in self._read_titles() for word in set(WORD.findall(title.lower())))


def read_title(title: str, language: str | None) -> ReadTitle:
    """Return the words of a title."""
    plain = content_analyzer().plain_text(title, "text")
    telling = {start for _, start, _ in content_analyzer().analyze_with_spans(plain, language)}
    terms: set[str] = set()
    ordered: list[str] = []
    content: dict[str, str] = {}
    for term, start, end in word_analyzer().analyze_with_spans(plain, language):
        word = plain[start:end].lower()
        terms.add(term)
        if word in ARTICLES or (len(word) == 1 and word.isalpha()):  # the e of e-mail
            continue
        ordered.append(term)
        if start in telling and word not in FILLERS:
            content.setdefault(term, word)
    return ReadTitle(frozenset(terms), ordered, content, is_negated(plain, language))


def measure_differences(own: Sequence[str], other: Sequence[str]) -> Sequence[float]:
    """Return values on the terms that two titles have in common, in order.

    Their share of the longer title's terms; whether they are all but one of these, and all but two.
    """
    own, other = own[:MAX_WORDS], other[:MAX_WORDS]
    longest = max(len(own), len(other), 1)
    common = _count_common(own, other)
    return common / longest, float(longest - common == 1), float(longest - common == 2)


def _have_other_numbers(own: str, other: str) -> bool:
    """Return whether each of two titles has a number that the other lacks."""
    first, second = (set(_NUMBER.findall(title)) for title in (own, other))
    return bool(first - second and second - first)


def is_phrasing(text: str, question: Question) -> bool:
    """Return whether a text is one of a question's rephrasings, but for case and punctuation."""
    return bool(question.rephrasings) and fold_title(text) in map(fold_title, question.rephrasings)


def _count_common(own: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    lengths = [0] * (len(other) + 1)
    for term in own:
        diagonal = 0
        for place, other_term in enumerate(other, 1):
            longest = diagonal + 1 if term == other_term else max(lengths[place], lengths[place - 1])
            diagonal = lengths[place]
            lengths[place] = longest
    return lengths[-1]


def _terms_of_texts(question: Question, language: str | None) -> Sequence[str]:
    """Return the terms of a question's rephrasings and body."""
    body = content_analyzer().plain_text(question.body, question.markup)
    return content_analyzer().analyze("\n".join((*question.rephrasings, body)), language)
