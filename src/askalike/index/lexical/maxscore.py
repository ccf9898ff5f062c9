"""The k best documents of a query, without scoring those that cannot be among them.

MaxScore (Turtle and Flood 1995) over windows of documents whose sums fit into the second-level cache: the postings of
the query's telling ("essential") terms are added up in an array; only documents whose sum, with the most that the other
terms could add, reaches the k-th best score so far are looked up in the others' long lists, which cost one bit test.
What an addition costs is the bytes it reads, four a posting.

Scores are whole numbers here (a fixed-point scale per query, chosen by the caller), so that the sum does not depend
on the order of addition, and skipping changes nothing: the result is exactly that of scoring everything.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from askalike.index.lexical.segment import Array

WINDOW = 65_536  # documents: a block, whose sums (256 KiB) fit into the second-level cache
SAMPLE_SIZE = 4_096  # documents of a window that are scored by all terms, to plan the others' search by
BLOCK_SIZE = 64  # sums that are looked at together
SPARSE_DIVISOR = 8  # a window in which less than a share of 1/8 was touched is not scanned
COLLECT_COST = 10.0  # taking up one candidate costs as much as adding so many postings
LOOKUP_COST = 8.0  # and looking one up in a list as so many
EXTRA_SEEDS = 6  # so many more documents than are asked for are scored first, for a first idea of the k-th best score
MAX_SEED_POSTINGS = 4_096
MAX_SEED_LISTS = 20


class PostingArrays(NamedTuple):
    """The arrays of a segment that the search touches (segment.py describes them)."""

    docids: Array
    phrasings: Array
    starts: Array
    blocks: Array
    places: Array
    codes: Array
    bitmap_of: Array
    bitmaps: Array
    ranks: Array


class SegmentTerms(NamedTuple):
    """The query's terms in one segment, T of them, by rising highest score."""

    ids: Array
    """int64 (T): position in the segment's dictionary."""
    table_starts: Array
    """int64 (T): where the term's scores begin in `scores`."""
    by_code: Array
    """bool (T): scores are looked up by the posting's code, else by its position in the list."""
    max_scores: Array
    """int64 (T): the term's highest score in this segment."""
    is_completion: Array
    """bool (T): one of the completions of an unfinished word, of which the best alone counts."""
    scores: Array
    """int32: the score tables of all terms, one after the other."""


class PostingList(NamedTuple):
    """One term's list in one segment, by numbers alone (which are cheaper to hand on than arrays)."""

    start: int
    end: int
    table_start: int
    """Where its scores begin."""
    bitmap_row: int
    """Its bitmap, −1 for none."""
    by_code: bool


class SegmentQuery(NamedTuple):
    """What else a search in one segment must know."""

    segment: int
    allowed_mask: Array
    """bool (D): documents that may be found; empty where all may."""
    excluded_docid: int
    """A question that must not be found, −1 for none."""
    excluded_phrasing: int
    """The one phrasing of it that must not be used, −1 for the question and all of them."""
    has_rephrasings: bool
    """Whether a number may have several documents."""


class Buffers(NamedTuple):
    """Space to work in. The window and the group hold zeros between searches."""

    window: Array
    """int32 (WINDOW): the sums of the documents of one window."""
    completion_window: Array
    """int32 (WINDOW): the best completion of an unfinished word for each."""
    docs: Array
    sums: Array
    """int64 (WINDOW + 1, the last being room to write in vain): documents that may be among the best, their sums."""


class TopKHeap(NamedTuple):
    """The best documents so far of one query: a heap whose first entry is the worst, `size[0]` of them."""

    scores: Array
    docids: Array
    docs: Array
    segments: Array
    size: Array


@njit(inline="always")
def _is_worse(heap: TopKHeap, a: int, b: int) -> bool:
    if heap.scores[a] != heap.scores[b]:
        return heap.scores[a] < heap.scores[b]
    return heap.docids[a] > heap.docids[b]


@njit(inline="always")
def _swap(heap: TopKHeap, a: int, b: int) -> None:
    heap.scores[a], heap.scores[b] = heap.scores[b], heap.scores[a]
    heap.docids[a], heap.docids[b] = heap.docids[b], heap.docids[a]
    heap.docs[a], heap.docs[b] = heap.docs[b], heap.docs[a]
    heap.segments[a], heap.segments[b] = heap.segments[b], heap.segments[a]


@njit(cache=True)
def _sift_down(heap: TopKHeap, at: int) -> None:
    while True:
        least, left = at, 2 * at + 1
        if left < heap.size[0] and _is_worse(heap, left, least):
            least = left
        if left + 1 < heap.size[0] and _is_worse(heap, left + 1, least):
            least = left + 1
        if least == at:
            return
        _swap(heap, at, least)
        at = least


@njit(cache=True)
def _sift_up(heap: TopKHeap, at: int) -> None:
    while at and _is_worse(heap, at, (at - 1) // 2):
        _swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2


@njit(cache=True)
def _set_entry(heap: TopKHeap, at: int, score: int, docid: int, doc: int, segment: int) -> None:
    heap.scores[at], heap.docids[at], heap.docs[at], heap.segments[at] = score, docid, doc, segment


@njit(cache=True)
def offer(heap: TopKHeap, score: int, docid: int, doc: int, segment: int, has_rephrasings: bool) -> None:
    """Takes a document if it is among the best. With `repeats`, a number may be offered twice: its best counts."""
    if has_rephrasings:
        for i in range(heap.size[0]):
            if heap.docids[i] == docid:
                if score > heap.scores[i]:
                    _set_entry(heap, i, score, docid, doc, segment)
                    _sift_down(heap, i)
                return
    if heap.size[0] < len(heap.scores):
        at = heap.size[0]
        _set_entry(heap, at, score, docid, doc, segment)
        heap.size[0] += 1
        _sift_up(heap, at)
    elif score > heap.scores[0] or (score == heap.scores[0] and docid < heap.docids[0]):
        _set_entry(heap, 0, score, docid, doc, segment)
        _sift_down(heap, 0)


@njit(inline="always")
def _popcount(word: np.uint64) -> int:
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(inline="always")
def _doc_at(blocks: Array, places: Array, at: int) -> int:
    return (np.int64(blocks[at]) << np.int64(16)) | np.int64(places[at])


@njit(cache=True)
def lower_bound(blocks: Array, places: Array, low: int, end: int, doc: int) -> int:
    """The first position in low:end that holds `doc` or a later one; `end` if there is none. Without branches."""
    size = end - low
    if size == 0:
        return low
    at = np.uint64(low)
    while size > 1:
        half = size >> 1
        at += np.uint64(half) * np.uint64(_doc_at(blocks, places, at + np.uint64(half - 1)) < doc)
        size -= half
    return np.int64(at) + np.int64(_doc_at(blocks, places, at) < doc)


@njit(cache=True)
def _advance(blocks: Array, places: Array, ranks: Array, posting_list: PostingList, at: int, doc: int) -> int:
    """The first position, not before `at`, of a document from `doc` on, which is the first of a bitmap's word."""
    if posting_list.bitmap_row < 0:
        return lower_bound(blocks, places, at, posting_list.end, doc)
    return (
        posting_list.start + ranks[posting_list.bitmap_row, doc >> 6] if doc >> 6 < ranks.shape[1] else posting_list.end
    )


@njit(cache=True)
def find_posting(
    blocks: Array, places: Array, bitmaps: Array, ranks: Array, bitmap_row: int, start: int, end: int, doc: int
) -> int:
    """The position of a document in the list start:end, −1 if it is not there. row: the list's bitmap, or −1."""
    if bitmap_row >= 0:
        word = bitmaps[bitmap_row, doc >> 6]
        bit = np.uint64(1) << np.uint64(doc & 63)
        return start + ranks[bitmap_row, doc >> 6] + _popcount(word & (bit - np.uint64(1))) if word & bit else -1
    at = lower_bound(blocks, places, start, end, doc)
    return at if at < end and _doc_at(blocks, places, at) == doc else -1


@njit(cache=True)
def _rescore_by_bitmap(
    codes: Array,
    bitmaps: Array,
    ranks: Array,
    scores: Array,
    posting_list: PostingList,
    candidates: Array,
    sums: Array,
    n: int,
    min_score: int,
) -> int:
    """Adds a list that has a bitmap to the candidates' sums; those below `least` are dropped. Returns how many stay.

    Without branches: whether a document is in a list cannot be predicted, and reading in vain is cheap in a window.
    """
    bits, earlier, table = (
        bitmaps[posting_list.bitmap_row],
        ranks[posting_list.bitmap_row],
        scores[posting_list.table_start :],
    )
    held, last = codes[posting_list.start : posting_list.end], np.uint64(posting_list.end - posting_list.start - 1)
    kept = np.uint64(0)
    for c in range(n):
        doc, total = candidates[c], sums[c]
        at, bit = np.uint64(doc) >> np.uint64(6), np.uint64(doc) & np.uint64(63)
        word = bits[at]
        place = min(np.uint64(earlier[at]) + np.uint64(_popcount(word & ((np.uint64(1) << bit) - np.uint64(1)))), last)
        score = table[held[place]] if posting_list.by_code else table[place]
        total += score * np.int64((word >> bit) & np.uint64(1))
        candidates[kept], sums[kept] = doc, total
        kept += np.uint64(total >= min_score)
    return np.int64(kept)


@njit(cache=True)
def _rescore_by_search(
    blocks: Array,
    places: Array,
    codes: Array,
    scores: Array,
    posting_list: PostingList,
    candidates: Array,
    sums: Array,
    n: int,
    min_score: int,
) -> int:
    """As `_refine_long` for a list without a bitmap."""
    kept = 0
    for c in range(n):
        doc, total = candidates[c], sums[c]
        at = lower_bound(blocks, places, posting_list.start, posting_list.end, doc)
        if at < posting_list.end and _doc_at(blocks, places, at) == doc:
            total += scores[posting_list.table_start + (codes[at] if posting_list.by_code else at - posting_list.start)]
        candidates[kept], sums[kept] = doc, total
        kept += total >= min_score
    return kept


@njit(cache=True)
def _add_scores(
    places: Array, codes: Array, scores: Array, posting_list: PostingList, first: int, last: int, window: Array
) -> None:
    """Adds the scores of postings first:last, which lie in one window."""
    places, codes = places[first:last], codes[first:last]
    if posting_list.by_code:
        table = scores[posting_list.table_start :]
        for j in range(len(places)):
            window[places[j]] += table[codes[j]]
    else:
        own = scores[posting_list.table_start + first - posting_list.start :]
        for j in range(len(places)):
            window[places[j]] += own[j]


@njit(cache=True)
def _raise_to_max_scores(
    places: Array,
    codes: Array,
    scores: Array,
    posting_list: PostingList,
    first: int,
    last: int,
    completion_window: Array,
) -> None:
    """As `_add` for a completion of an unfinished word: the best one counts, not the sum."""
    for j in range(first, last):
        score = scores[posting_list.table_start + (codes[j] if posting_list.by_code else j - posting_list.start)]
        completion_window[places[j]] = max(completion_window[places[j]], score)


@njit(cache=True)
def _collect_window(window: Array, low: int, high: int, min_score: int, candidates: Array, sums: Array) -> int:
    """Moves the documents low:high whose sums are at least `need` into a list, and clears their sums."""
    n, least, base = 0, np.int32(min_score), low - low % WINDOW
    for block in range(low - base, high - base, BLOCK_SIZE):
        part = window[block : block + BLOCK_SIZE]
        top = np.int32(0)
        for x in range(len(part)):
            top = max(top, part[np.uint64(x)])
        if top >= least:
            for x in range(BLOCK_SIZE):
                score = part[np.uint64(x)]
                if score >= least:
                    candidates[n], sums[n] = base + block + x, score
                    n += 1
    window[low - base : high - base] = 0
    return n


@njit(cache=True)
def _collect_touched(
    places: Array,
    first: int,
    last: int,
    window: Array,
    base: int,
    min_score: int,
    candidates: Array,
    sums: Array,
    n: int,
) -> int:
    """As `_gather`, but looks only at the documents first:last of one list. Without branches."""
    at = np.uint64(n)
    places = places[first:last]
    for j in range(len(places)):
        place = places[j]
        score = window[place]
        candidates[at], sums[at] = base + place, score
        at += np.uint64(score >= min_score)
        window[place] = 0
    return np.int64(at)


@njit(cache=True)
def _add_completion_scores(places: Array, first: int, last: int, completion_window: Array, window: Array) -> None:
    """Adds the best completion of each document first:last of one list to its sum, once, and clears it."""
    places = places[first:last]
    for j in range(len(places)):
        place = places[j]
        window[place] += completion_window[place]
        completion_window[place] = 0


@njit(cache=True)
def _get_posting_list(p: PostingArrays, t: SegmentTerms, i: int) -> PostingList:
    term = t.ids[i]
    return PostingList(p.starts[term], p.starts[term + 1], t.table_starts[i], np.int64(p.bitmap_of[term]), t.by_code[i])


@njit(inline="always")
def _min_competitive_score(heap: TopKHeap, seed: int, docid: int) -> int:
    """The least score that still counts for documents whose numbers are not below `number`."""
    if heap.size[0] < len(heap.scores):
        return max(seed, 1)
    worst = heap.scores[0]
    return max(seed, worst if docid < heap.docids[0] else worst + 1)


@njit(cache=True)
def _estimate_kth_score(
    p: PostingArrays, t: SegmentTerms, query: SegmentQuery, droppable: int, k: int, buffers: Buffers
) -> int:
    """A score that at least k different numbers reach, 0 if none is found quickly.

    Adds up the first postings of the most telling terms, and takes of the best documents what other terms add.
    """
    blocks, places, codes, bitmaps, ranks, scores = p.blocks, p.places, p.codes, p.bitmaps, p.ranks, t.scores
    window, found, sums = buffers.window, buffers.docs, buffers.sums
    lasts = np.zeros(droppable, np.int64)
    i, room = droppable, MAX_SEED_POSTINGS
    while i > 0 and room > 0:
        i -= 1
        one = _get_posting_list(p, t, i)
        lasts[i] = min(_advance(blocks, places, ranks, one, one.start, WINDOW), one.start + room)
        _add_scores(places, codes, scores, one, one.start, lasts[i], window)
        room -= lasts[i] - one.start
    n = 0
    for j in range(i, droppable):
        n = _collect_touched(places, _get_posting_list(p, t, j).start, lasts[j], window, 0, 1, found, sums, n)
    n = _filter_candidates(p, query, found, sums, _select_largest(found, sums, n, k + EXTRA_SEEDS))
    if n < k:
        return 0
    for j in range(i - 1, max(i - 1 - MAX_SEED_LISTS, -1), -1):
        one = _get_posting_list(p, t, j)
        if one.bitmap_row >= 0:
            n = _rescore_by_bitmap(codes, bitmaps, ranks, scores, one, found, sums, n, 0)
    return np.sort(sums[:n])[n - k]


@njit(cache=True)
def _select_largest(candidates: Array, sums: Array, n: int, min_count: int) -> int:
    """Moves documents with the largest sums, from `most` to four times as many, to the front; returns how many."""
    if n <= 2 * min_count:
        return n
    peaks = np.empty(2 * min_count, sums.dtype)  # at least `most` sums reach the middle one of so many parts' largest
    size = n // len(peaks)
    for b in range(len(peaks)):
        peaks[b] = sums[b * size : (b + 1) * size].max()
    peaks.sort()
    kept = 0
    for c in range(n):
        if sums[c] >= peaks[min_count] and kept < 4 * min_count:
            candidates[kept], sums[kept] = candidates[c], sums[c]
            kept += 1
    return kept


@njit(cache=True)
def _filter_candidates(p: PostingArrays, query: SegmentQuery, candidates: Array, sums: Array, n: int) -> int:
    """Keeps the documents that the query may find, one of each number; returns how many."""
    own, phrasings, allowed = p.docids, p.phrasings, query.allowed_mask
    numbers = np.empty(n, np.int64)
    kept = 0
    for c in range(n):
        doc = candidates[c]
        if len(allowed) and not allowed[doc]:
            continue
        if own[doc] == query.excluded_docid and (
            query.excluded_phrasing < 0 or phrasings[doc] == query.excluded_phrasing
        ):
            continue
        if query.has_rephrasings and (numbers[:kept] == own[doc]).any():
            continue
        candidates[kept], sums[kept], numbers[kept] = doc, sums[c], own[doc]
        kept += 1
    return kept


@njit(cache=True)
def _offer_candidates(
    p: PostingArrays, query: SegmentQuery, heap: TopKHeap, candidates: Array, sums: Array, n: int, seed: int
) -> None:
    if n == 0:
        return
    own, phrasings, allowed = p.docids, p.phrasings, query.allowed_mask
    limit = _min_competitive_score(heap, seed, own[candidates[0]])
    for c in range(n):
        doc, score = candidates[c], sums[c]
        if score < limit or (len(allowed) and not allowed[doc]):
            continue
        number = own[doc]
        if number == query.excluded_docid and (
            query.excluded_phrasing < 0 or phrasings[doc] == query.excluded_phrasing
        ):
            continue
        offer(heap, score, number, doc, query.segment, query.has_rephrasings)
        limit = _min_competitive_score(heap, seed, 0)


@njit(cache=True)
def _count_at_least(sums: Array, min_score: int) -> int:
    """How many sums reach `need`."""
    n, least = 0, np.int32(min_score)
    for x in range(len(sums)):
        n += sums[np.uint64(x)] >= least
    return n


@njit(cache=True)
def _choose_first_added(p: PostingArrays, t: SegmentTerms, counts: Array, essential: int, documents_ahead: int) -> int:
    """From which term on lists are added up, so that the whole costs least; the others are looked up.

    counts: how many documents of a sample stay when the terms from each on are known. ahead: the documents to come.
    """
    share, added, least, adding = documents_ahead / SAMPLE_SIZE, essential, np.inf, 0.0
    for first in range(essential, -1, -1):
        cost = adding + COLLECT_COST * share * counts[first]
        for i in range(first):
            cost += LOOKUP_COST * share * counts[i + 1]
        if cost < least:
            added, least = first, cost
        if first:
            term = t.ids[first - 1]
            adding += (p.starts[term + 1] - p.starts[term]) * documents_ahead / len(p.docids)
    return added


@njit(cache=True)
def search_segment(p: PostingArrays, t: SegmentTerms, query: SegmentQuery, heap: TopKHeap, buffers: Buffers) -> None:
    """Offers the segment's documents to `best`.

    Terms from `essential` on find documents. Of the others, those from `added` on are added to the sums all the same,
    where there are so many candidates that this is cheaper than looking each up; the rest is looked up. Where it
    matters, a sample of a window is scored by all terms, to see how many candidates there are.
    """
    terms, documents = len(t.ids), len(p.docids)
    lists = [_get_posting_list(p, t, i) for i in range(terms)]
    rest = np.zeros(terms + 1, np.int64)
    loose = 0  # terms that may become inessential: all but the completions, which come last
    while loose < terms and not t.is_completion[loose]:
        rest[loose + 1] = rest[loose] + t.max_scores[loose]
        loose += 1
    seed = 0
    if heap.size[0] < len(heap.scores) and documents > SAMPLE_SIZE:
        seed = _estimate_kth_score(p, t, query, loose, len(heap.scores), buffers)
    blocks, places, codes, bitmaps, ranks, scores = p.blocks, p.places, p.codes, p.bitmaps, p.ranks, t.scores
    window, group, found, sums = buffers.window, buffers.completion_window, buffers.docs, buffers.sums
    firsts, lasts, counts = p.starts[t.ids], p.starts[t.ids], np.zeros(terms + 1, np.int64)
    essential, low, planned = 0, 0, False
    while low < documents:
        limit = _min_competitive_score(heap, seed, p.docids[low])
        while essential < loose and rest[essential + 1] < limit:
            essential += 1
        high = low - low % WINDOW + WINDOW
        sampling = False
        if planned:
            added = _choose_first_added(p, t, counts, essential, min(high, documents) - low)
        else:
            nearest, finding = documents, 0
            for i in range(essential, terms):
                finding += lists[i].end - lists[i].start
                if lasts[i] < lists[i].end:
                    nearest = min(nearest, _doc_at(blocks, places, lasts[i]))
            if nearest == documents:
                return
            low = nearest - nearest % BLOCK_SIZE
            high = low - low % WINDOW + WINDOW
            added = essential
            if (
                essential
                and finding * WINDOW > SAMPLE_SIZE * documents
                and low + 4 * SAMPLE_SIZE < min(high, documents)
            ):
                high, added, sampling = low + SAMPLE_SIZE, 0, True
        base = low - low % WINDOW
        touched = 0
        for i in range(added, terms):
            firsts[i] = _advance(blocks, places, ranks, lists[i], lasts[i], low)
            lasts[i] = _advance(blocks, places, ranks, lists[i], firsts[i], high)
            touched += lasts[i] - firsts[i]
        sparse = touched * SPARSE_DIVISOR < high - low
        for i in range(loose, terms):
            _raise_to_max_scores(places, codes, scores, lists[i], firsts[i], lasts[i], group)
        if sparse:
            for i in range(loose, terms):
                _add_completion_scores(places, firsts[i], lasts[i], group, window)
        elif loose < terms:
            window[:] += group
            group[:] = 0
        part = window[low - base : high - base]
        for i in range(loose - 1, added - 1, -1):
            if sampling and i < essential:
                counts[i + 1] = _count_at_least(part, max(1, limit - rest[i + 1]))
            _add_scores(places, codes, scores, lists[i], firsts[i], lasts[i], window)
        if sampling:
            planned = True
            counts[0] = _count_at_least(part, limit)
        need = max(1, limit - rest[added])
        n = 0
        if sparse:
            for i in range(added, terms):
                n = _collect_touched(places, firsts[i], lasts[i], window, base, need, found, sums, n)
        else:
            n = _collect_window(
                window, low, min(high, documents + BLOCK_SIZE - documents % BLOCK_SIZE), need, found, sums
            )
        for i in range(added - 1, -1, -1):
            if n == 0:
                break
            one = lists[i]
            if one.bitmap_row >= 0:
                n = _rescore_by_bitmap(codes, bitmaps, ranks, scores, one, found, sums, n, limit - rest[i])
            else:
                n = _rescore_by_search(blocks, places, codes, scores, one, found, sums, n, limit - rest[i])
        _offer_candidates(p, query, heap, found, sums, n, seed)
        low = high


class ScoreTables(NamedTuple):
    """Scores of terms in one segment, computed once and kept. A: terms asked for so far, E: entries."""

    ids: Array
    """int64 (A): position in the segment's dictionary, −1 where the segment lacks the term."""
    starts: Array
    """int64 (A): where the term's entries begin."""
    entries: Array
    """float64 (E): per code for a list longer than there are codes, else per posting."""
    code_count: int
    """How many codes the segment has."""
    peak_starts: Array
    peaks: Array
    """As in the segment."""


class QueryBatch(NamedTuple):
    """Q queries as columns. Terms are positions in A, each once per query, M in all."""

    offsets: Array
    """int64 (Q + 1): where each query's terms begin."""
    terms: Array
    """int64 (M)."""
    weights: Array
    """float64 (M): how often the query holds the term."""
    is_completion: Array
    """bool (M)."""
    scales: Array
    """float64 (Q): whole-number scores are scores times this."""
    excluded_docids: Array
    excluded_phrasings: Array
    """int64 (Q): as in Query."""

    def select(self, rows: slice) -> "QueryBatch":
        """Some of the queries, as a batch."""
        offsets = self.offsets[rows.start : rows.stop + 1]
        own = (self.scales[rows], self.excluded_docids[rows], self.excluded_phrasings[rows])
        return QueryBatch(offsets, self.terms, self.weights, self.is_completion, *own)


@njit(cache=True)
def _select_terms(p: PostingArrays, tables: ScoreTables, batch: QueryBatch, q: int) -> SegmentTerms:
    """The terms of query q that the segment has, with their scores as whole numbers."""
    first, last = batch.offsets[q], batch.offsets[q + 1]
    ids = np.empty(last - first, np.int64)
    places = np.empty(last - first, np.int64)
    by_code = np.empty(last - first, np.bool_)
    peaks = np.empty(last - first, np.int64)
    grouped = np.empty(last - first, np.bool_)
    size = 0
    for m in range(first, last):
        term = tables.ids[batch.terms[m]]
        if term >= 0:
            size += min(p.starts[term + 1] - p.starts[term], tables.code_count)
    scores = np.empty(size, np.int32)
    n = at = 0
    for m in range(first, last):
        term = tables.ids[batch.terms[m]]
        if term < 0:
            continue
        length = p.starts[term + 1] - p.starts[term]
        factor = batch.weights[m] * batch.scales[q]
        entries = min(length, tables.code_count)
        source = tables.entries[tables.starts[batch.terms[m]] :][:entries]
        table = scores[at : at + entries]
        ids[n], places[n], by_code[n], grouped[n] = term, at, length > tables.code_count, batch.is_completion[m]
        peak = np.int32(0)
        for j in range(entries):
            table[j] = max(np.int32(source[j] * factor + 0.5), np.int32(source[j] > 0.0))  # what matches is found
        if by_code[n]:
            for j in range(tables.peak_starts[term], tables.peak_starts[term + 1]):
                peak = max(peak, table[tables.peaks[j]])
        else:
            for j in range(entries):
                peak = max(peak, table[j])
        peaks[n] = peak
        at += entries
        n += 1
    order = np.argsort(np.where(grouped[:n], np.int64(1) << 40, peaks[:n]), kind="mergesort")
    return SegmentTerms(ids[order], places[order], by_code[order], peaks[order], grouped[order], scores)


@njit(cache=True, nogil=True)
def search_queries(
    p: PostingArrays,
    tables: ScoreTables,
    batch: QueryBatch,
    heaps: TopKHeap,
    segment: int,
    allowed_mask: Array,
    has_rephrasings: bool,
) -> None:
    """Searches one segment for every query; row q of `best` is the heap of query q."""
    buffers = Buffers(
        np.zeros(WINDOW, np.int32),
        np.zeros(WINDOW, np.int32),
        np.empty(WINDOW + 1, np.int32),
        np.empty(WINDOW + 1, np.int32),
    )
    for q in range(len(batch.scales)):
        terms = _select_terms(p, tables, batch, q)
        if len(terms.ids):
            query = SegmentQuery(
                segment, allowed_mask, batch.excluded_docids[q], batch.excluded_phrasings[q], has_rephrasings
            )
            heap = TopKHeap(heaps.scores[q], heaps.docids[q], heaps.docs[q], heaps.segments[q], heaps.size[q : q + 1])
            search_segment(p, terms, query, heap, buffers)


@njit(cache=True, nogil=True)
def sort_heaps(heaps: TopKHeap) -> None:
    """Puts every heap in order: best first, equal scores by number."""
    for q in range(len(heaps.size)):
        size = heaps.size[q]
        heap = TopKHeap(
            heaps.scores[q], heaps.docids[q], heaps.docs[q], heaps.segments[q], heaps.size[q : q + 1].copy()
        )
        for last in range(size - 1, 0, -1):
            _swap(heap, 0, last)
            heap.size[0] = last
            _sift_down(heap, 0)


@njit(cache=True, nogil=True)
def match_terms(
    p: PostingArrays, segment_ids: Array, batch: QueryBatch, queries: Array, docs: Array
) -> tuple[Array, Array, Array]:
    """Every term that a query and a document share: (pair, position m in the batch, code of the posting).

    queries, documents: int64 (n), the pairs; the documents are the segment's.
    """
    most = 0
    for q in queries:
        most += batch.offsets[q + 1] - batch.offsets[q]
    pairs = np.empty(most, np.int64)
    shared = np.empty(most, np.int64)
    held = np.empty(most, np.int64)
    offsets, terms = batch.offsets, batch.terms
    starts, blocks, places, codes = p.starts, p.blocks, p.places, p.codes
    bitmap_of, bitmaps, ranks = p.bitmap_of, p.bitmaps, p.ranks
    n = 0
    for i in range(len(docs)):
        for m in range(offsets[queries[i]], offsets[queries[i] + 1]):
            term = segment_ids[terms[m]]
            if term < 0:
                continue
            at = find_posting(blocks, places, bitmaps, ranks, bitmap_of[term], starts[term], starts[term + 1], docs[i])
            if at >= 0:
                pairs[n], shared[n], held[n] = i, m, codes[at]
                n += 1
    return pairs[:n], shared[:n], held[:n]
