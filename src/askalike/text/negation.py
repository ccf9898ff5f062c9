"""Negation: whether a sentence denies something, and the content words that show what it is about."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from askalike.text.analyzer import content_analyzer

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
