"""Searches a fixed state of an index: the same segments, deletions and statistics for as long as it is held."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from threading import Lock, local
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Array
from askalike.core.filters import AllowedDocs
from askalike.core.hits import TopDocs
from askalike.core.parallel import count_processors
from askalike.index.lexical.maxscore import WINDOW, Buffers, SegmentTerms, TopKHeaps
from askalike.index.lexical.prepared import FieldWeights, PreparedBatch, PreparedQueries, QueryTerms, TermColumns
from askalike.index.lexical.query_batch import (
    MATCHED_ROWS,
    DocumentMatches,
    MatchBuffers,
    match_documents,
    search_queries,
)
from askalike.index.lexical.segment import LiveSegment
from askalike.index.lexical.term_scores import KnownTerms, TermScorer, TermScores, sum_statistics
from askalike.index.lexical.vocabulary import TermVocabulary
from askalike.index.rows import Excluded, find_positions, find_titles
from askalike.native.compiled import prechecked

MAX_CACHED_SCORES = 1 << 23
"""Maximum number of cached scores per similarity: 64 MiB."""
MAX_CACHED_TERMS = 1 << 18
MAX_CACHED_SIMILARITIES = 8
BATCH_SIZE = 512
QUERIES_PER_THREAD = 32
"""Number of queries per thread above which another thread pays off."""
MAX_THREADS = int(os.environ.get("NUMBA_NUM_THREADS", 0)) or count_processors()
MAX_HEAP_ENTRIES = 1 << 20
"""Maximum number of hits in memory for all queries of a batch: 16 MiB."""
USUAL_TERMS = 64
"""Minimum number of terms in buffers, so that few queries need larger ones."""
MAX_BUFFERED_SCORES = 1 << 21
"""Number of term scores up to which a thread keeps its buffers: 8 MiB."""
_kept = local()
MAX_KEPT_SCORES = 1 << 17
"""Maximum number of term scores that are kept of a match for explanations: 1 MiB."""


class TermContributions(NamedTuple):
    """A question's best phrasing for a query, and the contribution of each shared term to the score."""

    phrasing: int = 0
    scores: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True, slots=True, eq=False)
class CandidateMatches:
    """Candidates that were matched with their queries.

    scores: for each query (candidates,), 0 where nothing matches. absolute: for each query (candidates,), the highest
    of its fields, times the field's factor in the query: the mean of two shares, the score's of the query's own score
    and the shared words' of all its words by idf. A question is thus found by its title or by its whole text. Of a
    candidate's phrasings, the one with the highest share counts. batches: the matches of each batch of queries.
    """

    candidates: Sequence[Array]
    scores: list[NDArray[np.float64]]
    absolute: list[NDArray[np.float64]]
    batches: Sequence[DocumentMatches] = ()

    def find_rows(self, number: int, rows: range, candidates: Sequence[Array]) -> Array | None:
        """Return the rows of some of a batch's candidates in its matches; None if their term scores were not kept."""
        if not len(self.batches[number].term_scores):
            return None
        start = 0
        places = [np.empty(0, np.int64)]
        for known, wanted in zip(self.candidates[rows.start : rows.stop], candidates, strict=True):
            at = find_positions(known, wanted)
            if len(at) and at.min() < 0:
                return None
            places.append(start + at)
            start += len(known)
        return np.concatenate(places)


class PostingsSearcher:
    """Searches some segments as one collection; thread-safe.

    It caches terms and their scores. A lock guards additions to the cache; prepared queries never change.
    """

    def __init__(self, segments: Sequence[LiveSegment], field_count: int = 1) -> None:
        self.segments = sorted(segments, key=lambda live: -len(live.docids))
        self._statistics = sum_statistics(self.segments, field_count)
        self.speller = TermVocabulary(self.segments, field_count, self._look_up)
        """Finds terms that are spelt similarly to a word."""
        self._lock = Lock()
        self._forget_terms()

    def _forget_terms(self) -> None:
        self._terms = KnownTerms(self.segments, self._statistics)
        self._term_scores: dict[TermScorer, TermScores] = {}

    def _look_up(self, names: Sequence[str]) -> tuple[KnownTerms, Array]:
        """Return the terms known so far, and the number of each of these among them."""
        with self._lock:
            if len(self._terms.names) > MAX_CACHED_TERMS:
                self._forget_terms()
            return self._terms, self._terms.look_up(names)

    def prepare(
        self, queries: Sequence[QueryTerms], similarity: TermScorer, fields: FieldWeights = ()
    ) -> PreparedQueries:
        """Look up the queries' terms, once for all of `search`, `match` and `contributions`."""
        columns = queries
        if not isinstance(columns, TermColumns):
            columns = TermColumns.of_queries(queries, self.complete, len(self._statistics))
        known, numbers = self._look_up(columns.names)
        if columns.terms is not None:
            numbers = numbers[columns.terms]
        batch = None
        if len(queries) <= BATCH_SIZE:
            batch = PreparedBatch.of_terms(columns, self._compute(known, numbers, similarity), numbers, fields)
        return PreparedQueries(queries, columns, known, numbers, similarity, fields, batch)

    def search(self, prepared: PreparedQueries, k: int, allowed: AllowedDocs | None = None) -> list[TopDocs]:
        """Return the k best questions of each query, each by its best phrasing.

        allowed: the documents that may be found; None for all.
        """
        k = min(k, sum(len(live.docids) for live in self.segments))
        if k < 1:
            return [TopDocs(np.empty(0, np.int64), np.empty(0)) for _ in prepared.queries]
        masks = [live.mask_allowed(allowed.docids if allowed else None) for live in self.segments]
        found = list[TopDocs]()
        for rows, batch in self._iter_batches(prepared):
            search = partial(self._search_rows, batch, k, masks)
            found += _run_in_threads(search, len(rows), max(1, MAX_HEAP_ENTRIES // k))
        return found

    def match(
        self, prepared: PreparedQueries, candidates: Sequence[Array], known: Sequence[TopDocs] | None = None
    ) -> CandidateMatches:
        """Match each query with its candidates: docids in any order. known: retrieved ones, which are matched again."""
        found = CandidateMatches(candidates, [], [], batches := [])
        for rows, batch in self._iter_batches(prepared):
            ends = _find_ends(own := candidates[rows.start : rows.stop])
            matches = self._match(batch, own, ends)
            found.scores.extend(_split(matches.scores, ends))
            found.absolute.extend(_split(batch.compare(matches, ends), ends))
            batches.append(matches)
        return found

    def contributions(
        self, prepared: PreparedQueries, candidates: Sequence[Array], known: CandidateMatches | None = None
    ) -> list[list[TermContributions]]:
        """Return the contribution of each term to the score of each query's candidates (docids in any order).

        known: earlier matches of these queries, with which the same candidates are not matched again.
        """
        contributions: list[list[TermContributions]] = []
        for number, (rows, batch) in enumerate(self._iter_batches(prepared)):
            own = candidates[rows.start : rows.stop]
            ends = _find_ends(own)
            places = known.find_rows(number, rows, own) if known else None
            if known and places is not None:
                matches = known.batches[number]
            else:
                matches = self._match(batch, own, ends, True)
                places = np.arange(sum(map(len, own)))
            named = batch.name_scores(matches, places, ends)
            found = list(map(TermContributions, matches.phrasings[places].tolist(), named))
            contributions += [found[start:end] for start, end in pairwise((0, *ends.tolist()))]
        return contributions

    def find_titles(self, keys: Sequence[int], exclusions: Sequence[Excluded | None]) -> Mapping[int, Sequence[int]]:
        """See TitlesSearcher."""
        return find_titles(self.segments, keys, exclusions)

    def complete(self, prefix: str) -> list[str]:
        """Return the live terms that begin with a prefix, by descending document frequency, at most MAX_COMPLETIONS."""
        return self.speller.complete(prefix)

    def _iter_batches(self, prepared: PreparedQueries) -> Iterator[tuple[range, PreparedBatch]]:
        if prepared.batch is not None:
            yield range(len(prepared.queries)), prepared.batch
            return
        for start in range(0, len(prepared.queries), BATCH_SIZE):
            rows = range(start, min(start + BATCH_SIZE, len(prepared.queries)))
            columns, numbers = prepared.select(rows)
            scores = self._compute(prepared.known, numbers, prepared.similarity)
            yield rows, PreparedBatch.of_terms(columns, scores, numbers, prepared.fields)

    def _search_rows(
        self, batch: PreparedBatch, k: int, allowed_masks: Sequence[Array], first: int, count: int
    ) -> list[TopDocs]:
        """Search some queries of a batch, which follow each other."""
        docids = np.empty((count, k), np.int64)
        scores = np.empty((count, k), np.int64)
        size = np.zeros(count, np.int64)
        heaps = TopKHeaps(scores, docids, size)
        tables = batch.scores.tables
        buffers = _borrow_buffers(batch.max_terms, max(table.code_count for table in tables))
        for live, table, mask in zip(self.segments, tables, allowed_masks, strict=True):
            is_last = live is self.segments[-1]
            search_queries(
                live.postings, table, batch.columns, first, heaps, mask, live.has_rephrasings, is_last, buffers
            )
        real = scores / batch.columns.scales[first : first + count, None]
        return [TopDocs(docids[row, :n], real[row, :n]) for row, n in enumerate(size.tolist())]

    def _match(
        self, batch: PreparedBatch, candidates: Sequence[Array], ends: Array, wants_terms: bool = False
    ) -> DocumentMatches:
        """Match each query with its candidates, all in one call. wants_terms: always return each term's score."""
        docids = np.concatenate(candidates, dtype=np.int64) if candidates else np.empty(0, np.int64)
        pairs = len(docids)
        fields = len(self._statistics)
        max_terms = batch.max_terms
        keeps_terms = wants_terms or pairs * max_terms <= MAX_KEPT_SCORES
        term_scores = np.full((pairs, max_terms) if keeps_terms else (0, 0), np.nan)
        of_fields = np.zeros((pairs, fields)), np.zeros((pairs, fields))
        matches = DocumentMatches(np.zeros(pairs), *of_fields, np.zeros(pairs, np.int64), term_scores)
        buffers = MatchBuffers(
            np.empty(len(batch.columns.terms), np.int64), np.empty((3, MATCHED_ROWS), np.int64),
            np.empty((max_terms, MATCHED_ROWS)), np.empty((4, fields)),
        )  # fmt: skip
        for live, table in zip(self.segments, batch.scores.tables, strict=True):
            mask = live.mask_allowed(None)
            match_documents(live.postings, table, batch.columns, mask, docids, ends, matches, buffers)
        return matches

    def _compute(self, known: KnownTerms, numbers: Array, similarity: TermScorer) -> TermScores:
        """Return the scores of known terms, with those of the given ones computed."""
        with self._lock:  # a cache that exceeds its limit is replaced
            scores = self._term_scores.get(similarity)
            if scores is None or scores.terms is not known or scores.size > MAX_CACHED_SCORES:
                if len(self._term_scores) >= MAX_CACHED_SIMILARITIES:
                    self._term_scores.clear()
                scores = self._term_scores[similarity] = TermScores(known, similarity)
            scores.compute(numbers)
            return scores


def _find_ends(candidates: Sequence[Array]) -> Array:
    """Return where the rows of each query's candidates end: int64 (queries)."""
    return np.array(list(accumulate(map(len, candidates))), np.int64)


def _split(values: Array, ends: Array) -> list[Array]:
    """Return the rows of each query's candidates."""
    return [values[start:end] for start, end in pairwise((0, *ends.tolist()))]


def _run_in_threads(task: Callable[[int, int], list[TopDocs]], n: int, at_once: int) -> list[TopDocs]:
    """Return the results of a task over n rows, given as the first one and their number, at most `at_once` together.

    They are split between the processor cores; a few rows are not.
    """
    threads = max(1, min(MAX_THREADS, min(n, at_once) // QUERIES_PER_THREAD))
    if n <= at_once and threads == 1:
        return task(0, n)
    size = -(-min(n, at_once) // threads)
    starts = range(0, n, size)
    with ThreadPoolExecutor(threads) as pool:
        return [one for found in pool.map(task, starts, (min(size, n - start) for start in starts)) for one in found]


def _borrow_buffers(max_terms: int, max_codes: int) -> Buffers:
    """Return this thread's working memory for searches with up to these numbers of terms and codes."""
    kept: Buffers | None = getattr(_kept, "buffers", None)
    max_terms = max(max_terms, USUAL_TERMS)
    if kept and len(kept.terms.ids) >= max_terms and len(kept.terms.scores) >= max_terms * max_codes:
        return kept
    made = _make_buffers(max_terms, max_codes)
    if len(made.terms.scores) <= MAX_BUFFERED_SCORES:
        _kept.buffers = made
    return made


def _make_buffers(max_terms: int, max_codes: int) -> Buffers:
    ids, starts, max_scores, completes = (np.empty(max_terms, np.int64) for _ in range(4))
    by_code, scores = np.empty(max_terms, np.bool_), np.empty(max_terms * max_codes, np.int32)
    terms = SegmentTerms(ids, starts, by_code, max_scores, completes, scores)
    buffers = Buffers(
        np.zeros(WINDOW, np.int32), np.zeros(WINDOW, np.int32), np.empty(WINDOW + 1, np.int32),
        np.empty(WINDOW + 1, np.int32), terms, np.empty((6, max_terms + 1), np.int64),
    )  # fmt: skip
    return prechecked(buffers)
