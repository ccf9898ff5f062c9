"""Why two questions are thought to ask the same, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from askalike import registry
from askalike.service.pages.marking import matched, telling
from askalike.types import Contribution, Explanation

MOST_WORDS = 12
STRENGTHS = 4
LEAST = 0.05
"""Words that count less than this share of what the first does are left out."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A word that speaks for it (`bicycle ≈ bike` where two mean the same), and how much, from 1 to STRENGTHS."""

    text: str
    strength: int


@dataclass(frozen=True, slots=True)
class Why:
    """The words that count most, what words and what meaning add, as shares, and the document's words that matched.

    `phrasing`: another wording of the document, where that is what matched.
    """

    words: Sequence[Weighed]
    parts: Sequence[tuple[str, float]]
    matched: frozenset[str]
    phrasing: str


def why(reason: Explanation | None, language: str | None = None) -> Why:
    """What an explanation says to people; `language`: the document's, where it is known."""
    reason = reason or Explanation(0.0)
    found = [c for c in reason.contributions if c.fields and c.score > 0]
    said = telling(frozenset(map(_asked, found)), language)
    most = max((c.score for c in found), default=0.0)
    speaking = [c for c in found if c.score > LEAST * most and _asked(c) in said][:MOST_WORDS]
    words = [Weighed(c.word, ceil(STRENGTHS * c.score / most)) for c in speaking]
    return Why(words, _parts(reason), matched(reason, language), reason.text.get("rephrasing", ""))


def _asked(contribution: Contribution) -> str:
    """The word as it was asked for."""
    return contribution.word.partition(" ≈ ")[0].casefold()


def _parts(reason: Explanation) -> list[tuple[str, float]]:
    total = sum(score for score in reason.parts.values() if score > 0)
    lexical = registry.names("similarity")
    shares: dict[str, float] = {}
    for name, score in reason.parts.items():
        if score > 0:
            kind = "shared words" if name in lexical else "meaning"
            shares[kind] = shares.get(kind, 0.0) + score / total
    return sorted(shares.items(), key=lambda share: -share[1])
