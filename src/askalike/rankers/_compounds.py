"""Compound words of queries and their parts, by the words of the archive: there is no list of words.

*Versandkosten* finds *Versand* and *Kosten*, and *Kosten für den Versand* finds *Versandkosten*.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from askalike.index.engine import TermsSearcher
from askalike.rankers._queries_and_results import ResolvedQuery
from askalike.text.analyzer import Analyzer
from askalike.text.language import stop_words
from askalike.text.words import WORD

COMPOUNDING = ("da", "de", "nl", "no", "sv")
"""Languages that write compounds as one word."""
MIN_PART = 4
"""Minimum number of letters of a part."""
LINKS = ("", "s")
"""Letters between the parts of a compound; other linking letters are endings, which stemmers drop."""
MAX_WORDS = 12
"""Maximum number of words of a query whose compounds are looked for."""


def read_compounds(
    queries: Sequence[ResolvedQuery], postings: TermsSearcher, analyzer: Analyzer
) -> list[ResolvedQuery]:
    """Return the queries whose compounds have a hyphen between their parts, or a space if only the parts are known.

    Compounds of two words of a query stand after its title. Only words that the archive has count. The texts that
    encoders read stay as they are.
    """
    words = [list(_find_words(one, analyzer)) for one in queries]
    if not any(words):
        return list(queries)
    candidates = {(word, one.language) for one, own in zip(queries, words, strict=True) for word in _candidates(own)}
    stems = {key: _stem(*key, analyzer) for key in candidates}
    counts = postings.speller.count(sorted(set(filter(None, stems.values()))))
    known = {key: stem for key, stem in stems.items() if stem in counts}
    return [_join_and_divide(one, own, known) if own else one for one, own in zip(queries, words, strict=True)]


def _find_words(one: ResolvedQuery, analyzer: Analyzer) -> Iterator[str]:
    """Yield the words in lower case that may be parts or compounds, and their stems; not one that is being typed."""
    found = list(WORD.finditer(one.text)) if one.language in COMPOUNDING else []
    for match in found if len(found) <= MAX_WORDS else ():
        word = match[0].lower()
        is_unfinished = one.prefix and match.end() == len(one.text)
        is_content = word.isalpha() and word not in stop_words(one.language or "")
        if len(word) >= MIN_PART and is_content and not is_unfinished:
            yield word
            yield _stem(word, one.language, analyzer)


def _divisions(word: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to divide a word in two, the most equal parts first."""
    places = sorted(range(MIN_PART, len(word) - MIN_PART + 1), key=lambda place: abs(2 * place - len(word)))
    return ((word[:place], word[place:]) for place in places)


def _compounds(words: Sequence[str]) -> Iterator[str]:
    return (f"{first}{link}{second}" for first, second in permutations(dict.fromkeys(words), 2) for link in LINKS)


def _candidates(words: Sequence[str]) -> Iterator[str]:
    """Yield the words, their possible parts, and the possible compounds of two of them."""
    yield from words
    yield from (part for word in words for division in _divisions(word) for part in division)
    yield from _compounds(words)


def _stem(word: str, language: str | None, analyzer: Analyzer) -> str:
    """Return the term of a word; "" if it has none, or several."""
    terms = analyzer.analyze(word, language)
    return terms[0] if len(terms) == 1 else ""


def _join_and_divide(
    one: ResolvedQuery, words: Sequence[str], known: Mapping[tuple[str, str | None], str]
) -> ResolvedQuery:
    """known: the words that the archive has, with their language → their terms."""

    def is_known(word: str) -> bool:
        return (word, one.language) in known

    text = one.text
    for match in reversed([match for match in WORD.finditer(text) if match[0].lower() in words]):
        word = match[0].lower()
        if division := next((pair for pair in _divisions(word) if all(map(is_known, pair))), None):
            joint = match.start() + len(division[0])
            text = f"{text[:joint]}{'-' if is_known(word) else ' '}{text[joint:]}"
    joined = {known[word, one.language]: word for word in _compounds(words) if is_known(word)}
    return replace(one, text=" ".join((text, *joined.values()))) if joined or text != one.text else one
