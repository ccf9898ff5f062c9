"""The words of an index, in any of its fields: completions of unfinished words, and words spelt like another."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from askalike.core.arrays import Array
from askalike.index.lexical.segment import LiveSegment
from askalike.index.lexical.term_scores import KnownTerms
from askalike.index.lexical.terms import code_points, find_near_terms, mark_terms, pack_terms, sign_terms, word_of
from askalike.index.rows import find_distinct

MAX_COMPLETIONS = 24
MAX_CACHED_PREFIXES = 10_000
MAX_CACHED_WORDS = 1 << 18


class NearTerm(NamedTuple):
    """A term, its edit distance from a word, and the number of its letters that match that word."""

    term: str
    edits: int
    letters: int


class NearSearch(NamedTuple):
    """A word of which the terms within an edit distance are searched for.

    beginning: length of the prefix that word and term must share, which makes the search faster.
    tail: number of last letters that the term may lack, as the ending of an inflected form.
    open_end: the term may continue after the word, which is unfinished.
    """

    word: str
    max_edits: int
    beginning: int = 0
    tail: int = 0
    open_end: bool = False


class TermVocabulary:
    """The words of some segments, without the marks of fields. A word's df is the highest of its df in the fields.

    look_up: returns known terms, and the numbers of some terms among them.
    """

    def __init__(
        self, segments: Sequence[LiveSegment], field_count: int,
        look_up: Callable[[Sequence[str]], tuple[KnownTerms, Array]],
    ) -> None:  # fmt: skip
        self._segments, self._fields, self._look_up = segments, range(field_count), look_up
        self._counts: dict[str, int] = {}
        self._completions: dict[str, list[str]] = {}

    def complete(self, prefix: str) -> list[str]:
        """Return the live terms that begin with a prefix, by descending document frequency, at most MAX_COMPLETIONS."""
        completions = self._completions.get(prefix)
        if completions is None:
            if len(self._completions) >= MAX_CACHED_PREFIXES:
                self._completions.clear()
            completions = self._completions[prefix] = self._find_completions(prefix)
        return completions

    def count(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the df of each term that a live document contains, at least 1; others are left out."""
        if len(self._counts) > MAX_CACHED_WORDS:
            self._counts = {}
        counts = self._counts
        if new := [term for term in dict.fromkeys(terms) if term not in counts]:
            df, held = self._count(new)
            counts.update(zip(new, np.where(held, np.maximum(df, 1), 0).tolist(), strict=True))
        return {term: n for term in terms if (n := counts[term])}

    def docids_of_each(self, terms: Sequence[str], count: int) -> list[list[int]]:
        """Return the lowest docids of the live questions that contain each term, up to a limit."""
        found: list[list[Array]] = [[np.empty(0, np.int64)] for _ in terms]
        known, numbers = self._find(terms)
        for live, ids in zip(self._segments, known.segment_ids, strict=True):
            for field in live.own_fields if terms else ():
                own = ids[numbers[field]]
                held = (own >= 0).nonzero()[0]
                for place, docids in zip(held.tolist(), live.first_docids(own[held], count), strict=True):
                    found[place].append(docids)
        return [find_distinct(np.concatenate(own))[:count].tolist() for own in found]

    def near_each(self, searches: Sequence[NearSearch]) -> list[list[NearTerm]]:
        """Return the live terms near each word, best first: see rank_near_terms."""
        found = [self._find_near(one) for one in searches]
        df = {term: -n for n, term in self._count_live_documents(sorted({term for own in found for term in own}))}
        return [
            rank_near_terms(one.word, one.tail, [(df[term], near) for term, near in own.items() if term in df])
            for one, own in zip(searches, found, strict=True)
        ]

    def _find_near(self, one: NearSearch) -> dict[str, NearTerm]:
        """Return the terms within an edit distance of a word, whether or not a live document contains them."""
        near: dict[str, NearTerm] = {}
        for live in self._segments:
            dictionary = live.segment.term_bytes, live.segment.term_offsets
            for field in live.own_fields:
                scanned = live.prefix_range(field, one.word[: one.beginning])
                [marked] = mark_terms([one.word], field)
                ids, edits, ends = find_near_terms(
                    *dictionary, *live.term_signatures, scanned.start, scanned.stop, code_points(marked),
                    one.max_edits, one.tail, one.open_end,
                )  # fmt: skip
                mark_letters = len(marked) - len(one.word)
                terms = map(word_of, live.terms_at(ids))
                rows = zip(terms, edits.tolist(), (ends - mark_letters).tolist(), strict=True)
                near |= {term: NearTerm(term, n, end) for term, n, end in rows}
        return near

    def _find_completions(self, prefix: str) -> list[str]:
        size = 2 * MAX_COMPLETIONS
        while True:  # a word may be at the top overall without being so in any segment or field
            found = [[live.complete(field, prefix, size) for live in self._segments] for field in self._fields]
            words = {word for of_field in found for own in of_field for word in own.words}
            ranked = sorted(self._count_live_documents(sorted(words)))
            unseen = max(sum(own.next_df for own in of_field) for of_field in found)
            is_certain = sum(-count > unseen for count, _ in ranked[:MAX_COMPLETIONS]) == MAX_COMPLETIONS
            if is_certain or all(own.is_all for of_field in found for own in of_field):
                return [word for _, word in ranked[:MAX_COMPLETIONS]]
            size *= 4

    def _count_live_documents(self, words: Sequence[str]) -> list[tuple[int, str]]:
        """Return (−df, word) for the words that a live document contains."""
        df, held = self._count(words)
        return [(-n, word) for n, word, is_held in zip(df.tolist(), words, held.tolist(), strict=True) if is_held]

    def _count(self, words: Sequence[str]) -> tuple[Array, Array]:
        """Return the df of each word, and whether a live document contains it."""
        known, numbers = self._find(words)
        df = known.df[numbers].max(axis=0, initial=0).astype(np.int64)
        held = df > 0
        if not held.all():  # words of rephrasings only, of deleted documents, or of none
            rest = (~held).nonzero()[0]
            for live, ids in zip(self._segments, known.segment_ids, strict=True):
                own = ids[numbers[:, rest]]
                if own.max(initial=-1) >= 0:
                    held[rest] |= live.has_live_documents(own.ravel()).reshape(own.shape).any(axis=0)
        return df, held

    def _find(self, words: Sequence[str]) -> tuple[KnownTerms, Array]:
        """Return known terms, and the number of each word in each field among them: (fields, words)."""
        known, numbers = self._look_up([term for field in self._fields for term in mark_terms(words, field)])
        return known, numbers.reshape(len(self._fields), len(words))


def rank_near_terms(word: str, tail: int, counted: Iterable[tuple[int, NearTerm]]) -> list[NearTerm]:
    """Return terms near a word, best first: by fewest edits, then the longest if there is a tail, those with the word's
    first letter, the highest document frequency. counted: each term with the number of questions that have it.
    """

    def key(one: tuple[int, NearTerm]) -> tuple[int, int, bool, int, str]:
        count, (term, edits, _) = one
        return edits, -len(term) if tail else 0, term[0] != word[0], -count, term

    return [near for _, near in sorted(counted, key=key)]


def select_near_terms(search: NearSearch, counts: Mapping[str, int]) -> list[NearTerm]:
    """Return the terms near a word, best first: see rank_near_terms. counts: term → number of its questions."""
    terms = sorted(counts)
    dictionary = pack_terms(terms)
    ids, edits, ends = find_near_terms(
        *dictionary, *sign_terms(*dictionary), 0, len(terms), code_points(search.word),
        search.max_edits, search.tail, search.open_end,
    )  # fmt: skip
    rows = zip(ids.tolist(), edits.tolist(), ends.tolist(), strict=True)
    near = [(counts[terms[i]], NearTerm(terms[i], n, end)) for i, n, end in rows]
    return rank_near_terms(search.word, search.tail, near)
