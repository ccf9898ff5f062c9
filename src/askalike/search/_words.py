"""The words of a query by which its hits were found."""

from collections.abc import Sequence

from askalike.core.types import SearchHit


def found_words(hit: SearchHit) -> list[str]:
    """Return the distinct words of the query that were found in a hit."""
    contributions = hit.explanation.contributions if hit.explanation else ()
    return list(dict.fromkeys(contribution.word for contribution in contributions))


def corrected_words(hits: Sequence[SearchHit]) -> Sequence[str]:
    """Return the corrections of misspelt words of the query, such as `libary → library`, except unfinished words."""
    words = dict.fromkeys(word.partition(" ≈ ")[0] for hit in hits for word in found_words(hit))
    readings = ((word, *word.split(" → ")) for word in words if " → " in word)
    return [word for word, typed, meant in readings if not meant.casefold().startswith(typed.casefold())]
