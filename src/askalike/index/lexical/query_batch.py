"""A batch of queries on a segment: searched (by maxscore.py), or matched with given documents.

Both read the cached scores of terms, of which a search makes integers first. A match gives a document's score, the
shares of the query's words that it has, and each term's contribution.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.index.lexical.maxscore import (
    ONE,
    ZERO,
    Buffers,
    PostingArrays,
    SegmentQuery,
    SegmentTerms,
    TopKHeap,
    TopKHeaps,
    doc_at,
    find_posting,
    lower_bound,
    search_segment,
    sift_down,
    swap,
)
from askalike.index.rows import first_row
from askalike.native.compiled import Matrix, compiled, inlined

MATCHED_ROWS = 64  # rows that are matched at a time: their scores by term stay in the first-level cache
MIN_INFORMATION = 1e-9


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
    information: NDArray[np.float64]
    """(M): the idf of the word in its field; that of a completion is the lowest of them."""
    scales: NDArray[np.float64]
    """(Q): integer scores are scores times this."""
    excluded: Matrix[np.int64]
    """(Q, 2): see `Excluded.to_numbers`."""


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
    p: PostingArrays, tables: ScoreTables, batch: QueryBatch, first: int, heaps: TopKHeaps,
    allowed_mask: NDArray[np.bool_], has_rephrasings: bool, is_last: bool, buffers: Buffers,
) -> None:  # fmt: skip
    """Search one segment for the queries from `first` on, one for each heap; after the last segment, sort the heaps."""
    for row in range(len(heaps.size)):
        t = buffers.terms
        q = first + row
        n = _select_terms(p, tables, batch, q, t)
        heap = TopKHeap(heaps.scores[row], heaps.docids[row], heaps.size[row : row + 1])
        if n:
            terms = SegmentTerms(
                t.ids[:n], t.table_starts[:n], t.by_code[:n], t.max_scores[:n], t.completes[:n], t.scores
            )
            query = SegmentQuery(allowed_mask, batch.excluded[q, 0], batch.excluded[q, 1], has_rephrasings)
            search_segment(p, terms, query, heap, buffers)
        if is_last:
            _sort_heap(heap)


@inlined()
def _sort_heap(heap: TopKHeap) -> None:
    """Sort the entries: best first, equal scores by docid."""
    size = heap.size[0]
    for last in range(size - 1, 0, -1):
        swap(heap, ZERO, last)
        heap.size[0] = last
        sift_down(heap, ZERO)
    heap.size[0] = size


class MatchBuffers(NamedTuple):
    """Working memory for R rows of the documents of one query, whose T terms are found in all of them at a time."""

    reached: NDArray[np.int64]
    """(M): for each term of a batch, the position in its list after earlier rows."""
    rows: Matrix[np.int64]
    """(3, R): live rows of documents, the pair of a query and a docid that each belongs to, and the position of each
    in the list of one term, −1 if it is not there."""
    added: Matrix[np.float64]
    """(T, R): the score of each term in each row, NaN where the row lacks the term."""
    sums: Matrix[np.float64]
    """(4, F): scores and idf of a row in each field, first of finished words, then of the best completion."""


class DocumentMatches(NamedTuple):
    """Matches of P pairs of a query and a docid, by the best phrasing of the docid; 0 without a match."""

    scores: NDArray[np.float64]
    """(P)."""
    field_scores: Matrix[np.float64]
    """(P, F): the score of each field, in the phrasing where it is highest."""
    information: Matrix[np.float64]
    """(P, F): the total idf of the shared words in each field, in the phrasing where it is highest."""
    phrasings: NDArray[np.int64]
    """(P): the phrasing that scores best."""
    term_scores: Matrix[np.float64]
    """(P, maximum terms of a query): each term's score in that phrasing, NaN if it does not occur; or (0, 0)."""


@inlined()
def _find_rows_in_list(p: PostingArrays, term: int, n: int, reached: int, buffers: MatchBuffers) -> int:
    """Write the places of n rows in a term's list; return the position that the last one is at, or before."""
    rows, places = buffers.rows[0], buffers.rows[2]
    start = p.starts[term]
    end = p.starts[term + 1]
    bitmap = int(p.bitmap_of[term])
    at = max(reached, start)
    for r in range(n):
        row = rows[r]
        if bitmap >= 0:
            places[r] = find_posting(p.blocks, p.places, p.bitmaps, p.ranks, bitmap, start, end, row)
            continue
        if r and row < rows[r - 1]:
            at = start
        step = ONE
        while at + step <= end and doc_at(p.blocks, p.places, at + step - 1) < row:  # the next one is often near
            at += step
            step <<= 1
        at = lower_bound(p.blocks, p.places, at, min(at + step - 1, end), row)
        places[r] = at if at < end and doc_at(p.blocks, p.places, at) == row else -1
    return at


@inlined()
def _score_term(
    p: PostingArrays, tables: ScoreTables, batch: QueryBatch, q: int, m: int, n: int, buffers: MatchBuffers
) -> None:
    """Write the score of term m of query q in each of n rows, rounded as in the search; see MatchBuffers."""
    added, number, scale = buffers.added[m - batch.offsets[q]], batch.terms[m], batch.scales[q]
    term = tables.ids[number]
    if term < 0:
        added[:n] = np.nan
        return
    buffers.reached[m] = _find_rows_in_list(p, term, n, buffers.reached[m], buffers)
    start, entries = p.starts[term], tables.entries[tables.starts[number] :]
    by_code = p.starts[term + 1] - start > tables.code_count  # exact, as it is a power of two
    inverse = 1.0 / scale
    for r in range(n):
        at = buffers.rows[2, r]
        added[r] = np.nan
        if at >= 0:
            score = entries[np.int64(p.codes[at]) if by_code else at - start]
            added[r] = max(np.int64(score * batch.weights[m] * scale + 0.5), np.int64(score > 0.0)) * inverse


@inlined()
def _match_row(
    p: PostingArrays, batch: QueryBatch, q: int, r: int, matches: DocumentMatches, buffers: MatchBuffers
) -> None:
    """Update the pair of row r where the row's result is better. The best completion in a field counts."""
    first = batch.offsets[q]
    last = batch.offsets[q + 1]
    sums = buffers.sums
    i = buffers.rows[1, r]
    sums[:, :] = 0.0
    for m in range(first, last):
        added, field = buffers.added[m - first, r], batch.fields[m]
        if np.isnan(added):
            continue
        if batch.completes[m]:
            sums[2, field] = max(sums[2, field], added)
            sums[3, field] = max(sums[3, field], batch.information[m])
        else:
            sums[0, field] += added
            sums[1, field] += batch.information[m]
    score = 0.0
    for field in range(sums.shape[1]):
        in_field = sums[0, field] + sums[2, field]
        score += in_field
        matches.field_scores[i, field] = max(matches.field_scores[i, field], in_field)
        matches.information[i, field] = max(matches.information[i, field], sums[1, field] + sums[3, field])
    if score > matches.scores[i]:
        matches.scores[i], matches.phrasings[i] = score, np.int64(p.phrasings[buffers.rows[0, r]])
        for m in range(first, last if len(matches.term_scores) else first):
            matches.term_scores[i, m - first] = buffers.added[m - first, r]


@inlined()
def _match_rows(
    p: PostingArrays, tables: ScoreTables, batch: QueryBatch, q: int, n: int, matches: DocumentMatches,
    buffers: MatchBuffers,
) -> None:  # fmt: skip
    """Match query q with n rows of its documents, one term after the other."""
    for m in range(batch.offsets[q], batch.offsets[q + 1]):
        _score_term(p, tables, batch, q, m, n, buffers)
    for r in range(n):
        _match_row(p, batch, q, r, matches, buffers)


@compiled()
def match_documents(
    p: PostingArrays, tables: ScoreTables, batch: QueryBatch, live_mask: NDArray[np.bool_], docids: NDArray[np.int64],
    ends: NDArray[np.int64], matches: DocumentMatches, buffers: MatchBuffers,
) -> None:  # fmt: skip
    """Match each query with its docids in one segment; it is faster if they ascend.

    docids: (P), of one query after the other. ends: (Q), where those of each end. live_mask: (rows), which rows are not
    deleted; empty if none is.
    """
    first = ZERO
    for q in range(len(ends)):
        n = ZERO
        excluded = batch.excluded[q, 0]
        phrasing = batch.excluded[q, 1]
        for i in range(first, ends[q]):
            row = first_row(p.docids, docids[i])
            if not n and (i == first or docids[i] < docids[i - 1]):
                buffers.reached[batch.offsets[q] : batch.offsets[q + 1]] = 0
            while row < len(p.docids) and p.docids[row] == docids[i]:
                is_excluded = docids[i] == excluded and (phrasing < 0 or p.phrasings[row] == phrasing)
                if not is_excluded and (not len(live_mask) or live_mask[row]):
                    buffers.rows[0, n], buffers.rows[1, n] = row, i
                    n += 1
                    if n == buffers.rows.shape[1]:
                        _match_rows(p, tables, batch, q, n, matches, buffers)
                        n = ZERO
                row += 1
        if n:
            _match_rows(p, tables, batch, q, n, matches, buffers)
        first = ends[q]


@compiled()
def list_term_scores(
    batch: QueryBatch, term_scores: Matrix[np.float64], rows: NDArray[np.int64], ends: NDArray[np.int64],
    terms: NDArray[np.int64], scores: NDArray[np.float64], counts: NDArray[np.int64],
) -> int:  # fmt: skip
    """Write the terms that score in some documents of the queries, one document after the other; return their number.

    Of the completions in a field, which follow each other in a query, only the best is listed. term_scores: see
    DocumentMatches. rows, ends: of each document in these, and where those of each query end. counts: of each document.
    """
    n = document = ZERO
    for q in range(len(ends)):
        for i in range(document, ends[q]):
            start, last_field = n, ZERO
            for m in range(batch.offsets[q], batch.offsets[q + 1]):
                score, field = term_scores[rows[i], m - batch.offsets[q]], batch.completes[m]
                is_other = field == 0 or field != last_field
                if np.isnan(score) or (field and score <= (0.0 if is_other else scores[n - 1])):
                    continue
                n += is_other
                terms[n - 1] = batch.terms[m]
                scores[n - 1] = score
                last_field = field
            counts[i] = n - start
        document = ends[q]
    return n


@compiled()
def compare_with_queries(
    batch: QueryBatch, own_scores: Matrix[np.float64], own_weights: NDArray[np.float64], factors: Matrix[np.float64],
    ends: NDArray[np.int64], matches: DocumentMatches, absolute: NDArray[np.float64],
) -> None:  # fmt: skip
    """Write the absolute score of each document; see CandidateMatches.

    own_scores: (F, M), the score of each word in a text with its query's words, by the statistics of each field, and
    own_weights: (M), their weights. factors: (Q, F). ends: see match_documents. Of a query's completions in a field,
    the one that would score least counts.
    """
    first = ZERO
    for q in range(len(ends)):
        for field in range(factors.shape[1]):
            score = information = 0.0
            least, most_information = np.inf, 0.0
            for m in range(batch.offsets[q], batch.offsets[q + 1]):
                if batch.fields[m] != field:
                    continue
                own = own_weights[m] * own_scores[field, m]
                if batch.completes[m]:
                    least = min(least, own)
                    most_information = max(most_information, batch.information[m])
                else:
                    score += own
                    information += batch.information[m]
            if least < np.inf:
                score, information = score + least, information + most_information
            score = score if score > 0.0 else 1.0
            information = max(information, MIN_INFORMATION)
            for i in range(first, ends[q]):
                share = matches.field_scores[i, field] / score + matches.information[i, field] / information
                absolute[i] = max(absolute[i], share / 2.0 * factors[q, field])
        first = ends[q]
