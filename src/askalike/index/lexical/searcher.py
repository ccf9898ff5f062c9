"""Searches a fixed state of an index: the same segments, deletions and statistics for as long as it is held."""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from askalike.index.lexical.maxscore import (
    PostingArrays,
    QueryBatch,
    ScoreTables,
    TopKHeap,
    match_terms,
    search_queries,
    sort_heaps,
)
from askalike.index.lexical.segment import Array, Segment
from askalike.index.lexical.terms import find_prefix_range, find_terms, term_at
from askalike.types import Collection, TopDocs

MAX_CACHED_ENTRIES = 1 << 23  # table entries kept per segment and similarity: 64 MiB
MAX_CACHED_PREFIXES = 10_000
MAX_CACHED_TERMS = 1 << 18
MAX_CACHED_SIMILARITIES = 8
BATCH_SIZE = 512
QUERIES_PER_THREAD = 32  # queries that are worth a thread of their own
MAX_HEAP_ENTRIES = 1 << 20  # so many hits are kept at a time for all queries of a batch: 32 MiB
MAX_INTEGER_SCORE = 2.0**28  # whole-number scores of questions' own texts stay below this
MAX_REPHRASING_GAIN = 4  # a word counts in a rephrasing at most so many times what it can in a question's own text
MAX_COMPLETIONS = 50


class TermScorer(Hashable, Protocol):
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
    excluded_docid: int = -1
    excluded_phrasing: int = -1
    prefix_terms: Sequence[str] = ()


@dataclass(frozen=True)
class LiveSegment:
    """A segment with what was deleted from it since it was written."""

    segment: Segment
    deleted_docs: Array
    """int32: positions of deleted documents, rising."""
    deleted_statistics: Array
    """int64 (n, 3): term, and what its df and ttf have lost by the deletions."""

    @cached_property
    def postings(self) -> PostingArrays:
        """The arrays that the search touches."""
        s = self.segment
        return PostingArrays(
            s.numbers, s.phrasings, s.starts, s.blocks, s.places, s.codes, s.bitmap_of, s.bitmaps, s.ranks
        )

    @cached_property
    def live_mask(self) -> Array:
        """bool (D), or empty where nothing was deleted."""
        if not len(self.deleted_docs):
            return np.empty(0, np.bool_)
        live = np.ones(len(self.segment.numbers), np.bool_)
        live[self.deleted_docs] = False
        return live

    @cached_property
    def has_rephrasings(self) -> bool:
        """Whether a question may have several documents."""
        return bool(self.segment.phrasings.any())

    @cached_property
    def collection_totals(self) -> tuple[int, int]:
        """How many live questions there are, and the tokens of their own texts."""
        gone = self.deleted_docs[self.segment.phrasings[self.deleted_docs] == 0]
        lost = int(self.segment.lengths[gone].sum(dtype=np.int64))
        return self.segment.question_count - len(gone), self.segment.token_count - lost

    @cached_property
    def max_length(self) -> int:
        """The length of the longest live question's own text."""
        own = self.segment.phrasings == 0
        return int(self.segment.lengths[own & self.live_mask if len(self.deleted_docs) else own].max(initial=0))

    def term_statistics(self, ids: Array) -> tuple[Array, Array]:
        """(df, ttf) of terms by their positions in the dictionary; 0 where a position is −1."""
        known = ids >= 0
        df, ttf = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
        df[known], ttf[known] = self.segment.df[ids[known]], self.segment.ttf[ids[known]]
        if len(self.deleted_statistics):
            at = np.searchsorted(self.deleted_statistics[:, 0], ids)
            at[at == len(self.deleted_statistics)] = 0
            hit = self.deleted_statistics[at, 0] == ids
            df[hit] -= self.deleted_statistics[at[hit], 1]
            ttf[hit] -= self.deleted_statistics[at[hit], 2]
        return df, ttf

    def has_live_documents(self, ids: Array) -> Array:
        """Whether any live document has each term, by their positions in the dictionary."""
        starts = self.segment.starts
        if not len(self.deleted_docs):
            return ids >= 0
        return np.array(
            [i >= 0 and self.live_mask[self.segment.decode_docs(starts[i], starts[i + 1])].any() for i in ids], np.bool_
        )

    def may_contain(self, docids: Array) -> Array:
        """Which of these numbers lie between the segment's first and last: no other is in it."""
        own = self.segment.numbers
        return (docids >= own[0]) & (docids <= own[-1]) if len(own) else np.zeros(len(docids), np.bool_)

    def complete(self, prefix: str) -> tuple[Array, Array]:
        """The terms that begin with a prefix, by falling df: their positions in the dictionary, and df."""
        between = find_prefix_range(self.segment.term_bytes, self.segment.term_offsets, prefix)
        ids = np.arange(between.start, between.stop)
        df, _ = self.term_statistics(ids)
        order = np.argsort(-df, kind="stable")
        return ids[order], df[order]

    def terms_at(self, ids: Array) -> list[str]:
        """The terms at these positions of the dictionary."""
        return [term_at(self.segment.term_bytes, self.segment.term_offsets, int(i)) for i in ids]

    def mask_allowed(self, docids: Array | None) -> Array:
        """bool (D): the live documents whose numbers are among those given (rising); empty where all may be found."""
        if docids is None:
            return self.live_mask
        at = np.searchsorted(docids, self.segment.numbers)
        at[at == len(docids)] = 0
        kept = docids[at] == self.segment.numbers if len(docids) else np.zeros(len(at), np.bool_)
        return kept & self.live_mask if len(self.live_mask) else kept


class PostingsSearcher:
    """Searches some segments as one collection. Not for several threads at a time."""

    def __init__(self, segments: Sequence[LiveSegment], scale: int = 1) -> None:
        self.segments = sorted(segments, key=lambda s: -len(s.segment.numbers))
        self._scale = scale
        self._max_length = max((s.max_length for s in segments), default=0)
        documents = max(sum(s.collection_totals[0] for s in segments), 1)  # a mean of nothing would not be a number
        tokens = sum(s.collection_totals[1] for s in segments) / scale
        self.collection = Collection(documents, tokens or float(documents))
        self._clear_caches()

    def _clear_caches(self) -> None:
        self._term_ids: dict[str, int] = {}
        self._term_names: list[str] = []
        self._last_batch: tuple[QueryTerms, TermScorer, QueryBatch] | None = None
        self._segment_term_ids = [np.empty(0, np.int64) for _ in self.segments]
        self._df = np.empty(0, np.float64)
        self._ttf = np.empty(0, np.float64)
        self._score_tables: dict[TermScorer, _CachedTables] = {}
        self._completion_cache: dict[str, list[str]] = {}

    def search(
        self, queries: Sequence[QueryTerms], similarity: TermScorer, k: int, allowed_docids: Array | None = None
    ) -> list[TopDocs]:
        """The k best questions of each query. allowed: the numbers that may be found, rising; None for all."""
        k = min(k, sum(len(s.segment.numbers) for s in self.segments))
        if k < 1:
            return [TopDocs(np.empty(0, np.int64), np.empty(0)) for _ in queries]
        masks = [s.mask_allowed(allowed_docids) for s in self.segments]
        found: list[TopDocs] = []
        batch = min(BATCH_SIZE, max(1, MAX_HEAP_ENTRIES // k))
        for start in range(0, len(queries), batch):
            found += self._search_batch(queries[start : start + batch], similarity, k, masks)
        return found

    def score(
        self, queries: Sequence[QueryTerms], similarity: TermScorer, candidates: Sequence[Array]
    ) -> list[NDArray[np.float64]]:
        """The score of each query's candidates (numbers, in any order); 0 where nothing matches or nothing is there."""
        batch = self._get_batch(queries, similarity)
        sizes = [len(c) for c in candidates]
        query = np.repeat(np.arange(len(queries)), sizes)
        number = np.concatenate([*candidates, np.empty(0, np.int64)]).astype(np.int64)
        best = np.zeros(len(number))
        for at in range(len(self.segments)):
            best = np.maximum(best, self._score_best_phrasings(at, batch, similarity, query, number))
        return np.split(best, np.cumsum(sizes)[:-1]) if len(sizes) else []

    def explain(
        self, query: QueryTerms, similarity: TermScorer, docids: Sequence[int]
    ) -> list[tuple[int, list[tuple[str, float]]]]:
        """For each number its best phrasing, and the terms that match with what each adds to the score."""
        batch = self._get_batch([query], similarity)
        result: list[tuple[int, list[tuple[str, float]]]] = [(0, []) for _ in docids]
        top = np.zeros(len(docids))
        for at, live in enumerate(self.segments):
            if not live.may_contain(np.array(docids, np.int64)).any():
                continue
            skips = (np.repeat(x, len(docids)) for x in (batch.excluded_docids, batch.excluded_phrasings))
            pair, doc = _find_documents(live, np.array(docids, np.int64), *skips)
            rows, shared, scores = self._match_terms(at, batch, similarity, np.zeros(len(doc), np.int64), doc)
            sums = self._sum_scores(batch, rows, shared, scores, len(doc))
            for i in range(len(doc)):
                if sums[i] > top[pair[i]]:
                    top[pair[i]] = sums[i]
                    own = rows == i
                    result[pair[i]] = (
                        int(live.segment.phrasings[doc[i]]),
                        _name_contributions(self._term_names, batch, shared[own], scores[own]),
                    )
        return result

    def complete(self, prefix: str) -> list[str]:
        """The live terms that begin with a prefix, those in most questions first, at most 50."""
        found = self._completion_cache.get(prefix)
        if found is None:
            if len(self._completion_cache) >= MAX_CACHED_PREFIXES:
                self._completion_cache.clear()
            found = self._completion_cache[prefix] = self._compute_completions(prefix)
        return found

    def _compute_completions(self, prefix: str) -> list[str]:
        lists = [live.complete(prefix) for live in self.segments]
        size = MAX_COMPLETIONS
        while True:  # a term that is not among the first of any segment may be among the first of all
            names = {n for live, (ids, _) in zip(self.segments, lists, strict=True) for n in live.terms_at(ids[:size])}
            found = sorted(self._count_live_terms(sorted(names)))
            unseen = sum(int(df[size]) for _, df in lists if len(df) > size)
            if sum(-count > unseen for count, _ in found) >= MAX_COMPLETIONS or all(len(df) <= size for _, df in lists):
                return [name for _, name in found[:MAX_COMPLETIONS]]
            size *= 4

    def _count_live_terms(self, terms: Sequence[str]) -> list[tuple[int, str]]:
        """(−df, term) of those terms that a live document has."""
        df, held = np.zeros(len(terms), np.int64), np.zeros(len(terms), np.bool_)
        for live in self.segments:
            ids = find_terms(live.segment.term_bytes, live.segment.term_offsets, terms)
            df += live.term_statistics(ids)[0]
            held |= live.has_live_documents(ids)
        return [(-int(n), name) for n, name, kept in zip(df, terms, held, strict=True) if kept]

    def _search_batch(
        self, queries: Sequence[QueryTerms], similarity: TermScorer, k: int, allowed_masks: Sequence[Array]
    ) -> list[TopDocs]:
        batch = self._build_batch(queries, similarity)
        tables = self._score_tables[similarity]
        n = len(queries)
        best = TopKHeap(
            np.zeros((n, k), np.int64), np.zeros((n, k), np.int64), np.zeros((n, k), np.int64),
            np.zeros((n, k), np.int64), np.zeros(n, np.int64),
        )  # fmt: skip

        def searched(rows: slice) -> None:
            some, heaps = batch.select(rows), TopKHeap(*(column[rows] for column in best))
            for at, live in enumerate(self.segments):
                segment = live.segment
                t = ScoreTables(
                    self._segment_term_ids[at], tables.starts[at], tables.entries[at].values, len(segment.code_tf),
                    segment.peak_starts, segment.peaks,
                )  # fmt: skip
                search_queries(live.postings, t, some, heaps, at, allowed_masks[at], live.has_rephrasings)
            sort_heaps(heaps)

        _run_in_threads(searched, n)
        return [
            TopDocs(best.docids[q, :size], best.scores[q, :size] / batch.scales[q]) for q, size in enumerate(best.size)
        ]

    def _score_best_phrasings(
        self, segment_index: int, batch: QueryBatch, similarity: TermScorer, query: Array, docids: Array
    ) -> NDArray[np.float64]:
        """The score of each (query, number) by its best phrasing in one segment, 0 where it has none there."""
        best = np.zeros(len(docids))
        near = np.flatnonzero(self.segments[segment_index].may_contain(docids))
        if len(near):
            query, docids = query[near], docids[near]
            pair, doc = _find_documents(
                self.segments[segment_index], docids, batch.excluded_docids[query], batch.excluded_phrasings[query]
            )
            np.maximum.at(best, near[pair], self._score_documents(segment_index, batch, similarity, query[pair], doc))
        return best

    def _score_documents(
        self, segment_index: int, batch: QueryBatch, similarity: TermScorer, query: Array, docs: Array
    ) -> NDArray[np.float64]:
        rows, shared, scores = self._match_terms(segment_index, batch, similarity, query, docs)
        return self._sum_scores(batch, rows, shared, scores, len(docs))

    def _match_terms(
        self, segment_index: int, batch: QueryBatch, similarity: TermScorer, query: Array, docs: Array
    ) -> tuple[Array, Array, NDArray[np.float64]]:
        live = self.segments[segment_index]
        rows, shared, codes = match_terms(live.postings, self._segment_term_ids[segment_index], batch, query, docs)
        scores = self._score_codes(similarity, live.segment, codes, batch.terms[shared])
        scales = batch.scales[query[rows]]
        whole = np.floor(scores * (batch.weights[shared] * scales) + 0.5)
        return rows, shared, np.maximum(whole, scores > 0) / scales  # as in the kernel's tables

    def _sum_scores(self, batch: QueryBatch, rows: Array, shared: Array, scores: Array, n: int) -> NDArray[np.float64]:
        grouped = batch.is_completion[shared]
        sums: NDArray[np.float64] = np.bincount(rows[~grouped], scores[~grouped], n).astype(np.float64)
        if grouped.any():
            best = np.zeros(n)
            np.maximum.at(best, rows[grouped], scores[grouped])
            sums = sums + best
        return sums

    def _score_codes(self, similarity: TermScorer, segment: Segment, codes: Array, terms: Array) -> NDArray[np.float64]:
        tf = segment.code_tf[codes] / self._scale
        length = segment.code_length[codes] / self._scale
        scores = similarity.score(tf, length, self._df[terms], self._ttf[terms], self.collection)
        return np.minimum(scores, MAX_REPHRASING_GAIN * self._score_tables[similarity].bounds[terms])

    def _get_batch(self, queries: Sequence[QueryTerms], similarity: TermScorer) -> QueryBatch:
        """The batch of queries of which one alone may be the one just searched for."""
        if (
            self._last_batch
            and len(queries) == 1
            and queries[0] is self._last_batch[0]
            and similarity == self._last_batch[1]
        ):
            return self._last_batch[2]
        return self._build_batch(queries, similarity)

    def _build_batch(self, queries: Sequence[QueryTerms], similarity: TermScorer) -> QueryBatch:
        offsets, terms, weights, grouped = [0], [], [], []
        for query in queries:
            counts: dict[str, int] = {}
            for t in query.terms:
                counts[t] = counts.get(t, 0) + 1
            group = self._expand_prefix(query, counts)
            terms += [*counts, *group]
            weights += [*counts.values(), *([1] * len(group))]
            grouped += [False] * len(counts) + [True] * len(group)
            offsets.append(len(terms))
        ids = self._resolve_terms(terms)
        tables = self._get_tables(similarity, np.unique(ids))
        bounds = np.bincount(
            np.repeat(np.arange(len(queries)), np.diff(offsets)), np.array(weights) * tables.bounds[ids], len(queries)
        )
        scales = 2.0 ** np.floor(np.log2(MAX_INTEGER_SCORE / np.maximum(bounds, 1e-9)))
        batch = QueryBatch(
            np.array(offsets, np.int64), ids, np.array(weights, np.float64), np.array(grouped, np.bool_), scales,
            np.array([q.excluded_docid for q in queries], np.int64),
            np.array([q.excluded_phrasing for q in queries], np.int64),
        )  # fmt: skip
        if len(queries) == 1:
            self._last_batch = queries[0], similarity, batch
        return batch

    def _expand_prefix(self, query: QueryTerms, counts: dict[str, int]) -> list[str]:
        if not query.prefix:
            return []
        return [t for t in dict.fromkeys([*query.prefix_terms, *self.complete(query.prefix)]) if t not in counts]

    def _resolve_terms(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """The position of each term among those known here; new ones are looked up in every segment."""
        if len(self._term_ids) > MAX_CACHED_TERMS:
            self._clear_caches()
        new = [t for t in dict.fromkeys(terms) if t not in self._term_ids]
        if new:
            self._term_ids.update(zip(new, range(len(self._term_ids), len(self._term_ids) + len(new)), strict=True))
            self._term_names += new
            df, ttf = np.zeros(len(new), np.int64), np.zeros(len(new), np.int64)
            for at, live in enumerate(self.segments):
                ids = find_terms(live.segment.term_bytes, live.segment.term_offsets, new)
                self._segment_term_ids[at] = np.append(self._segment_term_ids[at], ids)
                here = live.term_statistics(ids)
                df += here[0]
                ttf += here[1]
            self._df = np.append(self._df, df)
            self._ttf = np.append(self._ttf, ttf / self._scale)
        return np.array([self._term_ids[t] for t in terms], np.int64)

    def _get_tables(self, similarity: TermScorer, terms: NDArray[np.int64]) -> "_CachedTables":
        """The score tables of a similarity, with those of these terms in them."""
        tables = self._score_tables.get(similarity)
        if tables is None or any(e.size > MAX_CACHED_ENTRIES for e in tables.entries):
            if len(self._score_tables) >= MAX_CACHED_SIMILARITIES:
                self._score_tables.clear()
            tables = self._score_tables[similarity] = _CachedTables(len(self.segments))
            self._last_batch = None
        tables.reserve(len(self._term_ids))
        new = terms[~tables.computed[terms]]
        if len(new):
            self._fill_tables(tables, similarity, new)
        return tables

    def _fill_tables(self, tables: "_CachedTables", similarity: TermScorer, new: NDArray[np.int64]) -> None:
        tables.bounds[new] = self._compute_bounds(similarity, new)
        for at, live in enumerate(self.segments):
            here = new[self._segment_term_ids[at][new] >= 0]
            codes, sizes = _entry_codes(live.segment, self._segment_term_ids[at][here])
            values = self._score_codes(similarity, live.segment, codes, np.repeat(here, sizes))
            start = tables.entries[at].append(values)
            tables.starts[at][here] = start + np.cumsum(sizes) - sizes
        tables.computed[new] = True

    def _compute_bounds(self, similarity: TermScorer, terms: NDArray[np.int64]) -> NDArray[np.float64]:
        """What a term can score at most in a question's own text.

        No text has more of a term than its length or the term's total, so the most is reached at one of a few
        lengths, each twice the last, and a frequency not above twice that. Rephrasings do not count, so that one more
        of them leaves every other score as it was.
        """
        lengths = 2.0 ** np.arange(self._max_length.bit_length() + 1) / self._scale
        df, ttf = self._df[terms, None], self._ttf[terms, None]
        most = np.minimum(2 * lengths, np.maximum(ttf, 1.0))
        return similarity.score(most, lengths, df, ttf, self.collection).max(axis=1)


class _CachedTables:
    """The score tables of one similarity: per segment where each term's entries begin, and the entries."""

    def __init__(self, segments: int) -> None:
        self.computed = np.empty(0, np.bool_)
        self.bounds = np.empty(0, np.float64)
        self.starts = [np.empty(0, np.int64) for _ in range(segments)]
        self.entries = [_GrowableArray() for _ in range(segments)]

    def reserve(self, terms: int) -> None:
        """Makes room for as many terms."""
        if (more := terms - len(self.computed)) > 0:
            self.computed = np.append(self.computed, np.zeros(more, np.bool_))
            self.bounds = np.append(self.bounds, np.zeros(more))
            self.starts = [np.append(s, np.full(more, -1)) for s in self.starts]


class _GrowableArray:
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


def _entry_codes(segment: Segment, ids: Array) -> tuple[Array, Array]:
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


def _find_documents(
    live_segment: LiveSegment, docids: Array, excluded_docids: Array, excluded_phrasings: Array
) -> tuple[Array, Array]:
    """(position in `numbers`, document) for every live document of a number that its query may use."""
    s = live_segment.segment
    first = np.searchsorted(s.numbers, docids, "left")
    sizes = np.searchsorted(s.numbers, docids, "right") - first
    pair = np.repeat(np.arange(len(docids)), sizes)
    doc = np.repeat(first, sizes) + np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    skipped = (docids[pair] == excluded_docids[pair]) & (
        (excluded_phrasings[pair] < 0) | (s.phrasings[doc] == excluded_phrasings[pair])
    )
    kept = ~skipped & live_segment.live_mask[doc] if len(live_segment.live_mask) else ~skipped
    return pair[kept], doc[kept]


def _name_contributions(
    term_names: Sequence[str], batch: QueryBatch, shared: Array, scores: Array
) -> list[tuple[str, float]]:
    """Terms with their scores; of the completions of an unfinished word the best alone."""
    rows = [
        (term_names[batch.terms[m]], float(s), bool(batch.is_completion[m]))
        for m, s in zip(shared, scores, strict=True)
    ]
    best = max((r for r in rows if r[2]), key=lambda r: r[1], default=None)
    return [(name, score) for name, score, grouped in rows if not grouped or (best and name == best[0])]


def _run_in_threads(task: Callable[[slice], None], n: int) -> None:
    """Rows 0 to n, each in one of as many shares as there are processor cores; few rows in one."""
    threads = max(1, min(numba.config.NUMBA_NUM_THREADS, n // QUERIES_PER_THREAD))  # type: ignore[attr-defined]
    if threads == 1:
        task(slice(0, n))
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(task, [slice(n * i // threads, n * (i + 1) // threads) for i in range(threads)]))
