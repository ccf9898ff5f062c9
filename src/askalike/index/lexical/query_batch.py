"""A batch of queries on a segment: turns cached scores of terms into what the kernel in maxscore.py reads."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.index.lexical.maxscore import (
    ZERO,
    Buffers,
    PostingArrays,
    SegmentQuery,
    SegmentTerms,
    TopKHeap,
    TopKHeaps,
    search_segment,
    sift_down,
    swap,
)
from askalike.native.compiled import compiled, inlined


class ScoreTables(NamedTuple):
    """Cached scores of terms in one segment. A: terms looked up so far, E: entries."""

    ids: NDArray[np.int64]
    """(A): position in the segment's dictionary, −1 if the segment does not have the term."""
    starts: NDArray[np.int64]
    """(A): where the term's entries begin."""
    entries: NDArray[np.float64]
    """(E): one per code if the list is longer than the number of codes, else one per posting."""
    code_count: int
    """The number of the segment's codes."""
    shares_terms: bool
    """Whether the segment's terms stand for words of several fields."""
    pareto_starts: NDArray[np.int64]
    pareto: NDArray[np.uint16]
    """See Segment."""


class QueryBatch(NamedTuple):
    """Q queries as columns. Terms are positions in A, each once per query, M in total."""

    offsets: NDArray[np.int64]
    """(Q + 1): where each query's terms begin."""
    terms: NDArray[np.int64]
    """(M)."""
    weights: NDArray[np.float64]
    """(M): the frequency of the term in the query, times the weight of its field."""
    fields: NDArray[np.int64]
    """(M): the number of the field of the term."""
    completes: NDArray[np.int64]
    """(M): 0, or 1 + the field of a completion of an unfinished word; see SegmentTerms."""
    scales: NDArray[np.float64]
    """(Q): integer scores are scores times this."""
    excluded_docids: NDArray[np.int64]
    excluded_phrasings: NDArray[np.int64]
    """(Q): see QueryTerms."""

    @property
    def max_terms(self) -> int:
        """The maximum number of terms of a query."""
        return int(np.diff(self.offsets).max(initial=0))

    def select(self, rows: slice) -> "QueryBatch":
        """Return some of the queries as a batch."""
        offsets = self.offsets[rows.start : rows.stop + 1]
        own = (self.scales[rows], self.excluded_docids[rows], self.excluded_phrasings[rows])
        return QueryBatch(offsets, self.terms, self.weights, self.fields, self.completes, *own)


@inlined()
def _select_terms(p: PostingArrays, tables: ScoreTables, batch: QueryBatch, q: int, t: SegmentTerms) -> int:
    """Write the terms of query q in the segment, with their scores as integers, into `t`; return their number.

    Terms of several fields that the segment has as one become one term with the sum of their scores.
    """
    n = at = ZERO
    for m in range(batch.offsets[q], batch.offsets[q + 1]):
        term = tables.ids[batch.terms[m]]
        if term < 0:
            continue
        length = p.starts[term + 1] - p.starts[term]
        factor = batch.weights[m] * batch.scales[q]
        entries = min(length, tables.code_count)
        by_code = length > tables.code_count
        source = tables.entries[tables.starts[batch.terms[m]] :][:entries]
        place = n
        if tables.shares_terms and batch.fields[m] and not batch.completes[m]:
            place = _find_term(t, n, term)
        start = at if place == n else t.table_starts[place]
        table = t.scores[start : start + entries]
        if place == n:
            table[:] = 0
        for j in range(entries):
            table[j] += max(np.int32(source[j] * factor + 0.5), np.int32(source[j] > 0.0))  # every match scores above 0
        peak = np.int32(0)
        if by_code:
            for j in range(tables.pareto_starts[term], tables.pareto_starts[term + 1]):
                peak = max(peak, table[tables.pareto[j]])
        else:
            for j in range(entries):
                peak = max(peak, table[j])
        if place == n:
            at += entries
            n += 1
        _place_term(t, n, place, term, start, by_code, peak, batch.completes[m])
    return n


@inlined()
def _find_term(t: SegmentTerms, n: int, term: int) -> int:
    """Return the place of a term among the first n, or n."""
    for i in range(n):
        if t.ids[i] == term:
            return i
    return n


@inlined()
def _place_term(
    t: SegmentTerms, n: int, place: int, term: int, table_start: int, by_code: bool, max_score: int, completes: int
) -> None:
    """Write a term over that at a place among n, and move it into the order of SegmentTerms; completions are last."""
    at = place
    while not completes and at and (t.completes[at - 1] or t.max_scores[at - 1] > max_score):
        _copy_term(t, at - 1, at)
        at -= 1
    while at + 1 < n and not t.completes[at + 1] and t.max_scores[at + 1] < max_score:
        _copy_term(t, at + 1, at)
        at += 1
    t.ids[at], t.table_starts[at], t.by_code[at] = term, table_start, by_code
    t.max_scores[at], t.completes[at] = max_score, completes


@inlined()
def _copy_term(t: SegmentTerms, source: int, target: int) -> None:
    t.ids[target], t.table_starts[target], t.by_code[target] = t.ids[source], t.table_starts[source], t.by_code[source]
    t.max_scores[target], t.completes[target] = t.max_scores[source], t.completes[source]


@compiled()
def search_queries(
    p: PostingArrays, tables: ScoreTables, batch: QueryBatch, heaps: TopKHeaps,
    allowed_mask: NDArray[np.bool_], has_rephrasings: bool, buffers: Buffers,
) -> None:  # fmt: skip
    """Search one segment for every query; row q of `heaps` is the heap of query q."""
    for q in range(len(batch.scales)):
        t = buffers.terms
        n = _select_terms(p, tables, batch, q, t)
        if n:
            terms = SegmentTerms(
                t.ids[:n], t.table_starts[:n], t.by_code[:n], t.max_scores[:n], t.completes[:n], t.scores
            )
            query = SegmentQuery(allowed_mask, batch.excluded_docids[q], batch.excluded_phrasings[q], has_rephrasings)
            heap = TopKHeap(heaps.scores[q], heaps.docids[q], heaps.size[q : q + 1])
            search_segment(p, terms, query, heap, buffers)


@compiled()
def sort_heaps(heaps: TopKHeaps) -> None:
    """Sort every heap: best first, equal scores by docid."""
    for q in range(len(heaps.size)):
        size = heaps.size[q]
        heap = TopKHeap(heaps.scores[q], heaps.docids[q], heaps.size[q : q + 1])
        for last in range(size - 1, 0, -1):
            swap(heap, ZERO, last)
            heap.size[0] = last
            sift_down(heap, ZERO)
        heap.size[0] = size
