"""The words of a query, as its hits were found by them."""

from collections.abc import Sequence

from askalike.types import SearchHit


def found_words(hit: SearchHit) -> list[str]:
    """Return the words of the query that were found in a hit, each once."""
    contributions = hit.explanation.contributions if hit.explanation else ()
    return list(dict.fromkeys(contribution.word for contribution in contributions))


def corrected_words(hits: Sequence[SearchHit]) -> Sequence[str]:
    """Return the misspelt words of the query as they were read, such as `libary → library`; no unfinished ones."""
    words = dict.fromkeys(word.partition(" ≈ ")[0] for hit in hits for word in found_words(hit))
    readings = ((word, *word.split(" → ")) for word in words if " → " in word)
    return [word for word, typed, meant in readings if not meant.casefold().startswith(typed.casefold())]
