"""Contradictions between two sentences on the same subject: numbers, dates and negation.

By rules only: if two sentences share most content words, their numbers with the same unit, their months and weekdays,
and the presence of a negation are compared.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from askalike.text.analyzer import content_analyzer
from askalike.text.sentences import split_sentences
from askalike.text.stop_words import stop_words

MIN_OVERLAP: Final = 0.6
"""Minimum Jaccard similarity of the content words of two sentences on the same subject."""
MIN_WORDS: Final = 2
"""Sentences with fewer content words are not compared."""
MAX_SENTENCES: Final = 60
"""Maximum number of sentences of a text that are compared."""

DifferenceKind = Literal["number", "date", "negation"]

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
_DATES: Final = re.compile(
    r"\b(?:(january|february|march|april|june|july|august|september|october|november|december)"
    r"|(monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?"
    r"|(januar|februar|märz|mai|juni|juli|oktober|dezember)"
    r"|(montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?)\b",
    re.IGNORECASE,
)
"""Months and weekdays, in English and German; only words of the same group are compared."""
_NUMBER_WORDS: Final[Mapping[str, str]] = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClaimDifference:
    """Two contradicting sentences, one from each text."""

    kind: DifferenceKind
    one: str
    other: str


class Claims:
    """The sentences of a text with their content words, to be compared with another text's."""

    def __init__(self, text: str, language: str | None = None) -> None:
        self.language = language
        self.sentences = [
            s for s in split_sentences(text)[:MAX_SENTENCES] if len(content_words(s, language)) >= MIN_WORDS
        ]

    def differences(self, other: "Claims") -> list[ClaimDifference]:
        """Return the distinct differences between both texts.

        A sentence is compared with the sentences of the other text on the same subject; it differs if none of them
        agrees with it.
        """
        found: dict[tuple[str, str], ClaimDifference] = {}
        for sentence in self.sentences:
            similar = other.find_similar(sentence)
            kinds = [compare_sentences(sentence, candidate, self.language) for candidate in similar]
            if kinds and all(kinds):
                difference = ClaimDifference(kinds[0] or "number", sentence, similar[0])
                found.setdefault((difference.kind, difference.other), difference)
        return list(found.values())

    def find_similar(self, sentence: str) -> Sequence[str]:
        """Return the sentences on the same subject as another one, most similar first."""
        words = content_words(sentence, self.language)
        overlaps = [(_jaccard(words, content_words(own, self.language)), own) for own in self.sentences]
        return [own for overlap, own in sorted(overlaps, key=lambda pair: -pair[0]) if overlap >= MIN_OVERLAP]


def compare_sentences(one: str, other: str, language: str | None = None) -> DifferenceKind | None:
    """Return the kind of difference between two sentences on the same subject; None if there is none."""
    if is_negated(one, language) != is_negated(other, language):
        return "negation"
    if _have_different_values(_date_values(one), _date_values(other)):
        return "date"
    return "number" if _have_different_values(_number_values(one), _number_values(other)) else None


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


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


def _have_different_values(one: Mapping[str, set[str]], other: Mapping[str, set[str]]) -> bool:
    """Return whether, for some unit, each sentence has a value that the other does not have."""
    return any(one[unit] - other[unit] and other[unit] - one[unit] for unit in one.keys() & other.keys())


def _number_values(sentence: str) -> Mapping[str, set[str]]:
    """Map the content word after each number ("" without one) to the numbers before it."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    tokens = [_NUMBER_WORDS.get(token, token) for token in _TOKEN.findall(sentence.lower())]
    for place, token in enumerate(tokens):
        if token[0].isdigit():
            following = (t for t in tokens[place + 1 : place + 4] if not t[0].isdigit() and t not in stop_words("en"))
            values[next(following, "")].add(re.sub(r",(?=\d{3}\b)", "", token))
    return values


def _date_values(sentence: str) -> Mapping[str, set[str]]:
    values: defaultdict[str, set[str]] = defaultdict(set)
    for match in _DATES.finditer(sentence):
        values[str(match.lastindex)].add(str(match[match.lastindex or 0]).lower())
    return values
