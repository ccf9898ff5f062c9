"""The k best documents of a query, without scoring those that cannot be among them.

MaxScore (Turtle and Flood 1995) over windows of documents whose sums fit into the second-level cache. The postings of
the query's highest-scoring ("essential") terms are added up in an array. Only documents whose sum, plus the maximum
that the other terms could add, reaches the k-th best score so far are looked up in the other terms' long lists, which
costs one bit test each. The cost of adding up is the bytes read, four per posting.

Scores are integers here (a fixed-point scale per query, chosen by the caller). So a sum does not depend on the order of
addition, and skipping does not change results: they are exactly those of scoring every document.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Array, Bools, Ints, Ints32
from askalike.native.compiled import Matrix, inlined
from askalike.native.llvm import MASK_SIZE, count_ones, mark_reaching, read_four, trailing_zeros

WINDOW = 65_536  # documents: a block, whose sums (256 KiB) fit into the second-level cache
SAMPLE_SIZE = 2_048  # documents of a window that are scored by all terms, to plan the search of the other documents
BLOCK_SIZE = MASK_SIZE  # sums that are examined together
SPARSE_DIVISOR = 8  # a window is scanned if at least this share (1/8) of it was touched
COLLECT_COST = 10.0  # collecting one candidate costs as much as adding this many postings
LOOKUP_COST = 8.0  # looking one candidate up in a list costs as much as adding this many postings
ZERO, ONE = np.int64(0), np.int64(1)  # a literal argument would be compiled as a separate type
BIT = np.uint64(1)
NUMBER, NUMBER_BITS = np.uint64(0xFFFF), np.uint64(16)  # the lowest of four numbers in 64 bits
FIRST_WINDOW, WINDOW_GROWTH = 512, 8  # documents of the first window of a query without a limit; later ones grow
LIMIT_GROWTH = 0.3  # growth of the limit for which candidates are counted, too


class PostingArrays(NamedTuple):
    """The arrays of a segment that the search reads (described in segment.py)."""

    docids: Ints
    phrasings: NDArray[np.uint16]
    starts: Ints
    blocks: NDArray[np.uint16]
    places: NDArray[np.uint16]
    codes: NDArray[np.uint16]
    bitmap_of: Ints32
    bitmaps: Matrix[np.uint64]
    ranks: Matrix[np.int32]


class SegmentTerms(NamedTuple):
    """The query's T terms in one segment, by ascending maximum score."""

    ids: Ints
    """(T): position in the segment's dictionary."""
    table_starts: Ints
    """(T): where the term's scores begin in `scores`."""
    by_code: Bools
    """(T): scores are looked up by the posting's code, else by its position in the list."""
    max_scores: Ints
    """(T): the term's highest score in this segment."""
    completes: Ints
    """(T): 0, or 1 + the field of a completion of an unfinished word, of which only the best of a field counts."""
    scores: Ints32
    """The score tables of all terms, one after the other."""


class PostingList(NamedTuple):
    """One term's list in one segment, described by numbers only, which are cheaper to pass than arrays."""

    start: int
    end: int
    table_start: int
    """The position of its first score."""
    bitmap_row: int
    """The row of its bitmap, −1 for none."""
    by_code: bool


class SegmentQuery(NamedTuple):
    """Further parameters of a search in one segment."""

    allowed_mask: Array
    """bool (D): documents that may be found; empty for all."""
    excluded_docid: int
    """The question that must not be found, −1 for none."""
    excluded_phrasing: int
    """Its one phrasing that must not be used, −1 for all of them."""
    has_rephrasings: bool
    """Whether a question may have several documents."""


class Buffers(NamedTuple):
    """Working memory."""

    window: Ints32
    """(WINDOW): the sums of the documents of one window; zeros between searches."""
    field_window: Ints32
    """(WINDOW): the sums of the completions in one field; zeros between searches."""
    docs: Ints32
    sums: Ints32
    """(WINDOW + 1): the candidates and their sums. The last entry is for writes that are ignored."""
    terms: SegmentTerms
    """The terms of one query in one segment. T: the maximum number of terms of a query."""
    positions: Matrix[np.int64]
    """(6, T + 1): six numbers per term."""


class TopKHeap(NamedTuple):
    """The best questions so far of one query: a heap of `size[0]` entries, of which the first is the worst."""

    scores: Ints
    docids: Ints
    size: Ints


class TopKHeaps(NamedTuple):
    """The heaps of Q queries: (Q, k), and (Q) their sizes."""

    scores: Matrix[np.int64]
    docids: Matrix[np.int64]
    size: Ints


@inlined()
def _is_worse(heap: TopKHeap, a: int, b: int) -> bool:
    if heap.scores[a] != heap.scores[b]:
        return heap.scores[a] < heap.scores[b]
    return heap.docids[a] > heap.docids[b]


@inlined()
def swap(heap: TopKHeap, a: int, b: int) -> None:
    """Exchange two entries."""
    heap.scores[a], heap.scores[b] = heap.scores[b], heap.scores[a]
    heap.docids[a], heap.docids[b] = heap.docids[b], heap.docids[a]


@inlined()
def sift_down(heap: TopKHeap, at: int) -> None:
    """Move an entry down until none below it is worse."""
    while True:
        worst = at
        left = 2 * at + 1
        if left < heap.size[0] and _is_worse(heap, left, worst):
            worst = left
        if left + 1 < heap.size[0] and _is_worse(heap, left + 1, worst):
            worst = left + 1
        if worst == at:
            return
        swap(heap, at, worst)
        at = worst


@inlined()
def _sift_up(heap: TopKHeap, at: int) -> None:
    while at and _is_worse(heap, at, (at - 1) // 2):
        swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2


@inlined()
def offer(heap: TopKHeap, score: int, docid: int, has_rephrasings: bool) -> None:
    """Add a document if it is among the best. With `has_rephrasings` a docid may recur; its best score counts."""
    if has_rephrasings:
        for i in range(heap.size[0]):
            if heap.docids[i] == docid:
                if score > heap.scores[i]:
                    heap.scores[i] = score
                    sift_down(heap, i)
                return
    if heap.size[0] < len(heap.scores):
        at = heap.size[0]
        heap.scores[at], heap.docids[at] = score, docid
        heap.size[0] += 1
        _sift_up(heap, at)
    elif score > heap.scores[0] or (score == heap.scores[0] and docid < heap.docids[0]):
        heap.scores[0], heap.docids[0] = score, docid
        sift_down(heap, ZERO)


@inlined()
def doc_at(blocks: Array, places: Array, at: int) -> int:
    """Return the document of a posting, as its position in the segment."""
    return (np.int64(blocks[at]) << np.int64(16)) | np.int64(places[at])


@inlined()
def lower_bound(blocks: Array, places: Array, low: int, end: int, doc: int) -> int:
    """Return the first position in low:end that holds `doc` or a later one, or `end`. It does not branch."""
    size = end - low
    if size == 0:
        return low
    at = np.uint64(low)
    while size > 1:
        half = size >> 1
        at += np.uint64(half) * np.uint64(doc_at(blocks, places, at + np.uint64(half - 1)) < doc)
        size -= half
    return np.int64(at) + np.int64(doc_at(blocks, places, at) < doc)


@inlined()
def _advance(blocks: Array, places: Array, ranks: Array, postings: PostingList, at: int, doc: int) -> int:
    """Return the first position, not before `at`, of `doc` or a later one; `doc` is the first of a bitmap's word."""
    if postings.bitmap_row < 0:
        is_there = at == postings.end or doc_at(blocks, places, at) >= doc
        return at if is_there else lower_bound(blocks, places, at, postings.end, doc)
    word = doc >> 6
    return postings.start + ranks[postings.bitmap_row, word] if word < ranks.shape[1] else postings.end


@inlined()
def find_posting(
    blocks: Array, places: Array, bitmaps: Array, ranks: Array, bitmap: int, start: int, end: int, doc: int
) -> int:
    """Return the position of a document in the list start:end, −1 if it is not there. bitmap: −1 for none."""
    if bitmap >= 0:
        word = bitmaps[bitmap, doc >> 6]
        bit = np.uint64(1) << np.uint64(doc & 63)
        return start + ranks[bitmap, doc >> 6] + count_ones(word & (bit - np.uint64(1))) if word & bit else -1
    at = lower_bound(blocks, places, start, end, doc)
    return at if at < end and doc_at(blocks, places, at) == doc else -1


@inlined()
def _rescore_by_bitmap(
    codes: Array, bitmaps: Array, ranks: Array, scores: Array, postings: PostingList, candidates: Array, sums: Array,
    n: int, min_score: int,
) -> int:  # fmt: skip
    """Add the scores of a list with a bitmap to the candidates' sums, and drop candidates below `min_score`.

    Returns the number of remaining candidates. It does not branch: whether a document is in a list cannot be predicted,
    and an unnecessary read is cheap within a window.
    """
    bits, earlier = bitmaps[postings.bitmap_row], ranks[postings.bitmap_row]
    list_codes, table = codes[postings.start : postings.end], scores[postings.table_start :]
    last = np.uint64(len(list_codes) - 1)
    kept = np.uint64(0)
    for c in range(n):
        doc, total = candidates[c], sums[c]
        at, bit = np.uint64(doc) >> np.uint64(6), np.uint64(doc) & np.uint64(63)
        word = bits[at]
        place = min(np.uint64(earlier[at]) + count_ones(word & ((np.uint64(1) << bit) - np.uint64(1))), last)
        score = table[list_codes[place]] if postings.by_code else table[place]
        total += score * np.int64((word >> bit) & np.uint64(1))
        candidates[kept], sums[kept] = doc, total
        kept += np.uint64(total >= min_score)
    return np.int64(kept)


@inlined()
def _rescore_by_search(
    blocks: Array, places: Array, codes: Array, scores: Array, postings: PostingList, candidates: Array, sums: Array,
    n: int, min_score: int,
) -> int:  # fmt: skip
    """As `_rescore_by_bitmap`, for a list without a bitmap."""
    kept = 0
    for c in range(n):
        doc, total = candidates[c], sums[c]
        at = lower_bound(blocks, places, postings.start, postings.end, np.int64(doc))
        if at < postings.end and doc_at(blocks, places, at) == doc:
            total += scores[postings.table_start + (codes[at] if postings.by_code else at - postings.start)]
        candidates[kept], sums[kept] = doc, total
        kept += total >= min_score
    return kept


@inlined()
def _count_score(window: Array, place: int, score: int, is_completion: bool) -> None:
    """Add a score to the sum of a document; of the completions of an unfinished word, only the best counts."""
    window[place] = max(window[place], score) if is_completion else window[place] + score


@inlined()
def _add_scores(
    places: Array, codes: Array, scores: Array, postings: PostingList, first: int, last: int, window: Array,
    is_completion: bool,
) -> None:  # fmt: skip
    """Add the scores of the postings first:last, which lie in one window. Completions come before other terms."""
    places, codes = places[first:last], codes[first:last]
    if not postings.by_code:
        table = scores[postings.table_start + first - postings.start :]
        for j in range(len(places)):
            _count_score(window, places[j], table[j], is_completion)
        return
    table = scores[postings.table_start :]
    in_fours = len(places) & ~np.int64(3)
    for j in range(0, in_fours, 4):  # two reads instead of eight: reads dominate the cost of a posting
        four_places, four_codes = read_four(places, j), read_four(codes, j)
        for _ in range(4):
            _count_score(window, four_places & NUMBER, table[four_codes & NUMBER], is_completion)
            four_places, four_codes = four_places >> NUMBER_BITS, four_codes >> NUMBER_BITS
    for j in range(in_fours, len(places)):
        _count_score(window, places[j], table[codes[j]], is_completion)


@inlined()
def _add_completions(
    p: PostingArrays, t: SegmentTerms, first: int, firsts: Array, lasts: Array, buffers: Buffers
) -> None:
    """Add the scores of the completions, which are the terms from `first` on, to empty sums of a window.

    Those in one field come one after the other; the best of a document's in a field counts, summed over the fields.
    """
    window, field_window, begins = buffers.window, buffers.field_window, first
    for i in range(first, len(t.ids)):
        target = window if t.completes[i] == t.completes[first] else field_window
        _add_scores(p.places, p.codes, t.scores, _get_posting_list(p, t, i), firsts[i], lasts[i], target, True)
        if i + 1 < len(t.ids) and t.completes[i + 1] == t.completes[i]:
            continue
        for j in range(begins if t.completes[i] != t.completes[first] else i + 1, i + 1):
            for at in range(firsts[j], lasts[j]):
                place = p.places[at]
                window[place] += field_window[place]
                field_window[place] = 0
        begins = i + 1


@inlined()
def _collect_window(window: Array, low: int, high: int, min_score: int, candidates: Array, sums: Array) -> int:
    """Move the documents low:high whose sums are at least `min_score` into a list, and clear all sums."""
    n = 0
    threshold = np.int32(min_score)
    base = low - low % WINDOW
    for block in range(low - base, high - base, BLOCK_SIZE):
        reaching = mark_reaching(window, block, threshold)
        while reaching:
            at = block + trailing_zeros(reaching)
            candidates[n], sums[n] = base + at, window[at]
            n += 1
            reaching &= reaching - BIT
        for x in range(BLOCK_SIZE):
            window[np.uint64(block + x)] = 0
    return n


@inlined()
def _collect_touched(
    places: Array, first: int, last: int, window: Array, base: int, min_score: int, docs: Array, sums: Array, n: int
) -> int:
    """As `_collect_window`, for the documents first:last of one list. It does not branch."""
    at = np.uint64(n)
    places = places[first:last]
    for j in range(len(places)):
        place = places[j]
        score = window[place]
        docs[at] = base + place
        sums[at] = score
        at += np.uint64(score >= min_score)
        window[place] = 0
    return np.int64(at)


@inlined()
def _get_posting_list(p: PostingArrays, t: SegmentTerms, i: int) -> PostingList:
    term = t.ids[i]
    return PostingList(p.starts[term], p.starts[term + 1], t.table_starts[i], np.int64(p.bitmap_of[term]), t.by_code[i])


@inlined()
def _min_competitive_score(heap: TopKHeap, docid: int) -> int:
    """Return the minimum competitive score of documents whose docids are not below `docid`."""
    if heap.size[0] < len(heap.scores):
        return ONE
    return heap.scores[0] if docid < heap.docids[0] else heap.scores[0] + ONE


@inlined()
def _count_at_least(sums: Array, min_score: int) -> int:
    """Return the number of sums that reach `min_score`."""
    n = np.uint64(0)
    threshold = np.int32(min_score)
    for block in range(0, len(sums), BLOCK_SIZE):
        n += count_ones(mark_reaching(sums, block, threshold))
    return np.int64(n)


@inlined()
def _find_nth_largest(sums: Array, n: int, nth: int) -> int:
    """Return the largest number that at least `nth` of the first n sums reach, 1 if fewer do, to 1 in 4,096."""
    end = n
    while end % BLOCK_SIZE:  # sums are examined in blocks
        sums[end] = 0
        end += 1
    reached = ONE
    missed = np.int64(1 << 30)
    while missed - reached > reached >> 12:
        middle = (reached + missed) // 2
        if _count_at_least(sums[:end], middle) >= nth:
            reached = middle
        else:
            missed = middle
    return reached


@inlined()
def _offer_candidates(p: PostingArrays, query: SegmentQuery, heap: TopKHeap, docs: Array, sums: Array, n: int) -> None:
    if n == 0:
        return
    docids, phrasings, allowed = p.docids, p.phrasings, query.allowed_mask
    limit = _min_competitive_score(heap, docids[docs[0]])
    if n >= 2 * len(heap.scores) and not query.has_rephrasings and not len(allowed):
        limit = max(limit, _find_nth_largest(sums, n, len(heap.scores) + 1))  # one may be the excluded question
    for c in range(n):
        doc, score = docs[c], sums[c]
        if score < limit or (len(allowed) and not allowed[doc]):
            continue
        docid = docids[doc]
        if docid == query.excluded_docid and (query.excluded_phrasing < 0 or phrasings[doc] == query.excluded_phrasing):
            continue
        offer(heap, score, docid, query.has_rephrasings)
        limit = max(limit, _min_competitive_score(heap, ZERO))


@inlined()
def _choose_first_added(
    p: PostingArrays, t: SegmentTerms, counts: Matrix[np.int64], growth: float, essential: int, documents: int
) -> int:
    """Return the first term whose list is added up, chosen for minimum cost; the terms before it are looked up.

    counts: the number of candidates left in a sample once each term and those after it are scored, at two limits.
    growth: 0 if the limit is the lower of these, 1 if it is the higher one. documents: the number of those ahead.
    """
    share = documents / SAMPLE_SIZE
    left = counts[2]
    lookups = 0
    for i in range(essential + 1):
        at_lower, at_higher = max(np.float64(counts[0, i]), 0.5), max(np.float64(counts[1, i]), 0.5)
        left[i] = np.int64(share * at_lower * math.exp(growth * math.log(at_higher / at_lower)))
        lookups += left[i] if i else ZERO
    best, best_cost, adding = essential, np.inf, 0.0
    for first in range(essential, -1, -1):
        cost = adding + COLLECT_COST * left[first] + LOOKUP_COST * lookups
        if cost < best_cost:
            best, best_cost = first, cost
        if first:
            term = t.ids[first - 1]
            adding += (p.starts[term + 1] - p.starts[term]) * documents / len(p.docids)
            lookups -= left[first]
    return best


@inlined()
def search_segment(p: PostingArrays, t: SegmentTerms, query: SegmentQuery, heap: TopKHeap, buffers: Buffers) -> None:
    """Offer the segment's documents to the heap.

    Terms from `essential` on generate candidates. Of the other terms, those from `added` on are also added to the sums,
    if looking up each of the candidates would cost more; the rest is looked up. If it matters, a sample of documents is
    scored with all terms, to estimate the number of candidates of each choice at any later limit. An empty heap sets no
    limit: a search begins with a few documents, as their best soon bound the others, and chooses again at each window.
    """
    terms, documents = len(t.ids), len(p.docids)
    numbers = buffers.positions
    rest, firsts, lasts, counts = numbers[0], numbers[1], numbers[2], numbers[3:]
    # Completions are always added up: only the best of a document's counts, which a bound per term cannot express.
    loose = 0  # terms that may become inessential: all but the completions, which come last
    while loose < terms and not t.completes[loose]:
        loose += 1
    # rest[i] is the most that the terms before i can add to a document: the terms ascend by their maximum scores.
    rest[0] = 0
    for i in range(loose):
        rest[i + 1] = rest[i] + t.max_scores[i]
    for i in range(terms):
        firsts[i] = lasts[i] = p.starts[t.ids[i]]
    blocks, places, codes, bitmaps, ranks, scores = p.blocks, p.places, p.codes, p.bitmaps, p.ranks, t.scores
    window, candidates, sums = buffers.window, buffers.docs, buffers.sums
    essential, low, counted, sampled_limit, higher_limit = 0, 0, 0, ZERO, ZERO
    size = WINDOW if heap.size[0] == len(heap.scores) else FIRST_WINDOW
    while low < documents:
        limit = _min_competitive_score(heap, p.docids[low])
        # A document with inessential terms only cannot reach the limit, so that it need not become a candidate.
        while essential < loose and rest[essential + 1] < limit:
            essential += 1
        end = low - low % WINDOW + WINDOW
        sampling = False
        if sampled_limit:
            high = min(end, low + size)
            growth = (limit - sampled_limit) / (sampled_limit * LIMIT_GROWTH)
            added = _choose_first_added(p, t, counts, growth, min(essential, counted), min(high, documents) - low)
        else:
            nearest, essential_postings = documents, 0
            for i in range(essential, terms):
                one = _get_posting_list(p, t, i)
                essential_postings += one.end - one.start
                if lasts[i] < one.end:
                    nearest = min(nearest, doc_at(blocks, places, lasts[i]))
            if nearest == documents:
                return
            # Whole blocks: the sums of a block are examined and cleared together.
            low = nearest - nearest % BLOCK_SIZE
            end = low - low % WINDOW + WINDOW
            high = min(end, low + size)
            added = essential
            dense = essential_postings * WINDOW > SAMPLE_SIZE * documents
            if essential and dense and low + 4 * SAMPLE_SIZE < min(end, documents):
                high = low + SAMPLE_SIZE
                added = 0
                sampling = True
                sampled_limit = limit
                higher_limit = limit + np.int64(limit * LIMIT_GROWTH)
                counted = essential
                while counted < loose and rest[counted + 1] < higher_limit:
                    counted += 1
        size = min(size * WINDOW_GROWTH, WINDOW)
        base = low - low % WINDOW
        touched = 0
        for i in range(added, terms):
            one = _get_posting_list(p, t, i)
            firsts[i] = _advance(blocks, places, ranks, one, lasts[i], low)
            lasts[i] = _advance(blocks, places, ranks, one, firsts[i], high)
            touched += lasts[i] - firsts[i]
        # Few touched documents are found through the lists again, which is cheaper than a scan of the whole window.
        sparse = touched * SPARSE_DIVISOR < high - low
        _add_completions(p, t, loose, firsts, lasts, buffers)
        part = window[low - base : high - base]
        for i in range(loose - 1, added - 1, -1):
            if sampling and i < counted:
                counts[0, i + 1] = _count_at_least(part, max(1, limit - rest[i + 1]))
                counts[1, i + 1] = _count_at_least(part, max(1, higher_limit - rest[i + 1]))
            _add_scores(places, codes, scores, _get_posting_list(p, t, i), firsts[i], lasts[i], window, False)
        if sampling:
            counts[0, 0], counts[1, 0] = _count_at_least(part, limit), _count_at_least(part, higher_limit)
        # What the terms that are looked up can still add is granted; a sum below this cannot reach the limit.
        min_sum = max(1, limit - rest[added])
        n = ZERO
        if sparse:
            for i in range(added, terms):
                n = _collect_touched(places, firsts[i], lasts[i], window, base, min_sum, candidates, sums, n)
        else:
            last = min(high, documents + BLOCK_SIZE - documents % BLOCK_SIZE)
            n = _collect_window(window, low, last, min_sum, candidates, sums)
        # The highest-scoring list first: it drops most candidates before the others are looked up.
        for i in range(added - 1, -1, -1):
            if n == 0:
                break
            one = _get_posting_list(p, t, i)
            if one.bitmap_row >= 0:
                n = _rescore_by_bitmap(codes, bitmaps, ranks, scores, one, candidates, sums, n, limit - rest[i])
            else:
                n = _rescore_by_search(blocks, places, codes, scores, one, candidates, sums, n, limit - rest[i])
        _offer_candidates(p, query, heap, candidates, sums, n)
        low = high
