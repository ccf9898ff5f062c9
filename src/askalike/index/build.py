"""Turns documents into a segment, and several segments into one."""

from array import array
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from askalike.index.lengths import rounded
from askalike.index.segment import Array, Segment
from askalike.index.terms import packed, term

MAX_CODES = 65_535
LONG_LIST = 64  # a list gets a bitmap if it holds more than one document in 64, so that it doubles at most


class TooManyCodes(Exception):
    """The documents have more different (frequency, length) pairs than a code can tell apart: split them."""


class SegmentBuilder:
    """Collects documents, as lists of terms, and builds a segment of them."""

    def __init__(self, exact_lengths: bool = False, scale: int = 1) -> None:
        self._ids = _Vocabulary()
        self._terms = array("i")
        self._offsets = array("q", [0])
        self._numbers = array("q")
        self._phrasings = array("H")
        self._exact_lengths, self._scale = exact_lengths, scale

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def tokens(self) -> int:
        """How many tokens were added."""
        return len(self._terms)

    def add(self, number: int, phrasing: int, terms: Sequence[str]) -> None:
        """Adds one document. Numbers must rise; the phrasings of one number follow each other."""
        self._terms.extend(map(self._ids.__getitem__, terms))
        self._offsets.append(len(self._terms))
        self._numbers.append(number)
        self._phrasings.append(phrasing)

    def segments(self) -> list[Segment]:
        """The segments of all documents added: one, or several where one could not hold them."""
        order = sorted(self._ids)
        rank = np.empty(len(order), np.int32)
        rank[[self._ids[t] for t in order]] = np.arange(len(order), dtype=np.int32)
        terms = rank[np.frombuffer(self._terms, np.int32)] if self._terms else np.empty(0, np.int32)
        forward = Forward(
            np.array(self._numbers, np.int64),
            np.array(self._phrasings, np.uint16),
            np.array(self._offsets, np.int64),
            terms,
            np.empty(0, np.int32),
            *packed(order),
        )
        return built(forward, self._exact_lengths, self._scale)


class _Vocabulary(dict[str, int]):
    """Terms with numbers in the order of their first coming."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


class Forward:
    """Documents as lists of (term, frequency): what a segment is built of. An empty `tfs` means 1 everywhere."""

    def __init__(
        self,
        numbers: Array,
        phrasings: Array,
        offsets: Array,
        terms: Array,
        tfs: Array,
        blob: Array,
        blob_offsets: Array,
    ) -> None:
        self.numbers, self.phrasings, self.offsets = numbers, phrasings, offsets
        self.terms, self.tfs = terms, tfs
        self.blob, self.blob_offsets = blob, blob_offsets

    def halves(self) -> "tuple[Forward, Forward]":
        """The first and the second half of the documents, cut between two numbers."""
        middle = self.numbers[len(self.numbers) // 2]
        cut = int(np.searchsorted(self.numbers, middle) or np.searchsorted(self.numbers, middle, "right"))
        return self._part(0, cut), self._part(cut, len(self.numbers))

    def _part(self, first: int, last: int) -> "Forward":
        low, high = self.offsets[first], self.offsets[last]
        return Forward(
            self.numbers[first:last],
            self.phrasings[first:last],
            self.offsets[first : last + 1] - low,
            self.terms[low:high],
            self.tfs[low:high],
            self.blob,
            self.blob_offsets,
        )


def built(forward: Forward, exact_lengths: bool, scale: int) -> list[Segment]:
    """The segment of these documents, or those of their halves where there are too many codes."""
    try:
        return [_segment(forward, exact_lengths, scale)]
    except TooManyCodes:
        return [s for half in forward.halves() for s in built(half, exact_lengths, scale)]


def fit_together(segments: Sequence[Segment]) -> bool:
    """Whether one segment can tell apart the (frequency, length) pairs of all of these."""
    pairs = [s.code_tf.astype(np.int64) << 32 | s.code_length for s in segments]
    return len(np.unique(np.concatenate(pairs))) <= MAX_CODES


def merged(segments: Sequence[Segment], live: Sequence[Array], exact_lengths: bool, scale: int) -> list[Segment]:
    """One segment (or a few) that holds the live documents of several. live: bool (D) per segment."""
    names = [[term(s.term_bytes, s.term_offsets, i) for i in range(len(s.df))] for s in segments]
    order = sorted(set().union(*names))
    rank = {t: i for i, t in enumerate(order)}
    numbers = np.concatenate([s.numbers[m] for s, m in zip(segments, live, strict=True)])
    place = np.empty(len(numbers), np.int64)
    place[np.argsort(numbers, kind="stable")] = np.arange(len(numbers))
    rows, start = [], 0
    for segment, mask, own in zip(segments, live, names, strict=True):
        doc_of = np.full(len(mask), -1, np.int64)
        doc_of[mask] = place[start : start + int(mask.sum())]
        start += int(mask.sum())
        rows.append(_triples(segment, doc_of, np.array([rank[t] for t in own], np.int32)))
    docs, terms, tfs = (np.concatenate(column) for column in zip(*rows, strict=True))
    offsets, terms, tfs = _by_document(docs, terms, tfs, len(numbers))
    phrasings = np.concatenate([s.phrasings[m] for s, m in zip(segments, live, strict=True)])
    back = np.argsort(numbers, kind="stable")
    forward = Forward(numbers[back], phrasings[back], offsets, terms, tfs, *packed(order))
    return built(forward, exact_lengths, scale)


def _triples(segment: Segment, doc_of: Array, rank: Array) -> tuple[Array, Array, Array]:
    """(document, term, frequency) of every posting whose document is kept, in the merged numbering."""
    docs = doc_of[segment.docs]
    kept = docs >= 0
    terms = np.repeat(rank, np.diff(segment.starts))
    return docs[kept], terms[kept], segment.code_tf[segment.codes[kept]]


@njit(cache=True)
def _by_document(docs: Array, terms: Array, tfs: Array, documents: int) -> tuple[Array, Array, Array]:
    """The same triples grouped by document: (offsets, terms, frequencies)."""
    offsets = np.zeros(documents + 1, np.int64)
    for d in docs:
        offsets[d + 1] += 1
    for d in range(documents):
        offsets[d + 1] += offsets[d]
    place = offsets[:-1].copy()
    by_terms = np.empty(len(docs), np.int32)
    by_tfs = np.empty(len(docs), np.int32)
    for i in range(len(docs)):
        at = place[docs[i]]
        place[docs[i]] += 1
        by_terms[at], by_tfs[at] = terms[i], tfs[i]
    return offsets, by_terms, by_tfs


def _segment(forward: Forward, exact_lengths: bool, scale: int) -> Segment:
    lengths = _lengths(forward.offsets, forward.tfs)
    seen = (lengths if exact_lengths else rounded(np.maximum(lengths // scale, 1)) * scale).astype(np.int32)
    starts, docs, tf = _inverted(forward.terms, forward.tfs, forward.offsets, len(forward.blob_offsets) - 1)
    used = np.flatnonzero(np.diff(starts))
    blob, blob_offsets = _subset(forward.blob, forward.blob_offsets, used)
    starts = np.append(starts[used], starts[-1])
    codes, code_tf, code_length = _coded(docs, tf, seen)
    df, ttf = _statistics(starts, docs, tf, forward.phrasings)
    peak_starts, peaks = _peaks(starts, codes, code_tf, code_length)
    bitmap_of, bitmaps, ranks = _bitmaps(starts, docs, len(lengths))
    return Segment(
        forward.numbers, forward.phrasings, lengths.astype(np.int32), blob, blob_offsets, starts,
        (docs >> 16).astype(np.uint16), docs.astype(np.uint16), codes,
        code_tf, code_length, df, ttf, peak_starts, peaks, bitmap_of, bitmaps, ranks,
    )  # fmt: skip


def _lengths(offsets: Array, tfs: Array) -> NDArray[np.int64]:
    if not len(tfs):
        return np.diff(offsets)
    sums = np.concatenate([[0], np.cumsum(tfs, dtype=np.int64)])
    return np.diff(sums[offsets])


def _subset(blob: Array, offsets: Array, used: Array) -> tuple[Array, Array]:
    if len(used) == len(offsets) - 1:
        return blob, offsets
    return packed([term(blob, offsets, i) for i in used])


@njit(cache=True)
def _inverted(terms: Array, tfs: Array, offsets: Array, vocabulary: int) -> tuple[Array, Array, Array]:
    """Postings by term, documents rising: (starts, docs, frequencies); a counting sort, then repeats added up."""
    heads = np.zeros(vocabulary + 1, np.int64)
    for t in terms:
        heads[t + 1] += 1
    for v in range(vocabulary):
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
    starts = np.zeros(vocabulary + 1, np.int64)
    end = 0
    for v in range(vocabulary):
        for i in range(heads[v], heads[v + 1]):
            if end > starts[v] and docs[end - 1] == docs[i]:
                counts[end - 1] += counts[i]
            else:
                docs[end], counts[end] = docs[i], counts[i]
                end += 1
        starts[v + 1] = end
    return starts, docs[:end].copy(), counts[:end].copy()


def _coded(docs: Array, tf: Array, seen: Array) -> tuple[Array, Array, Array]:
    codes, code_tf, code_length = _code(docs, tf, seen)
    if len(code_tf) > MAX_CODES:
        raise TooManyCodes
    return codes, code_tf, code_length


@njit(cache=True)
def _code(docs: Array, tf: Array, seen: Array) -> tuple[Array, Array, Array]:
    """A code per posting, numbered by first coming, and what each stands for; stops when there are too many."""
    slots = np.full(1 << 18, -1, np.int32)
    code_tf = np.empty(MAX_CODES + 1, np.int32)
    code_length = np.empty(MAX_CODES + 1, np.int32)
    codes = np.empty(len(docs), np.uint16)
    known = 0
    for i in range(len(docs)):
        f, length = tf[i], seen[docs[i]]
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
def _statistics(starts: Array, docs: Array, tf: Array, phrasings: Array) -> tuple[Array, Array]:
    df = np.zeros(len(starts) - 1, np.int64)
    ttf = np.zeros(len(starts) - 1, np.int64)
    for v in range(len(df)):
        for i in range(starts[v], starts[v + 1]):
            if phrasings[docs[i]] == 0:
                df[v] += 1
                ttf[v] += tf[i]
    return df, ttf


@njit(cache=True)
def _peaks(starts: Array, codes: Array, code_tf: Array, code_length: Array) -> tuple[Array, Array]:
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


def _bitmaps(starts: Array, docs: Array, documents: int) -> tuple[Array, Array, Array]:
    long = np.flatnonzero(np.diff(starts) > max(documents // LONG_LIST, LONG_LIST))
    bitmap_of = np.full(len(starts) - 1, -1, np.int32)
    bitmap_of[long] = np.arange(len(long), dtype=np.int32)
    return bitmap_of, *_filled(starts, docs, long, (documents + 63) // 64)


@njit(cache=True)
def _filled(starts: Array, docs: Array, long: Array, width: int) -> tuple[Array, Array]:
    bitmaps = np.zeros((len(long), width), np.uint64)
    ranks = np.zeros((len(long), width), np.int32)
    for b in range(len(long)):
        for i in range(starts[long[b]], starts[long[b] + 1]):
            word = docs[i] >> 6
            bitmaps[b, word] |= np.uint64(1) << np.uint64(docs[i] & 63)
            ranks[b, word] += 1
        before = 0
        for w in range(width):
            held = ranks[b, w]
            ranks[b, w] = before
            before += held
    return bitmaps, ranks
