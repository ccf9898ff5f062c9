"""Searches a fixed state of an index: the same segments, deletions and statistics for as long as it is held."""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from askalike.index.maxscore import Batch, Best, Postings, Tables, matches, search_all, sort_all
from askalike.index.segment import Array, Segment
from askalike.index.terms import completions, find, term
from askalike.types import Collection

KEPT_ENTRIES = 1 << 23  # table entries kept per segment and similarity: 64 MiB
KEPT_PREFIXES = 10_000
KEPT_TERMS = 1 << 18
KEPT_SIMILARITIES = 8
BATCH = 512
SHARE = 32  # queries that are worth a thread of their own
LARGEST_HEAPS = 1 << 20  # so many hits are kept at a time for all queries of a batch: 32 MiB
LARGEST = 2.0**28  # whole-number scores of questions' own texts stay below this
HEADROOM = 4  # a word counts in a rephrasing at most so many times what it can in a question's own text
MOST_COMPLETIONS = 50


class TermScore(Hashable, Protocol):
    """What the search needs of a similarity (askalike.similarities has six)."""

    def score(
        self, tf: ArrayLike, length: ArrayLike, df: ArrayLike, ttf: ArrayLike, collection: Collection
    ) -> NDArray[np.float64]:
        """Scores of one term in one document; see Similarity.score."""


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """A query: its terms, the first characters of a word still being typed, and what it must not find.

    whole: the terms of that unfinished word, should it be finished after all. skip_number: a question that is not to
    be found, −1 for none. skip_phrasing: the one phrasing of it that is not to be used, −1 for all of it.
    """

    terms: Sequence[str]
    prefix: str | None = None
    skip_number: int = -1
    skip_phrasing: int = -1
    whole: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for one query: numbers and scores, best first, ties by number."""

    numbers: NDArray[np.int64]
    scores: NDArray[np.float64]


@dataclass(frozen=True)
class LiveSegment:
    """A segment with what was deleted from it since it was written."""

    segment: Segment
    deleted: Array
    """int32: positions of deleted documents, rising."""
    changed: Array
    """int64 (n, 3): term, and what its df and ttf have lost by the deletions."""

    @cached_property
    def postings(self) -> Postings:
        """The arrays that the search touches."""
        s = self.segment
        return Postings(s.numbers, s.phrasings, s.starts, s.blocks, s.places, s.codes, s.bitmap_of, s.bitmaps, s.ranks)

    @cached_property
    def live(self) -> Array:
        """bool (D), or empty where nothing was deleted."""
        if not len(self.deleted):
            return np.empty(0, np.bool_)
        live = np.ones(len(self.segment.numbers), np.bool_)
        live[self.deleted] = False
        return live

    @cached_property
    def repeats(self) -> bool:
        """Whether a question may have several documents."""
        return bool(self.segment.phrasings.any())

    @cached_property
    def collection(self) -> tuple[int, int]:
        """How many live questions there are, and the tokens of their own texts."""
        gone = self.deleted[self.segment.phrasings[self.deleted] == 0]
        lost = int(self.segment.lengths[gone].sum(dtype=np.int64))
        return self.segment.documents - len(gone), self.segment.total - lost

    @cached_property
    def longest(self) -> int:
        """The length of the longest live question's own text."""
        own = self.segment.phrasings == 0
        return int(self.segment.lengths[own & self.live if len(self.deleted) else own].max(initial=0))

    def statistics(self, ids: Array) -> tuple[Array, Array]:
        """(df, ttf) of terms by their positions in the dictionary; 0 where a position is −1."""
        known = ids >= 0
        df, ttf = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
        df[known], ttf[known] = self.segment.df[ids[known]], self.segment.ttf[ids[known]]
        if len(self.changed):
            at = np.searchsorted(self.changed[:, 0], ids)
            at[at == len(self.changed)] = 0
            hit = self.changed[at, 0] == ids
            df[hit] -= self.changed[at[hit], 1]
            ttf[hit] -= self.changed[at[hit], 2]
        return df, ttf

    def held(self, ids: Array) -> Array:
        """Whether any live document has each term, by their positions in the dictionary."""
        starts = self.segment.starts
        if not len(self.deleted):
            return ids >= 0
        return np.array(
            [i >= 0 and self.live[self.segment.posted(starts[i], starts[i + 1])].any() for i in ids], np.bool_
        )

    def spans(self, numbers: Array) -> Array:
        """Which of these numbers lie between the segment's first and last: no other is in it."""
        own = self.segment.numbers
        return (numbers >= own[0]) & (numbers <= own[-1]) if len(own) else np.zeros(len(numbers), np.bool_)

    def completions(self, prefix: str) -> tuple[Array, Array]:
        """The terms that begin with a prefix, by falling df: their positions in the dictionary, and df."""
        between = completions(self.segment.term_bytes, self.segment.term_offsets, prefix)
        ids = np.arange(between.start, between.stop)
        df, _ = self.statistics(ids)
        order = np.argsort(-df, kind="stable")
        return ids[order], df[order]

    def names(self, ids: Array) -> list[str]:
        """The terms at these positions of the dictionary."""
        return [term(self.segment.term_bytes, self.segment.term_offsets, int(i)) for i in ids]

    def allowed(self, numbers: Array | None) -> Array:
        """bool (D): the live documents whose numbers are among those given (rising); empty where all may be found."""
        if numbers is None:
            return self.live
        at = np.searchsorted(numbers, self.segment.numbers)
        at[at == len(numbers)] = 0
        kept = numbers[at] == self.segment.numbers if len(numbers) else np.zeros(len(at), np.bool_)
        return kept & self.live if len(self.live) else kept


class Searcher:
    """Searches some segments as one collection. Not for several threads at a time."""

    def __init__(self, segments: Sequence[LiveSegment], scale: int = 1) -> None:
        self.segments = sorted(segments, key=lambda s: -len(s.segment.numbers))
        self._scale = scale
        self._longest = max((s.longest for s in segments), default=0)
        documents = max(sum(s.collection[0] for s in segments), 1)  # a mean of nothing would not be a number
        tokens = sum(s.collection[1] for s in segments) / scale
        self.collection = Collection(documents, tokens or float(documents))
        self._forget()

    def _forget(self) -> None:
        self._known: dict[str, int] = {}
        self._names: list[str] = []
        self._latest: tuple[QueryTerms, TermScore, Batch] | None = None
        self._ids = [np.empty(0, np.int64) for _ in self.segments]
        self._df = np.empty(0, np.float64)
        self._ttf = np.empty(0, np.float64)
        self._scores: dict[TermScore, _Scores] = {}
        self._completed: dict[str, list[str]] = {}

    def search(
        self, queries: Sequence[QueryTerms], similarity: TermScore, k: int, allowed: Array | None = None
    ) -> list[Found]:
        """The k best questions of each query. allowed: the numbers that may be found, rising; None for all."""
        k = min(k, sum(len(s.segment.numbers) for s in self.segments))
        if k < 1:
            return [Found(np.empty(0, np.int64), np.empty(0)) for _ in queries]
        masks = [s.allowed(allowed) for s in self.segments]
        found: list[Found] = []
        batch = min(BATCH, max(1, LARGEST_HEAPS // k))
        for start in range(0, len(queries), batch):
            found += self._search(queries[start : start + batch], similarity, k, masks)
        return found

    def score(
        self, queries: Sequence[QueryTerms], similarity: TermScore, candidates: Sequence[Array]
    ) -> list[NDArray[np.float64]]:
        """The score of each query's candidates (numbers, in any order); 0 where nothing matches or nothing is there."""
        batch = self._again(queries, similarity)
        sizes = [len(c) for c in candidates]
        query = np.repeat(np.arange(len(queries)), sizes)
        number = np.concatenate([*candidates, np.empty(0, np.int64)]).astype(np.int64)
        best = np.zeros(len(number))
        for at in range(len(self.segments)):
            best = np.maximum(best, self._best(at, batch, similarity, query, number))
        return np.split(best, np.cumsum(sizes)[:-1]) if len(sizes) else []

    def contributions(
        self, query: QueryTerms, similarity: TermScore, numbers: Sequence[int]
    ) -> list[tuple[int, list[tuple[str, float]]]]:
        """For each number its best phrasing, and the terms that match with what each adds to the score."""
        batch = self._again([query], similarity)
        result: list[tuple[int, list[tuple[str, float]]]] = [(0, []) for _ in numbers]
        top = np.zeros(len(numbers))
        for at, live in enumerate(self.segments):
            if not live.spans(np.array(numbers, np.int64)).any():
                continue
            skips = (np.repeat(x, len(numbers)) for x in (batch.skip_numbers, batch.skip_phrasings))
            pair, doc = _documents(live, np.array(numbers, np.int64), *skips)
            rows, shared, scores = self._matched(at, batch, similarity, np.zeros(len(doc), np.int64), doc)
            sums = self._summed(batch, rows, shared, scores, len(doc))
            for i in range(len(doc)):
                if sums[i] > top[pair[i]]:
                    top[pair[i]] = sums[i]
                    own = rows == i
                    result[pair[i]] = (
                        int(live.segment.phrasings[doc[i]]),
                        _named(self._names, batch, shared[own], scores[own]),
                    )
        return result

    def completions(self, prefix: str) -> list[str]:
        """The live terms that begin with a prefix, those in most questions first, at most 50."""
        found = self._completed.get(prefix)
        if found is None:
            if len(self._completed) >= KEPT_PREFIXES:
                self._completed.clear()
            found = self._completed[prefix] = self._completions(prefix)
        return found

    def _completions(self, prefix: str) -> list[str]:
        lists = [live.completions(prefix) for live in self.segments]
        size = MOST_COMPLETIONS
        while True:  # a term that is not among the first of any segment may be among the first of all
            names = {n for live, (ids, _) in zip(self.segments, lists, strict=True) for n in live.names(ids[:size])}
            found = sorted(self._counted(sorted(names)))
            unseen = sum(int(df[size]) for _, df in lists if len(df) > size)
            if sum(-count > unseen for count, _ in found) >= MOST_COMPLETIONS or all(
                len(df) <= size for _, df in lists
            ):
                return [name for _, name in found[:MOST_COMPLETIONS]]
            size *= 4

    def _counted(self, names: Sequence[str]) -> list[tuple[int, str]]:
        """(−df, term) of those terms that a live document has."""
        df, held = np.zeros(len(names), np.int64), np.zeros(len(names), np.bool_)
        for live in self.segments:
            ids = find(live.segment.term_bytes, live.segment.term_offsets, names)
            df += live.statistics(ids)[0]
            held |= live.held(ids)
        return [(-int(n), name) for n, name, kept in zip(df, names, held, strict=True) if kept]

    def _search(
        self, queries: Sequence[QueryTerms], similarity: TermScore, k: int, masks: Sequence[Array]
    ) -> list[Found]:
        batch = self._batch(queries, similarity)
        tables = self._scores[similarity]
        n = len(queries)
        best = Best(
            np.zeros((n, k), np.int64), np.zeros((n, k), np.int64), np.zeros((n, k), np.int64),
            np.zeros((n, k), np.int64), np.zeros(n, np.int64),
        )  # fmt: skip

        def searched(rows: slice) -> None:
            some, heaps = batch.among(rows), Best(*(column[rows] for column in best))
            for at, live in enumerate(self.segments):
                segment = live.segment
                t = Tables(
                    self._ids[at], tables.starts[at], tables.entries[at].values, len(segment.code_tf),
                    segment.peak_starts, segment.peaks,
                )  # fmt: skip
                search_all(live.postings, t, some, heaps, at, masks[at], live.repeats)
            sort_all(heaps)

        _side_by_side(searched, n)
        return [
            Found(best.numbers[q, :size], best.scores[q, :size] / batch.scales[q]) for q, size in enumerate(best.size)
        ]

    def _best(self, at: int, batch: Batch, similarity: TermScore, query: Array, number: Array) -> NDArray[np.float64]:
        """The score of each (query, number) by its best phrasing in one segment, 0 where it has none there."""
        best = np.zeros(len(number))
        near = np.flatnonzero(self.segments[at].spans(number))
        if len(near):
            query, number = query[near], number[near]
            pair, doc = _documents(self.segments[at], number, batch.skip_numbers[query], batch.skip_phrasings[query])
            np.maximum.at(best, near[pair], self._exact(at, batch, similarity, query[pair], doc))
        return best

    def _exact(self, at: int, batch: Batch, similarity: TermScore, query: Array, doc: Array) -> NDArray[np.float64]:
        rows, shared, scores = self._matched(at, batch, similarity, query, doc)
        return self._summed(batch, rows, shared, scores, len(doc))

    def _matched(
        self, at: int, batch: Batch, similarity: TermScore, query: Array, doc: Array
    ) -> tuple[Array, Array, NDArray[np.float64]]:
        live = self.segments[at]
        rows, shared, codes = matches(live.postings, self._ids[at], batch, query, doc)
        scores = self._formula(similarity, live.segment, codes, batch.terms[shared])
        scales = batch.scales[query[rows]]
        whole = np.floor(scores * (batch.weights[shared] * scales) + 0.5)
        return rows, shared, np.maximum(whole, scores > 0) / scales  # as in the kernel's tables

    def _summed(self, batch: Batch, rows: Array, shared: Array, scores: Array, n: int) -> NDArray[np.float64]:
        grouped = batch.grouped[shared]
        sums: NDArray[np.float64] = np.bincount(rows[~grouped], scores[~grouped], n).astype(np.float64)
        if grouped.any():
            best = np.zeros(n)
            np.maximum.at(best, rows[grouped], scores[grouped])
            sums = sums + best
        return sums

    def _formula(self, similarity: TermScore, segment: Segment, codes: Array, terms: Array) -> NDArray[np.float64]:
        tf = segment.code_tf[codes] / self._scale
        length = segment.code_length[codes] / self._scale
        scores = similarity.score(tf, length, self._df[terms], self._ttf[terms], self.collection)
        return np.minimum(scores, HEADROOM * self._scores[similarity].bounds[terms])

    def _again(self, queries: Sequence[QueryTerms], similarity: TermScore) -> Batch:
        """The batch of queries of which one alone may be the one just searched for."""
        if self._latest and len(queries) == 1 and queries[0] is self._latest[0] and similarity == self._latest[1]:
            return self._latest[2]
        return self._batch(queries, similarity)

    def _batch(self, queries: Sequence[QueryTerms], similarity: TermScore) -> Batch:
        offsets, terms, weights, grouped = [0], [], [], []
        for query in queries:
            counts: dict[str, int] = {}
            for t in query.terms:
                counts[t] = counts.get(t, 0) + 1
            group = self._group(query, counts)
            terms += [*counts, *group]
            weights += [*counts.values(), *([1] * len(group))]
            grouped += [False] * len(counts) + [True] * len(group)
            offsets.append(len(terms))
        ids = self._resolve(terms)
        tables = self._tables(similarity, np.unique(ids))
        bounds = np.bincount(
            np.repeat(np.arange(len(queries)), np.diff(offsets)), np.array(weights) * tables.bounds[ids], len(queries)
        )
        scales = 2.0 ** np.floor(np.log2(LARGEST / np.maximum(bounds, 1e-9)))
        batch = Batch(
            np.array(offsets, np.int64), ids, np.array(weights, np.float64), np.array(grouped, np.bool_), scales,
            np.array([q.skip_number for q in queries], np.int64),
            np.array([q.skip_phrasing for q in queries], np.int64),
        )  # fmt: skip
        if len(queries) == 1:
            self._latest = queries[0], similarity, batch
        return batch

    def _group(self, query: QueryTerms, counts: dict[str, int]) -> list[str]:
        if not query.prefix:
            return []
        return [t for t in dict.fromkeys([*query.whole, *self.completions(query.prefix)]) if t not in counts]

    def _resolve(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """The position of each term among those known here; new ones are looked up in every segment."""
        if len(self._known) > KEPT_TERMS:
            self._forget()
        new = [t for t in dict.fromkeys(terms) if t not in self._known]
        if new:
            self._known.update(zip(new, range(len(self._known), len(self._known) + len(new)), strict=True))
            self._names += new
            df, ttf = np.zeros(len(new), np.int64), np.zeros(len(new), np.int64)
            for at, live in enumerate(self.segments):
                ids = find(live.segment.term_bytes, live.segment.term_offsets, new)
                self._ids[at] = np.append(self._ids[at], ids)
                here = live.statistics(ids)
                df += here[0]
                ttf += here[1]
            self._df = np.append(self._df, df)
            self._ttf = np.append(self._ttf, ttf / self._scale)
        return np.array([self._known[t] for t in terms], np.int64)

    def _tables(self, similarity: TermScore, terms: NDArray[np.int64]) -> "_Scores":
        """The score tables of a similarity, with those of these terms in them."""
        tables = self._scores.get(similarity)
        if tables is None or any(e.size > KEPT_ENTRIES for e in tables.entries):
            if len(self._scores) >= KEPT_SIMILARITIES:
                self._scores.clear()
            tables = self._scores[similarity] = _Scores(len(self.segments))
            self._latest = None
        tables.reserve(len(self._known))
        new = terms[~tables.done[terms]]
        if len(new):
            self._fill(tables, similarity, new)
        return tables

    def _fill(self, tables: "_Scores", similarity: TermScore, new: NDArray[np.int64]) -> None:
        tables.bounds[new] = self._bounds(similarity, new)
        for at, live in enumerate(self.segments):
            here = new[self._ids[at][new] >= 0]
            codes, sizes = _entries(live.segment, self._ids[at][here])
            values = self._formula(similarity, live.segment, codes, np.repeat(here, sizes))
            start = tables.entries[at].append(values)
            tables.starts[at][here] = start + np.cumsum(sizes) - sizes
        tables.done[new] = True

    def _bounds(self, similarity: TermScore, terms: NDArray[np.int64]) -> NDArray[np.float64]:
        """What a term can score at most in a question's own text.

        No text has more of a term than its length or the term's total, so the most is reached at one of a few
        lengths, each twice the last, and a frequency not above twice that. Rephrasings do not count, so that one more
        of them leaves every other score as it was.
        """
        lengths = 2.0 ** np.arange(self._longest.bit_length() + 1) / self._scale
        df, ttf = self._df[terms, None], self._ttf[terms, None]
        most = np.minimum(2 * lengths, np.maximum(ttf, 1.0))
        return similarity.score(most, lengths, df, ttf, self.collection).max(axis=1)


class _Scores:
    """The score tables of one similarity: per segment where each term's entries begin, and the entries."""

    def __init__(self, segments: int) -> None:
        self.done = np.empty(0, np.bool_)
        self.bounds = np.empty(0, np.float64)
        self.starts = [np.empty(0, np.int64) for _ in range(segments)]
        self.entries = [_Growing() for _ in range(segments)]

    def reserve(self, terms: int) -> None:
        """Makes room for as many terms."""
        if (more := terms - len(self.done)) > 0:
            self.done = np.append(self.done, np.zeros(more, np.bool_))
            self.bounds = np.append(self.bounds, np.zeros(more))
            self.starts = [np.append(s, np.full(more, -1)) for s in self.starts]


class _Growing:
    """A float64 array with room to grow."""

    def __init__(self) -> None:
        self.values = np.empty(1 << 12, np.float64)
        self.size = 0

    def append(self, values: NDArray[np.float64]) -> int:
        """Takes values in; returns where they begin."""
        start, self.size = self.size, self.size + len(values)
        if self.size > len(self.values):
            grown = np.empty(max(self.size, 2 * len(self.values)), np.float64)
            grown[:start] = self.values[:start]
            self.values = grown
        self.values[start : self.size] = values
        return start


def _entries(segment: Segment, ids: Array) -> tuple[Array, Array]:
    """The codes that the tables of these terms have entries for, one after the other, and how many each has."""
    codes = len(segment.code_tf)
    lists = [
        segment.codes[segment.starts[i] : segment.starts[i + 1]]
        if segment.starts[i + 1] - segment.starts[i] <= codes
        else np.arange(codes)
        for i in ids
    ]
    sizes = np.array([len(x) for x in lists], np.int64)
    return np.concatenate([*lists, np.empty(0, np.int64)]).astype(np.int64), sizes


def _documents(live: LiveSegment, numbers: Array, skip_numbers: Array, skip_phrasings: Array) -> tuple[Array, Array]:
    """(position in `numbers`, document) for every live document of a number that its query may use."""
    s = live.segment
    first = np.searchsorted(s.numbers, numbers, "left")
    sizes = np.searchsorted(s.numbers, numbers, "right") - first
    pair = np.repeat(np.arange(len(numbers)), sizes)
    doc = np.repeat(first, sizes) + np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    skipped = (numbers[pair] == skip_numbers[pair]) & (
        (skip_phrasings[pair] < 0) | (s.phrasings[doc] == skip_phrasings[pair])
    )
    kept = ~skipped & live.live[doc] if len(live.live) else ~skipped
    return pair[kept], doc[kept]


def _named(names: Sequence[str], batch: Batch, shared: Array, scores: Array) -> list[tuple[str, float]]:
    """Terms with their scores; of the completions of an unfinished word the best alone."""
    rows = [(names[batch.terms[m]], float(s), bool(batch.grouped[m])) for m, s in zip(shared, scores, strict=True)]
    best = max((r for r in rows if r[2]), key=lambda r: r[1], default=None)
    return [(name, score) for name, score, grouped in rows if not grouped or (best and name == best[0])]


def _side_by_side(do: Callable[[slice], None], n: int) -> None:
    """Rows 0 to n, each in one of as many shares as there are processor cores; few rows in one."""
    threads = max(1, min(numba.config.NUMBA_NUM_THREADS, n // SHARE))  # type: ignore[attr-defined]
    if threads == 1:
        do(slice(0, n))
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(do, [slice(n * i // threads, n * (i + 1) // threads) for i in range(threads)]))
