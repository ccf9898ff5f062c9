"""Turns documents into a segment, and several segments into one."""

from array import array
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from askalike.index.lexical.lengths import round_lengths
from askalike.index.lexical.segment import Array, Segment
from askalike.index.lexical.terms import pack_terms, term_at

MAX_CODES = 65_535
LONG_LIST_DIVISOR = 64  # a list gets a bitmap if it holds more than one document in 64, so that it doubles at most


class TooManyCodesError(Exception):
    """The documents have more different (frequency, length) pairs than a code can tell apart: split them."""


class SegmentBuilder:
    """Collects documents, as lists of terms, and builds a segment of them."""

    def __init__(self, exact_lengths: bool = False, scale: int = 1) -> None:
        self._term_ids = _TermIds()
        self._terms = array("i")
        self._offsets = array("q", [0])
        self._docids = array("q")
        self._phrasings = array("H")
        self._exact_lengths, self._scale = exact_lengths, scale

    def __len__(self) -> int:
        return len(self._docids)

    @property
    def token_count(self) -> int:
        """How many tokens were added."""
        return len(self._terms)

    def add(self, docid: int, phrasing: int, terms: Sequence[str]) -> None:
        """Adds one document. Numbers must rise; the phrasings of one number follow each other."""
        self._terms.extend(map(self._term_ids.__getitem__, terms))
        self._offsets.append(len(self._terms))
        self._docids.append(docid)
        self._phrasings.append(phrasing)

    def build(self) -> list[Segment]:
        """The segments of all documents added: one, or several where one could not hold them."""
        order = sorted(self._term_ids)
        rank = np.empty(len(order), np.int32)
        rank[[self._term_ids[t] for t in order]] = np.arange(len(order), dtype=np.int32)
        terms = rank[np.frombuffer(self._terms, np.int32)] if self._terms else np.empty(0, np.int32)
        forward = ForwardIndex(
            np.array(self._docids, np.int64),
            np.array(self._phrasings, np.uint16),
            np.array(self._offsets, np.int64),
            terms,
            np.empty(0, np.int32),
            *pack_terms(order),
        )
        return build_segments(forward, self._exact_lengths, self._scale)


class _TermIds(dict[str, int]):
    """Terms with numbers in the order of their first coming."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


class ForwardIndex:
    """Documents as lists of (term, frequency): what a segment is built of. An empty `tfs` means 1 everywhere."""

    def __init__(
        self,
        docids: Array,
        phrasings: Array,
        offsets: Array,
        terms: Array,
        tfs: Array,
        term_bytes: Array,
        term_offsets: Array,
    ) -> None:
        self.docids, self.phrasings, self.offsets = docids, phrasings, offsets
        self.terms, self.tfs = terms, tfs
        self.term_bytes, self.term_offsets = term_bytes, term_offsets

    def split_in_halves(self) -> "tuple[ForwardIndex, ForwardIndex]":
        """The first and the second half of the documents, cut between two numbers."""
        middle = self.docids[len(self.docids) // 2]
        cut = int(np.searchsorted(self.docids, middle) or np.searchsorted(self.docids, middle, "right"))
        return self._slice(0, cut), self._slice(cut, len(self.docids))

    def _slice(self, first: int, last: int) -> "ForwardIndex":
        low, high = self.offsets[first], self.offsets[last]
        return ForwardIndex(
            self.docids[first:last],
            self.phrasings[first:last],
            self.offsets[first : last + 1] - low,
            self.terms[low:high],
            self.tfs[low:high],
            self.term_bytes,
            self.term_offsets,
        )


def build_segments(forward: ForwardIndex, exact_lengths: bool, scale: int) -> list[Segment]:
    """The segment of these documents, or those of their halves where there are too many codes."""
    try:
        return [_build_segment(forward, exact_lengths, scale)]
    except TooManyCodesError:
        return [s for half in forward.split_in_halves() for s in build_segments(half, exact_lengths, scale)]


def can_merge(segments: Sequence[Segment]) -> bool:
    """Whether one segment can tell apart the (frequency, length) pairs of all of these."""
    pairs = [s.code_tf.astype(np.int64) << 32 | s.code_length for s in segments]
    return len(np.unique(np.concatenate(pairs))) <= MAX_CODES


def merge_segments(
    segments: Sequence[Segment], live_masks: Sequence[Array], exact_lengths: bool, scale: int
) -> list[Segment]:
    """One segment (or a few) that holds the live documents of several. live: bool (D) per segment."""
    names = [[term_at(s.term_bytes, s.term_offsets, i) for i in range(len(s.df))] for s in segments]
    order = sorted(set().union(*names))
    rank = {t: i for i, t in enumerate(order)}
    numbers = np.concatenate([s.numbers[m] for s, m in zip(segments, live_masks, strict=True)])
    place = np.empty(len(numbers), np.int64)
    place[np.argsort(numbers, kind="stable")] = np.arange(len(numbers))
    rows, start = [], 0
    for segment, mask, own in zip(segments, live_masks, names, strict=True):
        doc_of = np.full(len(mask), -1, np.int64)
        doc_of[mask] = place[start : start + int(mask.sum())]
        start += int(mask.sum())
        rows.append(_live_postings(segment, doc_of, np.array([rank[t] for t in own], np.int32)))
    docs, terms, tfs = (np.concatenate(column) for column in zip(*rows, strict=True))
    offsets, terms, tfs = _group_by_document(docs, terms, tfs, len(numbers))
    phrasings = np.concatenate([s.phrasings[m] for s, m in zip(segments, live_masks, strict=True)])
    back = np.argsort(numbers, kind="stable")
    forward = ForwardIndex(numbers[back], phrasings[back], offsets, terms, tfs, *pack_terms(order))
    return build_segments(forward, exact_lengths, scale)


def _live_postings(segment: Segment, new_docs: Array, new_term_ids: Array) -> tuple[Array, Array, Array]:
    """(document, term, frequency) of every posting whose document is kept, in the merged numbering."""
    docs = new_docs[segment.docs]
    kept = docs >= 0
    terms = np.repeat(new_term_ids, np.diff(segment.starts))
    return docs[kept], terms[kept], segment.code_tf[segment.codes[kept]]


@njit(cache=True)
def _group_by_document(docs: Array, terms: Array, tfs: Array, document_count: int) -> tuple[Array, Array, Array]:
    """The same triples grouped by document: (offsets, terms, frequencies)."""
    offsets = np.zeros(document_count + 1, np.int64)
    for d in docs:
        offsets[d + 1] += 1
    for d in range(document_count):
        offsets[d + 1] += offsets[d]
    place = offsets[:-1].copy()
    by_terms = np.empty(len(docs), np.int32)
    by_tfs = np.empty(len(docs), np.int32)
    for i in range(len(docs)):
        at = place[docs[i]]
        place[docs[i]] += 1
        by_terms[at], by_tfs[at] = terms[i], tfs[i]
    return offsets, by_terms, by_tfs


def _build_segment(forward: ForwardIndex, exact_lengths: bool, scale: int) -> Segment:
    lengths = _document_lengths(forward.offsets, forward.tfs)
    seen = (lengths if exact_lengths else round_lengths(np.maximum(lengths // scale, 1)) * scale).astype(np.int32)
    starts, docs, tf = _invert(forward.terms, forward.tfs, forward.offsets, len(forward.term_offsets) - 1)
    used = np.flatnonzero(np.diff(starts))
    blob, blob_offsets = _subset_dictionary(forward.term_bytes, forward.term_offsets, used)
    starts = np.append(starts[used], starts[-1])
    codes, code_tf, code_length = _encode_postings(docs, tf, seen)
    df, ttf = _count_statistics(starts, docs, tf, forward.phrasings)
    peak_starts, peaks = _find_peaks(starts, codes, code_tf, code_length)
    bitmap_of, bitmaps, ranks = _make_bitmaps(starts, docs, len(lengths))
    return Segment(
        forward.docids, forward.phrasings, lengths.astype(np.int32), blob, blob_offsets, starts,
        (docs >> 16).astype(np.uint16), docs.astype(np.uint16), codes,
        code_tf, code_length, df, ttf, peak_starts, peaks, bitmap_of, bitmaps, ranks,
    )  # fmt: skip


def _document_lengths(offsets: Array, tfs: Array) -> NDArray[np.int64]:
    if not len(tfs):
        return np.diff(offsets)
    sums = np.concatenate([[0], np.cumsum(tfs, dtype=np.int64)])
    return np.diff(sums[offsets])


def _subset_dictionary(term_bytes: Array, term_offsets: Array, positions: Array) -> tuple[Array, Array]:
    if len(positions) == len(term_offsets) - 1:
        return term_bytes, term_offsets
    return pack_terms([term_at(term_bytes, term_offsets, i) for i in positions])


@njit(cache=True)
def _invert(terms: Array, tfs: Array, offsets: Array, vocabulary_size: int) -> tuple[Array, Array, Array]:
    """Postings by term, documents rising: (starts, docs, frequencies); a counting sort, then repeats added up."""
    heads = np.zeros(vocabulary_size + 1, np.int64)
    for t in terms:
        heads[t + 1] += 1
    for v in range(vocabulary_size):
        heads[v + 1] += heads[v]
    docs = np.empty(len(terms), np.int32)
    counts = np.ones(len(terms), np.int32)
    place = heads[:-1].copy()
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            at = place[terms[i]]
            place[terms[i]] += 1
            docs[at] = d
            if len(tfs):
                counts[at] = tfs[i]
    starts = np.zeros(vocabulary_size + 1, np.int64)
    end = 0
    for v in range(vocabulary_size):
        for i in range(heads[v], heads[v + 1]):
            if end > starts[v] and docs[end - 1] == docs[i]:
                counts[end - 1] += counts[i]
            else:
                docs[end], counts[end] = docs[i], counts[i]
                end += 1
        starts[v + 1] = end
    return starts, docs[:end].copy(), counts[:end].copy()


def _encode_postings(docs: Array, tf: Array, scored_lengths: Array) -> tuple[Array, Array, Array]:
    codes, code_tf, code_length = _assign_codes(docs, tf, scored_lengths)
    if len(code_tf) > MAX_CODES:
        raise TooManyCodesError
    return codes, code_tf, code_length


@njit(cache=True)
def _assign_codes(docs: Array, tf: Array, scored_lengths: Array) -> tuple[Array, Array, Array]:
    """A code per posting, numbered by first coming, and what each stands for; stops when there are too many."""
    slots = np.full(1 << 18, -1, np.int32)
    code_tf = np.empty(MAX_CODES + 1, np.int32)
    code_length = np.empty(MAX_CODES + 1, np.int32)
    codes = np.empty(len(docs), np.uint16)
    known = 0
    for i in range(len(docs)):
        f, length = tf[i], scored_lengths[docs[i]]
        slot = (np.int64(f) * 40_503 + np.int64(length) * 2_654_435) & (len(slots) - 1)
        while slots[slot] >= 0 and (code_tf[slots[slot]] != f or code_length[slots[slot]] != length):
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] < 0:
            slots[slot] = known
            code_tf[known], code_length[known] = f, length
            known += 1
            if known > MAX_CODES:
                break
        codes[i] = slots[slot]
    return codes, code_tf[:known].copy(), code_length[:known].copy()


@njit(cache=True)
def _count_statistics(starts: Array, docs: Array, tf: Array, phrasings: Array) -> tuple[Array, Array]:
    df = np.zeros(len(starts) - 1, np.int64)
    ttf = np.zeros(len(starts) - 1, np.int64)
    for v in range(len(df)):
        for i in range(starts[v], starts[v + 1]):
            if phrasings[docs[i]] == 0:
                df[v] += 1
                ttf[v] += tf[i]
    return df, ttf


@njit(cache=True)
def _find_peaks(starts: Array, codes: Array, code_tf: Array, code_length: Array) -> tuple[Array, Array]:
    """Per term the codes not beaten in both frequency and shortness."""
    peak_starts = np.zeros(len(starts), np.int64)
    peaks = np.empty(len(codes), np.uint16)
    end = 0
    for v in range(len(starts) - 1):
        first = end
        for i in range(starts[v], starts[v + 1]):
            tf, length = code_tf[codes[i]], code_length[codes[i]]
            beaten = False
            for p in range(first, end):
                if code_tf[peaks[p]] >= tf and code_length[peaks[p]] <= length:
                    beaten = True
                    break
            if beaten:
                continue
            kept = first
            for p in range(first, end):
                if code_tf[peaks[p]] > tf or code_length[peaks[p]] < length:
                    peaks[kept] = peaks[p]
                    kept += 1
            peaks[kept] = codes[i]
            end = kept + 1
        peak_starts[v + 1] = end
    return peak_starts, peaks[:end].copy()


def _make_bitmaps(starts: Array, docs: Array, document_count: int) -> tuple[Array, Array, Array]:
    long = np.flatnonzero(np.diff(starts) > max(document_count // LONG_LIST_DIVISOR, LONG_LIST_DIVISOR))
    bitmap_of = np.full(len(starts) - 1, -1, np.int32)
    bitmap_of[long] = np.arange(len(long), dtype=np.int32)
    return bitmap_of, *_fill_bitmaps(starts, docs, long, (document_count + 63) // 64)


@njit(cache=True)
def _fill_bitmaps(starts: Array, docs: Array, long_lists: Array, width: int) -> tuple[Array, Array]:
    bitmaps = np.zeros((len(long_lists), width), np.uint64)
    ranks = np.zeros((len(long_lists), width), np.int32)
    for b in range(len(long_lists)):
        for i in range(starts[long_lists[b]], starts[long_lists[b] + 1]):
            word = docs[i] >> 6
            bitmaps[b, word] |= np.uint64(1) << np.uint64(docs[i] & 63)
            ranks[b, word] += 1
        before = 0
        for w in range(width):
            held = ranks[b, w]
            ranks[b, w] = before
            before += held
    return bitmaps, ranks
