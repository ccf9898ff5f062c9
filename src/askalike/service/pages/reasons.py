"""Why two questions are thought to ask the same, in words."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from askalike.core import registry
from askalike.core.hits import Contribution, Explanation
from askalike.search.explain import drop_function_words, sum_fields
from askalike.service.pages.languages import mark

MAX_WORDS = 12
N_STRENGTHS = 4
MIN_WORD_SHARE = 0.05
"""Minimum share of the heaviest word's score for a word to be shown."""
FIELD_NAMES = (
    mark("title"), mark("body"), mark("title and body"), mark("accepted answer"), mark("another phrasing"),
)  # fmt: skip
"""The names of fields in the catalogues; see sum_fields."""


@dataclass(frozen=True, slots=True)
class WeightedWord:
    """A word that contributes to a match (`bicycle ≈ bike` for a synonym)."""

    text: str
    strength: int
    """Its strength, from 1 to N_STRENGTHS."""


@dataclass(frozen=True, slots=True)
class ExplanationSummary:
    """An explanation as a page shows it."""

    words: Sequence[WeightedWord]
    """The query's words with the greatest weights, the heaviest first."""
    parts: Sequence[tuple[str, float]]
    """The shares of the score that come from shared words and from meaning, the greater first."""
    fields: Sequence[tuple[str, float]]
    """The shares of the score by field, the greatest first."""
    matched: frozenset[str]
    """The document's words that matched, case-folded."""
    phrasing: str
    """The alternative phrasing of the document that matched; "" if its own title did."""


def summarise_explanation(explanation: Explanation | None, language: str | None = None) -> ExplanationSummary:
    """Return the summary of an explanation; `language`: the document's, if it is known."""
    explanation = explanation or Explanation(0.0)
    matching = [c for c in explanation.contributions if c.fields and c.score > 0]
    content_words = drop_function_words(frozenset(map(_query_word, matching)), language)
    max_score = max((c.score for c in matching), default=0.0)
    heavy = [c for c in matching if c.score > MIN_WORD_SHARE * max_score and _query_word(c) in content_words]
    distinct: dict[str, Contribution] = {}
    for contribution in heavy:
        distinct.setdefault(contribution.word.casefold(), contribution)
    return ExplanationSummary(
        [WeightedWord(c.word, ceil(N_STRENGTHS * c.score / max_score)) for c in list(distinct.values())[:MAX_WORDS]],
        _part_shares(explanation),
        _to_shares(sum_fields(explanation)),
        matched_words(explanation, language),
        explanation.text.get("rephrasing", ""),
    )


def matched_words(explanation: Explanation | None, language: str | None) -> frozenset[str]:
    """Return the words of a document that matched, as written in it, case-folded.

    Function words of the document's language (of all languages if it is not known) are left out if others matched.
    """
    if explanation is None:
        return frozenset()
    words = frozenset(explanation.text[s.field][s.start : s.end].casefold() for s in explanation.spans)
    return drop_function_words(words, language)


def _query_word(contribution: Contribution) -> str:
    return contribution.word.partition(" ≈ ")[0].casefold()


def _part_shares(explanation: Explanation) -> list[tuple[str, float]]:
    lexical = registry.names("similarity")
    sums: dict[str, float] = defaultdict(float)
    for name, score in explanation.parts.items():
        sums[mark("shared words") if name in lexical else mark("meaning")] += max(score, 0.0)
    return _to_shares(sums)


def _to_shares(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return name and share of those above 0, the greatest first."""
    total = sum(score for score in scores.values() if score > 0)
    shares = [(name, score / total) for name, score in scores.items() if score > 0]
    return sorted(shares, key=lambda share: -share[1])
