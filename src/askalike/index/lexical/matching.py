"""Matches given documents with a query: scores, shares of the query's words, and each term's contribution."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from askalike.index.lexical.maxscore import PostingArrays, doc_at, find_posting, lower_bound
from askalike.index.lexical.query_batch import QueryBatch, ScoreTables
from askalike.index.rows import first_row
from askalike.native.compiled import Matrix, compiled, inlined

LAST_ROW = np.iinfo(np.int64).max


class ListCursors(NamedTuple):
    """For each term of a batch, its position in the list after earlier rows, and its score in the last row: (M)."""

    reached: NDArray[np.int64]
    """The position in the list."""
    upcoming: NDArray[np.int64]
    """The row at that position: no earlier row has the term. 0 if unknown, LAST_ROW at the end of the list."""
    added: NDArray[np.float64]
    """NaN where the row lacks the term."""
    sums: Matrix[np.float64]
    """(4, F): scores and idf of the row in each field, first of finished words, then of the best completion."""

    @classmethod
    def of_terms(cls, count: int, fields: int) -> Self:
        """Return uninitialised cursors; `match_documents` initialises them."""
        numbers = np.empty(count, np.int64), np.empty(count, np.int64)
        return cls(*numbers, np.empty(count), np.empty((4, fields)))


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

    @classmethod
    def of_pairs(cls, pairs: int, fields: int, max_terms: int | None = None) -> Self:
        """Return the initial matches of pairs, before any segment. max_terms: None for no `term_scores`."""
        term_scores = np.full((0, 0) if max_terms is None else (pairs, max_terms), np.nan)
        of_fields = np.zeros((pairs, fields)), np.zeros((pairs, fields))
        return cls(np.zeros(pairs), *of_fields, np.zeros(pairs, np.int64), term_scores)


@inlined()
def _score_term(
    p: PostingArrays, tables: ScoreTables, batch: QueryBatch, q: int, m: int, row: int, cursors: ListCursors
) -> float:
    """Return the score of term m of query q in a row, rounded as in the search; NaN if the row does not have it."""
    number = batch.terms[m]
    term = tables.ids[number]
    if term < 0:
        cursors.upcoming[m] = LAST_ROW
        return np.nan
    start, end, bitmap = p.starts[term], p.starts[term + 1], int(p.bitmap_of[term])
    if bitmap >= 0:
        at = find_posting(p.blocks, p.places, p.bitmaps, p.ranks, bitmap, start, end, row)
    else:
        at = max(cursors.reached[m], start)
        if at < end and doc_at(p.blocks, p.places, at) < row:
            at = lower_bound(p.blocks, p.places, at, end, row)
        cursors.reached[m] = at
        cursors.upcoming[m] = doc_at(p.blocks, p.places, at) if at < end else LAST_ROW
        if cursors.upcoming[m] != row:
            at = -1
    if at < 0:
        return np.nan
    entry = np.int64(p.codes[at]) if end - start > tables.code_count else at - start
    score, scale = tables.entries[tables.starts[number] + entry], batch.scales[q]
    return max(np.int64(score * batch.weights[m] * scale + 0.5), np.int64(score > 0.0)) / scale


@inlined()
def _match_row(
    p: PostingArrays, tables: ScoreTables, batch: QueryBatch, information: NDArray[np.float64], q: int, row: int,
    i: int, matches: DocumentMatches, cursors: ListCursors,
) -> None:  # fmt: skip
    """Match query q with a row, and update pair i where the result is better. The best completion in a field counts."""
    first, last, sums = batch.offsets[q], batch.offsets[q + 1], cursors.sums
    sums[:, :] = 0.0
    for m in range(first, last):
        cursors.added[m] = np.nan
        if cursors.upcoming[m] > row:  # true for most lists
            continue
        added = cursors.added[m] = _score_term(p, tables, batch, q, m, row, cursors)
        if np.isnan(added):
            continue
        field = batch.fields[m]
        if batch.completes[m]:
            sums[2, field] = max(sums[2, field], added)
            sums[3, field] = max(sums[3, field], information[m])
        else:
            sums[0, field] += added
            sums[1, field] += information[m]
    score = 0.0
    for field in range(sums.shape[1]):
        in_field = sums[0, field] + sums[2, field]
        score += in_field
        matches.field_scores[i, field] = max(matches.field_scores[i, field], in_field)
        matches.information[i, field] = max(matches.information[i, field], sums[1, field] + sums[3, field])
    if score > matches.scores[i]:
        matches.scores[i], matches.phrasings[i] = score, np.int64(p.phrasings[row])
        for m in range(first, last if len(matches.term_scores) else first):
            matches.term_scores[i, m - first] = cursors.added[m]


@compiled()
def match_documents(
    p: PostingArrays, tables: ScoreTables, batch: QueryBatch, information: NDArray[np.float64],
    live_mask: NDArray[np.bool_], queries: NDArray[np.int64], docids: NDArray[np.int64], matches: DocumentMatches,
    cursors: ListCursors,
) -> None:  # fmt: skip
    """Match each pair of a query and a docid in one segment; it is faster if docids ascend.

    queries, docids: (P), the query as its row in the batch. information: (M), the idf of each term.
    live_mask: (rows), which rows are not deleted; empty if none is. cursors: working memory.
    """
    for i in range(len(docids)):
        q, row = queries[i], first_row(p.docids, docids[i])
        if not i or q != queries[i - 1] or docids[i] < docids[i - 1]:
            cursors.reached[batch.offsets[q] : batch.offsets[q + 1]] = 0
            cursors.upcoming[batch.offsets[q] : batch.offsets[q + 1]] = 0
        while row < len(p.docids) and p.docids[row] == docids[i]:
            phrasing = batch.excluded_phrasings[q]
            is_excluded = docids[i] == batch.excluded_docids[q] and (phrasing < 0 or p.phrasings[row] == phrasing)
            if not is_excluded and (not len(live_mask) or live_mask[row]):
                _match_row(p, tables, batch, information, q, row, i, matches, cursors)
            row += 1
