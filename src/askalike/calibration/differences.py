"""Whether two titles that are almost the same ask the same: by the words that only one of them has.

Labels hold many rephrasings and hardly any pairs of questions that are one telling word apart, such as *Where can I
park?* and *Where can I park my boat?*. So one logistic curve, for all archives, separates duplicates from titles in
which a word was exchanged, added or dropped; see experiments/one_word_apart.py.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from askalike.text.analyzer import content_analyzer
from askalike.text.words import WORD

MAX_COUNTED_TITLES = 50_000
"""Maximum number of titles whose words are counted."""
FULL_SAMENESS = 0.7
"""Sameness of titles from which on it does not lower a probability: nearly all duplicates have it."""
MAX_LACKING = 3
"""Maximum number of lacking words that are distinguished."""
INTERCEPT = -5.978
WEIGHTS = (-1.658, -2.060, 3.092, 3.694, -7.622, 5.777, 11.791, -3.266, -3.517, -2.691, -2.858, -1.901)
"""Of the values of `measure_differences`; fitted on four archives."""


class TitleDifferences:
    """Compares titles of an archive. read_titles: returns its titles, whose words are counted when they are needed."""

    def __init__(self, read_titles: Callable[[], Sequence[str]]) -> None:
        self._read_titles = read_titles

    def sameness(self, query: str, hit: str, language: str | None) -> float:
        """Return the probability that two titles ask the same, if half of such pairs do; 1 for equal content words."""
        values = self.measure(query, hit, language)
        if values is None:
            return 1.0
        z = INTERCEPT + math.fsum(w * value for w, value in zip(WEIGHTS, values, strict=True))
        return 1 / (1 + math.exp(-z))

    def measure(self, query: str, hit: str, language: str | None) -> Sequence[float] | None:
        """Return the values that are weighed, None if both have the same content words: see `measure_differences`."""
        own, other = (_content_words(title, language) for title in (query, hit))
        if own.keys() == other.keys():
            return None
        return measure_differences({w: self._rarity(own[w]) for w in own}, {w: self._rarity(other[w]) for w in other})

    def _rarity(self, word: str) -> float:
        """Return the idf of a word, from 0 to 1 for a word that no title has."""
        titles, counts = self._counts
        return math.log((titles + 1) / (counts[word] + 1)) / math.log(titles + 1) if titles else 1.0

    @cached_property
    def _counts(self) -> tuple[int, Counter[str]]:
        titles = self._read_titles()
        counted = titles[:: max(1, len(titles) // MAX_COUNTED_TITLES)]
        return len(counted), Counter(word for title in counted for word in set(WORD.findall(title.lower())))


def measure_differences(own: dict[str, float], other: dict[str, float]) -> Sequence[float]:
    """Return values on the words that two titles share and lack. own, other: content word of each → its rarity.

    For each title the rarity of the rarest word that the other lacks, then the number of these words; the share of
    words that both have, and of each title's rarity; and products of these.
    """
    shared = own.keys() & other.keys()
    lacking = [[own[word] for word in own if word not in shared], [other[word] for word in other if word not in shared]]
    rarest, counts = [max(each, default=0.0) for each in lacking], [min(len(each), MAX_LACKING) for each in lacking]
    both = len(shared) / max(len(own.keys() | other.keys()), 1)
    weight = math.fsum(own[word] for word in shared)
    shares = [weight / max(math.fsum(each.values()), 1e-9) for each in (own, other)]
    products = (both * max(rarest), both**2, shares[0] * rarest[1], shares[1] * rarest[0], min(shares) ** 2)
    return (*rarest, *counts, both, *shares, *products)


def _content_words(title: str, language: str | None) -> dict[str, str]:
    """Return the term of each content word → the word in lower case."""
    plain = content_analyzer().plain_text(title, "text")
    spans: Iterable[tuple[str, int, int]] = content_analyzer().analyze_with_spans(plain, language)
    words: dict[str, str] = {}
    for term, start, end in spans:
        if end - start > 1 or not term.isalpha():  # the e of e-mail
            words.setdefault(term, plain[start:end].lower())
    return words
