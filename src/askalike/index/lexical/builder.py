"""Builds segments of documents, and merges segments."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askalike.core.arrays import Array, Bytes, Ints, Ints32
from askalike.index.lexical.segment import Segment
from askalike.index.lexical.terms import (
    copy_terms,
    fields_of_terms,
    find_field_range,
    merge_dictionaries,
    pack_terms,
    select_terms,
)
from askalike.index.rows import TitleRows, find_distinct
from askalike.native.compiled import Matrix, compiled, inlined

MAX_CODES = 65_535
EXACT_CODES = 24  # the first length codes are the lengths themselves; later ones are small floats
LONG_LIST_DIVISOR = 64  # a list of more than one document in 64 gets a bitmap, which at most doubles its size


class TooManyCodesError(Exception):
    """The documents have more distinct (frequency, length) pairs than there are codes; the segment must be split."""


class SegmentBuilder:
    """Collects documents as lists of terms and builds a segment from them."""

    def __init__(self, exact_lengths: bool = False, field_count: int = 1) -> None:
        self._term_ids = _TermIds()
        self._terms, self._offsets = array("i"), array("q", [0])
        self._docids, self._phrasings, self._title_keys = array("q"), array("H"), array("Q")
        self._exact_lengths, self._field_count = exact_lengths, field_count

    def __len__(self) -> int:
        return len(self._docids)

    @property
    def token_count(self) -> int:
        """The number of tokens added."""
        return len(self._terms)

    def add(self, docid: int, phrasing: int, terms: Sequence[str], title_key: int = 0) -> None:
        """Add one document as the terms of all its fields, see `mark_terms`, and the key of its title, 0 for none.

        Docids must ascend, and the phrasings of one docid must follow each other.
        """
        self._terms.extend(map(self._term_ids.__getitem__, terms))
        self._offsets.append(len(self._terms))
        self._docids.append(docid)
        self._phrasings.append(phrasing)
        self._title_keys.append(title_key)

    def build(self) -> list[Segment]:
        """Return the documents as one segment, or as several if they do not fit into one."""
        order = sorted(self._term_ids)
        rank = np.empty(len(order), np.int32)
        rank[[self._term_ids[t] for t in order]] = np.arange(len(order), dtype=np.int32)
        terms = rank[np.frombuffer(self._terms, np.int32)] if self._terms else np.empty(0, np.int32)
        rows = np.array(self._docids), np.array(self._phrasings), np.array(self._title_keys), np.array(self._offsets)
        stored_fields = np.arange(self._field_count)
        forward = ForwardIndex(*rows, terms, np.empty(0, np.int32), *pack_terms(order), stored_fields)
        return build_segments(forward, self._exact_lengths)


class _TermIds(dict[str, int]):
    """Terms, numbered by first occurrence."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


@dataclass(frozen=True, slots=True)
class ForwardIndex:
    """Documents as lists of (term, frequency), from which a segment is built. An empty `tfs` means 1 everywhere."""

    docids: Array
    phrasings: Array
    title_keys: Array
    offsets: Array
    terms: Array
    tfs: Array
    term_bytes: Array
    term_offsets: Array
    stored_fields: Array

    def split_in_halves(self) -> "tuple[ForwardIndex, ForwardIndex]":
        """Return the first and the second half of the documents, cut between two docids."""
        middle = self.docids[len(self.docids) // 2]
        cut = int(np.searchsorted(self.docids, middle) or np.searchsorted(self.docids, middle, "right"))
        return self._slice(0, cut), self._slice(cut, len(self.docids))

    def _slice(self, first: int, last: int) -> "ForwardIndex":
        low, high = self.offsets[first], self.offsets[last]
        rows = self.docids[first:last], self.phrasings[first:last], self.title_keys[first:last]
        offsets = self.offsets[first : last + 1] - low
        dictionary = self.term_bytes, self.term_offsets
        return ForwardIndex(*rows, offsets, self.terms[low:high], self.tfs[low:high], *dictionary, self.stored_fields)


def build_segments(forward: ForwardIndex, exact_lengths: bool) -> list[Segment]:
    """Return the segment of these documents, or the segments of their halves if there are too many codes."""
    try:
        return [_build_segment(forward, exact_lengths)]
    except TooManyCodesError:
        return [s for half in forward.split_in_halves() for s in build_segments(half, exact_lengths)]


def can_merge(segments: Sequence[Segment]) -> bool:
    """Return whether one segment has enough codes for the (frequency, length) pairs of all of these."""
    pairs = [s.code_tf.astype(np.int64) << 32 | s.code_length for s in segments]
    return len(find_distinct(np.concatenate(pairs))) <= MAX_CODES


def merge_segments(segments: Sequence[Segment], masks: Sequence[Array], exact: bool) -> list[Segment]:
    """Return one segment (or a few) of the live documents of several. masks: bool (D) per segment."""
    stored_fields = segments[0].stored_fields
    if any((own.stored_fields != stored_fields).any() for own in segments):
        stored_fields = np.arange(len(stored_fields))
    parts = [(at, *part) for at, segment in enumerate(segments) for part in _list_terms(segment, stored_fields)]
    term_bytes, term_offsets, new_ids = merge_dictionaries([dictionary for *_, dictionary in parts])
    rows = [(s.docids, s.phrasings, s.titles.by_row(len(s.docids))) for s in segments]
    live_rows = ([column[mask] for column in own] for own, mask in zip(rows, masks, strict=True))
    docids, phrasings, title_keys = map(np.concatenate, zip(*live_rows, strict=True))
    order = np.argsort(docids, kind="stable")
    positions = np.empty(len(docids), np.int32)
    positions[order] = np.arange(len(docids), dtype=np.int32)
    new_docs = [np.full(len(mask), -1, np.int32) for mask in masks]
    ends = np.cumsum([np.count_nonzero(mask) for mask in masks])
    for own_docs, mask, live_positions in zip(new_docs, masks, np.split(positions, ends[:-1]), strict=True):
        own_docs[mask] = live_positions
    postings = []
    for (at, terms, _), own_ids in zip(parts, new_ids, strict=True):
        segment, starts = segments[at], segments[at].starts[terms.start : terms.stop + 1]
        docs = new_docs[at][segment.decode_docs(starts[0], starts[-1])]
        ids = np.repeat(own_ids.astype(np.int32), np.diff(starts))
        live = docs >= 0
        postings.append((docs[live], ids[live], segment.code_tf[segment.codes[starts[0] : starts[-1]][live]]))
    docs, term_ids, tfs = (np.concatenate(column) for column in zip(*postings, strict=True))
    columns = _group_by_document(docs, term_ids, tfs, len(docids))
    ordered = docids[order], phrasings[order], title_keys[order]
    forward = ForwardIndex(*ordered, *columns, term_bytes, term_offsets, stored_fields)
    return build_segments(forward, exact)


def _list_terms(segment: Segment, stored_fields: Array) -> Iterator[tuple[range, tuple[Array, Array]]]:
    """Yield the terms of a segment with its dictionary, and those that stand for a field which is stored otherwise."""
    dictionary = segment.term_bytes, segment.term_offsets
    yield range(len(segment.starts) - 1), dictionary
    for field in np.flatnonzero(segment.stored_fields != stored_fields).tolist():
        own = int(segment.stored_fields[field])
        terms = find_field_range(*dictionary, own, len(stored_fields))
        yield terms, copy_terms(*dictionary, terms, own, field)


def _group_by_document(docs: Array, terms: Array, tfs: Array, document_count: int) -> tuple[Array, Array, Array]:
    """Return the same triples grouped by document: (offsets, terms, frequencies)."""
    offsets = np.zeros(document_count + 1, np.int64)
    ends = np.empty(document_count, np.int64)
    grouped_terms, grouped_tfs = (np.empty(len(docs), np.int32) for _ in range(2))
    _scatter(docs, terms, tfs, offsets, ends, grouped_terms, grouped_tfs)
    return offsets, grouped_terms, grouped_tfs


@compiled()
def _scatter(
    docs: Ints32, terms: Ints32, tfs: Ints32, offsets: Ints,
    ends: Ints, grouped_terms: Ints32, grouped_tfs: Ints32,
) -> None:  # fmt: skip
    """Write the (term, frequency) pairs by document, and the start of each document (`offsets`, initially zeros).

    ends: the position of each document's next pair.
    """
    _count(docs, offsets, ends)
    for i in range(len(docs)):
        at = ends[docs[i]]
        ends[docs[i]] += 1
        grouped_terms[at], grouped_tfs[at] = terms[i], tfs[i]


class TermLists(NamedTuple):
    """The documents of each term: V terms, P postings."""

    term_bytes: Array
    term_offsets: Array
    starts: Array
    """int64 (V + 1): where each term's postings begin."""
    docs: Array
    tfs: Array
    """int32 (P)."""

    def select(self, keep: Array) -> "TermLists":
        """Return the lists of some terms. keep: bool (V)."""
        if keep.all():
            return self
        counts = np.diff(self.starts)
        kept = np.repeat(keep, counts)
        dictionary = select_terms(self.term_bytes, self.term_offsets, keep)
        return TermLists(*dictionary, np.append(0, np.cumsum(counts[keep])), self.docs[kept], self.tfs[kept])

    def find_stored_fields(self, lengths: Array) -> Array:
        """Return, for each field, the first one with the same words in every document: int64 (F).

        lengths: (F, D), the number of words in each field of each document.
        """
        stored_fields = np.arange(len(lengths))
        for earlier, field in combinations(range(len(lengths)), 2):
            if stored_fields[field] == field and np.array_equal(lengths[earlier], lengths[field]):
                one, other = (self._list_words(own, len(lengths)) for own in (earlier, field))
                if all(map(np.array_equal, one, other)):
                    stored_fields[field] = earlier
        return stored_fields

    def _list_words(self, field: int, field_count: int) -> "TermLists":
        """Return the lists of a field's words, without its mark."""
        dictionary = self.term_bytes, self.term_offsets
        terms = find_field_range(*dictionary, field, field_count)
        starts = self.starts[terms.start : terms.stop + 1]
        own = slice(starts[0], starts[-1])
        words = copy_terms(*dictionary, terms, field, 0)
        return TermLists(*words, starts - starts[0], self.docs[own], self.tfs[own])


def _build_segment(forward: ForwardIndex, exact_lengths: bool) -> Segment:
    stored_fields = forward.stored_fields
    field_count = len(forward.stored_fields)
    term_fields = fields_of_terms(forward.term_bytes, forward.term_offsets, field_count)
    lengths = np.zeros((field_count, len(forward.docids)), np.int32)
    _sum_lengths(forward.offsets, forward.terms, forward.tfs, term_fields, lengths)
    lengths = lengths[stored_fields]
    scored_lengths = lengths if exact_lengths else round_lengths(np.maximum(lengths, 1)).astype(np.int32)
    lists = TermLists(
        forward.term_bytes, forward.term_offsets,
        *_invert(forward.terms, forward.tfs, forward.offsets, len(forward.term_offsets) - 1),
    )  # fmt: skip
    lists = lists.select(np.diff(lists.starts) > 0)
    if (stored_fields == np.arange(field_count)).all():
        stored_fields = lists.find_stored_fields(lengths)
    term_fields = fields_of_terms(lists.term_bytes, lists.term_offsets, field_count)
    is_own = (stored_fields == np.arange(field_count))[term_fields]
    (term_bytes, term_offsets, starts, docs, tf), term_fields = lists.select(is_own), term_fields[is_own]
    codes, code_tf, code_length = _assign_codes(starts, docs, tf, term_fields, scored_lengths)
    if len(code_tf) > MAX_CODES:
        raise TooManyCodesError
    df, ttf = (np.zeros(len(starts) - 1, np.int64) for _ in range(2))
    _count_statistics(starts, docs, tf, forward.phrasings, df, ttf)
    pareto_starts, pareto = np.empty(len(starts), np.int64), np.empty(len(codes), np.uint16)
    _find_pareto(starts, codes, code_tf, code_length, pareto_starts, pareto)
    long_lists = np.flatnonzero(np.diff(starts) > max(len(forward.docids) // LONG_LIST_DIVISOR, LONG_LIST_DIVISOR))
    bitmap_of = np.full(len(starts) - 1, -1, np.int32)
    bitmap_of[long_lists] = np.arange(len(long_lists), dtype=np.int32)
    shape = len(long_lists), (len(forward.docids) + 63) // 64
    bitmaps, ranks = np.zeros(shape, np.uint64), np.zeros(shape, np.int32)
    _fill_bitmaps(starts, docs, long_lists, bitmaps, ranks)
    return Segment(
        forward.docids, forward.phrasings, lengths, term_bytes, term_offsets, starts,
        (docs >> 16).astype(np.uint16), docs.astype(np.uint16), codes,
        code_tf, code_length, df, ttf, pareto_starts, pareto[: pareto_starts[-1]].copy(), bitmap_of, bitmaps, ranks,
        *TitleRows.of_keys(forward.title_keys), stored_fields,
    )  # fmt: skip


def decoded_lengths() -> Ints:
    """Return the 256 lengths of Lucene's length byte (SmallFloat.intToByte4), ascending: all up to 40, then fewer."""
    codes = np.arange(256 - EXACT_CODES, dtype=np.int64)
    shift = (codes >> 3) - 1
    mantissa = codes & 7
    floats = np.where(shift < 0, mantissa, (mantissa | 8) << np.maximum(shift, 0))
    return np.concatenate([np.arange(EXACT_CODES), EXACT_CODES + floats])


def round_lengths(lengths: ArrayLike) -> Ints:
    """Return the lengths after encoding and decoding: each becomes the largest decodable length not above it."""
    table = decoded_lengths()
    return table[np.searchsorted(table, lengths, side="right") - 1]


@inlined()
def _count(values: Array, starts: Array, heads: Array) -> None:
    """Write the start of each value's group in sorted order into `starts` (initially zeros) and `heads`."""
    for value in values:
        starts[value + 1] += 1
    for v in range(len(heads)):
        heads[v] = starts[v]
        starts[v + 1] += starts[v]


def _invert(terms: Array, tfs: Array, offsets: Array, vocabulary_size: int) -> tuple[Array, Array, Array]:
    """Return the postings by term, documents ascending: (starts, docs, frequencies)."""
    docs = np.empty(len(terms), np.int32)
    counts = np.ones(len(terms), np.int32)
    heads, starts = (np.zeros(vocabulary_size + 1, np.int64) for _ in range(2))
    _sort_postings(terms, tfs, offsets, heads, np.empty(vocabulary_size, np.int64), docs, counts, starts)
    return starts, docs[: starts[-1]].copy(), counts[: starts[-1]].copy()


@compiled()
def _sort_postings(
    terms: Ints32, tfs: Ints32, offsets: Ints, heads: Ints,
    ends: Ints, docs: Ints32, counts: Ints32, starts: Ints,
) -> None:  # fmt: skip
    """Write the postings by term. A counting sort groups a term's repeats in a document, which are then added up.

    heads (initially zeros), ends: where each term's postings begin and end before repeats are added up.
    """
    vocabulary_size = len(ends)
    _count(terms, heads, ends)
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            at = ends[terms[i]]
            ends[terms[i]] += 1
            docs[at] = d
            if len(tfs):
                counts[at] = tfs[i]
    end = 0
    for v in range(vocabulary_size):
        for i in range(heads[v], heads[v + 1]):
            if end > starts[v] and docs[end - 1] == docs[i]:
                counts[end - 1] += counts[i]
            else:
                docs[end], counts[end] = docs[i], counts[i]
                end += 1
        starts[v + 1] = end


@compiled()
def _sum_lengths(
    offsets: Ints, terms: Ints32, tfs: Ints32, term_fields: Bytes,
    lengths: Matrix[np.int32],
) -> None:  # fmt: skip
    """Add up the number of tokens in each field of each document: (fields, documents), initially zeros."""
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            lengths[term_fields[terms[i]], d] += tfs[i] if len(tfs) else np.int32(1)


def _assign_codes(
    starts: Array, docs: Array, tf: Array, term_fields: Array, scored_lengths: Array
) -> tuple[Array, Array, Array]:
    """Return a code per posting, numbered by first occurrence, and each code's (tf, length); stop at too many codes.

    A posting's length is that of its term's field. term_fields: (terms). scored_lengths: (fields, documents).
    """
    slots = np.full(1 << 18, -1, np.int32)
    codes = np.empty(len(docs), np.uint16)
    code_tf, code_length = (np.empty(MAX_CODES + 1, np.int32) for _ in range(2))
    known = _number_pairs(starts, docs, tf, term_fields, scored_lengths, slots, codes, code_tf, code_length)
    return codes, code_tf[:known].copy(), code_length[:known].copy()


@compiled()
def _number_pairs(
    starts: Ints, docs: Ints32, tf: Ints32, term_fields: Bytes,
    scored_lengths: Matrix[np.int32], slots: Ints32, codes: NDArray[np.uint16],
    code_tf: Ints32, code_length: Ints32,
) -> int:  # fmt: skip
    """Number the distinct (frequency, length) pairs, with a hash table in `slots` (initially −1); return their number.

    It stops when `code_tf` and `code_length` are full.
    """
    known = 0
    for v in range(len(starts) - 1):
        lengths = scored_lengths[term_fields[v]]
        for i in range(starts[v], starts[v + 1]):
            f, length = tf[i], lengths[docs[i]]
            slot = (np.int64(f) * 40_503 + np.int64(length) * 2_654_435) & (len(slots) - 1)
            while slots[slot] >= 0 and (code_tf[slots[slot]] != f or code_length[slots[slot]] != length):
                slot = (slot + 1) & (len(slots) - 1)
            if slots[slot] < 0:
                slots[slot] = known
                code_tf[known], code_length[known] = f, length
                known += 1
                if known == len(code_tf):
                    return known
            codes[i] = slots[slot]
    return known


@compiled()
def _count_statistics(
    starts: Ints, docs: Ints32, tf: Ints32, phrasings: NDArray[np.uint16],
    df: Ints, ttf: Ints,
) -> None:  # fmt: skip
    """Count, for each term, the questions whose own text contains it (df) and its occurrences there (ttf)."""
    for v in range(len(df)):
        for i in range(starts[v], starts[v + 1]):
            if phrasings[docs[i]] == 0:
                df[v] += 1
                ttf[v] += tf[i]


@compiled()
def _find_pareto(
    starts: Ints, codes: NDArray[np.uint16], code_tf: Ints32, code_length: Ints32,
    pareto_starts: Ints, pareto: NDArray[np.uint16],
) -> None:  # fmt: skip
    """Write, for each term, the codes that no other code of the term beats in both frequency and shortness."""
    pareto_starts[0] = end = 0
    for v in range(len(starts) - 1):
        first = end
        for i in range(starts[v], starts[v + 1]):
            tf, length = code_tf[codes[i]], code_length[codes[i]]
            beaten = False
            for p in range(first, end):
                if code_tf[pareto[p]] >= tf and code_length[pareto[p]] <= length:
                    beaten = True
                    break
            if beaten:
                continue
            kept = first
            for p in range(first, end):
                if code_tf[pareto[p]] > tf or code_length[pareto[p]] < length:
                    pareto[kept] = pareto[p]
                    kept += 1
            pareto[kept] = codes[i]
            end = kept + 1
        pareto_starts[v + 1] = end


@compiled()
def _fill_bitmaps(
    starts: Ints, docs: Ints32, long_lists: Ints,
    bitmaps: Matrix[np.uint64], ranks: Matrix[np.int32],
) -> None:  # fmt: skip
    """Write the bitmaps of long lists, and the ranks of their words, both initially zeros; see Segment."""
    width = bitmaps.shape[1]
    for b in range(len(long_lists)):
        for i in range(starts[long_lists[b]], starts[long_lists[b] + 1]):
            word = docs[i] >> 6
            bitmaps[b, word] |= np.uint64(1) << np.uint64(docs[i] & 63)
            ranks[b, word] += 1
        before = 0
        for w in range(width):
            count = ranks[b, w]
            ranks[b, w] = before
            before += count
