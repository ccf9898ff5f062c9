"""Completions of an unfinished word from the terms of an index."""

from collections.abc import Sequence

import numpy as np

from askalike.index.lexical.segment import LiveSegment

MAX_COMPLETIONS = 24
MAX_CACHED_PREFIXES = 10_000


class TermCompleter:
    """Completes words with the terms of some segments; it caches the completions of a prefix."""

    def __init__(self, segments: Sequence[LiveSegment]) -> None:
        self._segments = segments
        self._cache: dict[str, list[str]] = {}

    def complete(self, prefix: str) -> list[str]:
        """Return the live terms that begin with a prefix, by descending document frequency, at most MAX_COMPLETIONS."""
        completions = self._cache.get(prefix)
        if completions is None:
            if len(self._cache) >= MAX_CACHED_PREFIXES:
                self._cache.clear()
            completions = self._cache[prefix] = self._compute(prefix)
        return completions

    def _compute(self, prefix: str) -> list[str]:
        lists = [live.complete(prefix) for live in self._segments]
        size = MAX_COMPLETIONS
        while True:  # a term may be at the top overall without being so in any segment
            terms = {t for live, (ids, _) in zip(self._segments, lists, strict=True) for t in live.terms_at(ids[:size])}
            ranked = sorted(count_live_documents(self._segments, sorted(terms)))
            unseen = sum(int(df[size]) for _, df in lists if len(df) > size)
            certain = sum(-count > unseen for count, _ in ranked)
            if certain >= MAX_COMPLETIONS or all(len(df) <= size for _, df in lists):
                return [term for _, term in ranked[:MAX_COMPLETIONS]]
            size *= 4


def count_live_documents(segments: Sequence[LiveSegment], terms: Sequence[str]) -> list[tuple[int, str]]:
    """Return (−df, term) for the terms that a live document contains."""
    df, held = np.zeros(len(terms), np.int64), np.zeros(len(terms), np.bool_)
    for live in segments:
        ids = live.find(terms)
        df += live.term_statistics(ids)[0]
        held |= live.has_live_documents(ids)
    return [(-int(n), term) for n, term, is_held in zip(df, terms, held, strict=True) if is_held]
