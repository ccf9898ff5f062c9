"""Why two questions are thought to ask the same, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from askalike import registry
from askalike.service.pages.marking import drop_function_words, matched_words
from askalike.types import Contribution, Explanation

MAX_WORDS = 12
N_STRENGTHS = 4
MIN_WORD_SHARE = 0.05
"""Words that count less than this share of what the first does are left out."""


@dataclass(frozen=True, slots=True)
class WeightedWord:
    """A word that speaks for it (`bicycle ≈ bike` where two mean the same), and how much, from 1 to STRENGTHS."""

    text: str
    strength: int


@dataclass(frozen=True, slots=True)
class ExplanationSummary:
    """The words that count most, what words and what meaning add, as shares, and the document's words that matched.

    `phrasing`: another wording of the document, where that is what matched.
    """

    words: Sequence[WeightedWord]
    parts: Sequence[tuple[str, float]]
    matched: frozenset[str]
    phrasing: str


def summarise_explanation(explanation: Explanation | None, language: str | None = None) -> ExplanationSummary:
    """What an explanation says to people; `language`: the document's, where it is known."""
    explanation = explanation or Explanation(0.0)
    found = [c for c in explanation.contributions if c.fields and c.score > 0]
    said = drop_function_words(frozenset(map(_query_word, found)), language)
    most = max((c.score for c in found), default=0.0)
    speaking = [c for c in found if c.score > MIN_WORD_SHARE * most and _query_word(c) in said][:MAX_WORDS]
    words = [WeightedWord(c.word, ceil(N_STRENGTHS * c.score / most)) for c in speaking]
    return ExplanationSummary(
        words, _part_shares(explanation), matched_words(explanation, language), explanation.text.get("rephrasing", "")
    )


def _query_word(contribution: Contribution) -> str:
    """The word as it was asked for."""
    return contribution.word.partition(" ≈ ")[0].casefold()


def _part_shares(explanation: Explanation) -> list[tuple[str, float]]:
    total = sum(score for score in explanation.parts.values() if score > 0)
    lexical = registry.names("similarity")
    shares: dict[str, float] = {}
    for name, score in explanation.parts.items():
        if score > 0:
            kind = "shared words" if name in lexical else "meaning"
            shares[kind] = shares.get(kind, 0.0) + score / total
    return sorted(shares.items(), key=lambda share: -share[1])
