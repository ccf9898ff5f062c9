"""Completion of the word that is being typed, by how often its completions are stored and typed.

A completion is a term of the index with its weight. A word that may be complete comes before its completions, and the
fewer letters are typed, the less they all weigh. Texts that begin with *wha* are mostly those with *what*, so that few
are about a *whale*.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from askalike.core.arrays import Array, Bytes, Ints, Ints32
from askalike.core.iteration import lazy_property
from askalike.index.engine import TermsSearcher
from askalike.index.lexical.terms import code_points, find_near_terms, pack_terms, sign_terms
from askalike.rankers._queries_and_results import ResolvedQuery
from askalike.store import Snapshot
from askalike.text.analyzer import Analyzer
from askalike.text.language import ENGLISH, stop_words
from askalike.text.typos import is_likely_typo
from askalike.text.words import APOSTROPHES

WRITTEN = re.compile(rf"[^\W_]+(?:[{APOSTROPHES}][^\W_]+)*")
"""A word as it is written, such as *don't*."""
MAX_TITLES, MAX_LOGGED = 50_000, 10_000
"""Maximum number of titles whose words are known as written, and of logged queries that count."""
MIN_LETTERS = 3
"""Number of letters that say what a word may be, also one with a shorter stem, as *usi* may be *using* (`use`)."""
FUNCTION_WEIGHT = 0.3
"""Two letters say nothing if a function word with at least this weight begins with them."""
POWER = 0.25
"""Power of the ratio of a completion's frequency and the highest one: its weight."""
COMPLETE_SHARE = 0.01
"""Share of the highest frequency from which a word that is stored as typed may be complete."""
BEHIND = 0.7
"""The factor of the weights of its completions; these settings were chosen on ai.stackexchange, experiments/keys.py."""
STEM_ENDING = 2
"""Number of a term's last letters that may differ in a word: `batteri` is the stem of *battery*."""
MAX_NEW = 0.1
"""Share of an archive's questions and its log that may be new until their words are read again."""
MAX_REMEMBERED = 10_000


class Completion(NamedTuple):
    """What an unfinished word may be.

    weights: term → its weight, up to 1; empty if no text has a word that begins so. word: the most likely word; None if
    it is complete as it is, "" if its letters say too little.
    """

    weights: Mapping[str, float] = {}
    word: str | None = None


class ArchiveWords:
    """The words of an archive's titles as written, and how often terms are typed; read on first use."""

    def __init__(self, view: Snapshot, analyzer: Analyzer) -> None:
        self._view, self._analyzer = view, analyzer
        self._change, self._n_logged = view.last_change, view.logged_count
        self._size = len(view) + self._n_logged

    def are_old(self, view: Snapshot) -> bool:
        """Return whether so much was stored or typed since that they should be read again."""
        n_new = view.count_changed(self._change) + view.logged_count - self._n_logged
        return view != self._view or n_new > MAX_NEW * self._size

    @lazy_property
    def _counts(self) -> Counter[str]:
        titles = (title for _, _, title in islice(self._view.titles(), MAX_TITLES))
        return Counter(word for title in titles for word in WRITTEN.findall(title.lower()))

    @lazy_property
    def _sorted(self) -> Sequence[str]:
        return sorted(self._counts)

    @lazy_property
    def _dictionary(self) -> tuple[Bytes, Ints, Ints32, Array]:
        packed = pack_terms(self._sorted)
        return *packed, *sign_terms(*packed)

    @lazy_property
    def logged(self) -> Counter[str]:
        """The number of logged queries that have a term, by term."""
        texts, language = self._view.logged_titles(MAX_LOGGED), self._view.language
        return Counter(term for text in texts for term in {*self._analyzer.analyze(text, language)})

    def has(self, word: str) -> bool:
        """Return whether a title has a word, in lower case."""
        return word in self._counts

    def beginning_with(self, beginning: str) -> Iterator[tuple[int, str]]:
        """Yield how often a word with that beginning is in titles, and the word."""
        words = self._sorted
        for place in range(bisect_left(words, beginning), len(words)):
            if not (word := words[place]).startswith(beginning):
                break
            yield self._counts[word], word

    def misspelt_as(self, typed: str, max_cost: int) -> Sequence[str]:
        """Return the words that a typed one may be a misspelling of, the likeliest first. max_cost: see typos."""
        words = self._sorted
        ids, edits, _ = find_near_terms(*self._dictionary, 0, len(words), code_points(typed), max_cost, 0, False)
        near = ((n, words[i]) for i, n in zip(ids.tolist(), edits.tolist(), strict=True))
        likely = [(n, word) for n, word in near if is_likely_typo(typed, word, max_cost)]
        return [word for *_, word in sorted((n, word[0] != typed[0], -self._counts[word], word) for n, word in likely)]


class WordCompleter:
    """Completes the unfinished words of queries with the words of an index. words: those of its archive."""

    def __init__(self, postings: TermsSearcher, analyzer: Analyzer, words: ArchiveWords) -> None:
        self._postings, self._analyzer, self._words = postings, analyzer, words
        self._known: dict[tuple[str, str | None], Completion] = {}

    def finish(self, one: ResolvedQuery) -> ResolvedQuery:
        """Return a query with what its unfinished word may be."""
        if not one.prefix or one.query.body or not one.text[-1:].isalpha():
            return one
        _, typed = self._analyzer.split_prefix(one.text.split()[-1], one.language)
        if not typed or not typed.isalpha():
            return one
        weights, word = self.complete(typed, one.language)
        if word is None:
            return replace(one, completions=weights)
        before, last = one.text[: -len(typed)], one.text[-len(typed) :]
        corrections = dict(one.corrections)
        if word:
            corrections[next((as_typed for as_typed, meant in corrections.items() if meant == last), last)] = word
        finished = replace(one.query, title=before + word)
        return replace(one, completions=weights, finished=finished, corrections=corrections)

    def complete(self, typed: str, language: str | None) -> Completion:
        """Return what a word of letters, in lower case, may be."""
        known = self._known
        if (typed, language) not in known:
            if len(known) >= MAX_REMEMBERED:
                known = self._known = {}
            known[typed, language] = self._find(typed, language)
        return known[typed, language]

    def _find(self, typed: str, language: str | None) -> Completion:
        own = "".join(self._analyzer.analyze(typed, language)[:1])
        written = self._find_written(typed, language) if len(typed) >= MIN_LETTERS else {}
        stored = self._postings.speller.count([own, *written, *self._postings.complete(typed)])
        counts = {term: n + self._words.logged[term] for term, n in stored.items()}
        if not counts:
            return Completion()
        likely = max(counts, key=lambda term: (counts[term], term == own))
        weights = {term: (n / counts[likely]) ** POWER for term, n in counts.items()}
        word = written.get(likely) or self._write(likely, typed, language)
        function_words = stop_words(language or ENGLISH)
        is_stored = own in counts and (own not in written or self._words.has(typed))
        may_be_rare = len(typed) >= MIN_LETTERS and word not in function_words
        if is_stored and (own == likely or (may_be_rare and counts[own] >= COMPLETE_SHARE * counts[likely])):
            return Completion({term: BEHIND * weight for term, weight in weights.items()} | {own: 1.0})
        may_be_function_word = any(n >= FUNCTION_WEIGHT and term in function_words for term, n in weights.items())
        says_something = len(typed) >= MIN_LETTERS or (len(typed) > 1 and not may_be_function_word)
        typed_share = len(typed) / max(len(word), len(typed))
        weights = {term: typed_share * weight for term, weight in weights.items()}
        return Completion(weights, word if says_something else "")

    def _find_written(self, typed: str, language: str | None) -> dict[str, str]:
        """Return the terms of the words that begin as typed, each with its most frequent word."""
        found = sorted(self._words.beginning_with(typed))
        return {term: word for _, word in found for term in self._analyzer.analyze(word, language)}

    def _write(self, term: str, typed: str, language: str | None) -> str:
        """Return the most frequent word with a term that begins as typed; the term itself if no title has one."""
        found = self._words.beginning_with(term[: max(len(typed), len(term) - STEM_ENDING)])
        return max((row for row in found if self._analyzer.analyze(row[1], language) == [term]), default=(0, term))[1]
