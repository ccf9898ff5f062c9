"""Spelling corrections from the terms of an index."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from askalike.index.lexical.completions import count_live_documents
from askalike.index.lexical.edits import code_points, find_near_terms
from askalike.index.lexical.segment import MAX_REMEMBERED_TERMS, LiveSegment
from askalike.index.lexical.terms import find_prefix_range


class NearTerm(NamedTuple):
    """A term, its edit distance from a word, and the number of its letters that match that word."""

    term: str
    edits: int
    letters: int


class NearSearch(NamedTuple):
    """The parameters of `TermSpeller.near` for a word."""

    word: str
    max_edits: int
    beginning: int = 0
    tail: int = 0
    open_end: bool = False


class TermSpeller:
    """Finds the terms of some segments that are spelt similarly to a word."""

    def __init__(self, segments: Sequence[LiveSegment]) -> None:
        self._segments = segments
        self._is_known: dict[str, bool] = {}

    def unknown(self, terms: Sequence[str]) -> set[str]:
        """Return the terms that no live document contains."""
        if len(self._is_known) > MAX_REMEMBERED_TERMS:
            self._is_known = {}
        is_known = self._is_known
        if new := [term for term in dict.fromkeys(terms) if term not in is_known]:
            held = {term for _, term in count_live_documents(self._segments, new)}
            is_known.update((term, term in held) for term in new)
        return {term for term in terms if not is_known[term]}

    def docids(self, term: str, count: int) -> list[int]:
        """Return the lowest docids of the live questions that contain a term, up to a limit."""
        docids: list[int] = []
        for live in self._segments:
            [at] = live.find([term])
            docids += live.first_docids(at, count) if at >= 0 else []
        return sorted(docids)[:count]

    def docids_of_each(self, terms: Sequence[str], count: int) -> list[list[int]]:
        """Return the `docids` of each term."""
        return [self.docids(term, count) for term in terms]

    def near_each(self, searches: Sequence[NearSearch]) -> list[list[NearTerm]]:
        """Return the terms that are `near` each word."""
        return [
            self.near(s.word, s.max_edits, beginning=s.beginning, tail=s.tail, open_end=s.open_end) for s in searches
        ]

    def near(
        self, word: str, max_edits: int, *, beginning: int = 0, tail: int = 0, open_end: bool = False
    ) -> list[NearTerm]:
        """Return the live terms within an edit distance of a word.

        beginning: length of the prefix that word and term must share, which makes the search faster.
        tail: number of last letters that the term may lack, as the ending of an inflected form.
        open_end: the term may continue after the word, which is unfinished. Best first: by fewest edits, then the
        longest if there is a tail, those with the word's first letter, the highest document frequency.
        """
        letters = code_points(word)
        near: dict[str, NearTerm] = {}
        for live in self._segments:
            dictionary = live.segment.term_bytes, live.segment.term_offsets
            scanned = find_prefix_range(*dictionary, word[:beginning])
            ids, edits, ends = find_near_terms(
                *dictionary, *live.term_signatures, scanned.start, scanned.stop, letters, max_edits, tail, open_end
            )
            rows = zip(live.terms_at(ids), edits.tolist(), ends.tolist(), strict=True)
            near |= {term: NearTerm(term, n, end) for term, n, end in rows}

        counted = count_live_documents(self._segments, sorted(near))
        return rank_near_terms(word, tail, [(-count, near[term]) for count, term in counted])


def rank_near_terms(word: str, tail: int, counted: Iterable[tuple[int, NearTerm]]) -> list[NearTerm]:
    """Return terms near a word, best first. counted: each term with the number of questions that have it."""

    def key(one: tuple[int, NearTerm]) -> tuple[int, int, bool, int, str]:
        count, (term, edits, _) = one
        return edits, -len(term) if tail else 0, term[0] != word[0], -count, term

    return [near for _, near in sorted(counted, key=key)]
