"""A sorted term dictionary in two flat arrays, which can be opened without being read; fields of terms; edit distances.

The fields of a document have one dictionary. Terms of the first field are stored as they are; those of any other begin
with the mark of that field. To the index, a word in another field is thus just another term.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Array, Bools, Bytes, Ints, Ints32
from askalike.native.compiled import Matrix, compiled, inlined

MARKS = ("", "\x1c", "\x1d", "\x1e")
"""The mark of each field. Analyzers take these characters for white space, so that no term begins with one."""
_FIELD_OF_MARK = {mark: field for field, mark in enumerate(MARKS)}
MAX_TERM_LETTERS = 48
"""Longer terms are not used as corrections."""


def mark_terms(words: Iterable[str], field: int) -> list[str]:
    """Return the terms that stand for these words in a field, given by its number."""
    mark = MARKS[field]
    return [mark + word for word in words] if mark else list(words)


def field_of(term: str) -> int:
    """Return the number of a term's field."""
    return _FIELD_OF_MARK.get(term[:1], 0)


def word_of(term: str) -> str:
    """Return a term without the mark of its field."""
    return term[1:] if field_of(term) else term


def parse_terms(terms: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return for each term its word and the number of its field."""
    fields = _FIELD_OF_MARK
    return {term: (term[1:], fields[term[:1]]) if term[:1] in fields else (term, 0) for term in terms}


def move_term(term: str, stored_fields: Sequence[int]) -> str:
    """Return the term that stands for the same word in the field that its field is stored as, see Segment."""
    field = field_of(term)
    own = stored_fields[field] if field < len(stored_fields) else field
    return term if own == field else MARKS[own] + term[1:]


def fields_of_terms(term_bytes: Bytes, term_offsets: Ints, field_count: int) -> Bytes:
    """Return the number of the field of each term of a dictionary."""
    lengths = np.diff(term_offsets)
    first = np.append(term_bytes, np.uint8(0))[term_offsets[:-1]]
    fields = first - np.uint8(ord(MARKS[1]) - 1)
    return np.where((lengths > 0) & (fields < field_count), fields, 0).astype(np.uint8)


def pack_terms(terms: Sequence[str]) -> tuple[Bytes, Ints]:
    """Return the concatenated UTF-8 bytes of all terms, and the offset of each (one offset more than terms)."""
    joined = "".join(terms)
    offsets = np.zeros(len(terms) + 1, np.int64)
    np.cumsum([*map(len, terms if joined.isascii() else map(str.encode, terms))], out=offsets[1:])
    return np.frombuffer(joined.encode(), np.uint8), offsets


def select_terms(term_bytes: Bytes, term_offsets: Ints, keep: Bools) -> tuple[Bytes, Ints]:
    """Return the dictionary of some terms. keep: bool (n)."""
    lengths = np.diff(term_offsets)
    return term_bytes[np.repeat(keep, lengths)], np.append(0, np.cumsum(lengths[keep]))


def copy_terms(term_bytes: Bytes, term_offsets: Ints, terms: range, field: int, new_field: int) -> tuple[Bytes, Ints]:
    """Return the dictionary of the words of some terms, which are all in one field, in another field."""
    offsets = term_offsets[terms.start : terms.stop + 1] - term_offsets[terms.start]
    own = term_bytes[term_offsets[terms.start] : term_offsets[terms.stop]]
    if field:
        own = np.delete(own, offsets[:-1])
        offsets = offsets - np.arange(len(offsets))
    if new_field:
        own = np.insert(own, offsets[:-1], ord(MARKS[new_field]))
        offsets = offsets + np.arange(len(offsets))
    return own, offsets


def find_terms(term_bytes: Bytes, term_offsets: Ints, terms: Sequence[str]) -> Ints:
    """Return the position of each term in a sorted dictionary, −1 for a missing term."""
    positions, keys = np.empty(len(terms), np.int64), np.empty(len(terms), np.uint64)
    packed = pack_terms(terms)
    _read_beginnings(*packed, keys)
    _find_packed(term_bytes, term_offsets, *packed, keys, np.argsort(keys), positions)
    return positions


def find_prefix_range(term_bytes: Bytes, term_offsets: Ints, prefix: str) -> range:
    """Return the positions of the terms that begin with a prefix, which are adjacent in a sorted dictionary."""
    wanted, _ = pack_terms([prefix])
    return range(*(_lower_bound(term_bytes, term_offsets, wanted, past_prefix) for past_prefix in (False, True)))


def find_field_range(term_bytes: Bytes, term_offsets: Ints, field: int, field_count: int) -> range:
    """Return the positions of the terms of a field, which are adjacent: those of the first field are last."""
    if field:
        return find_prefix_range(term_bytes, term_offsets, MARKS[field])
    first = find_prefix_range(term_bytes, term_offsets, MARKS[field_count - 1]).stop if field_count > 1 else 0
    return range(first, len(term_offsets) - 1)


def merge_dictionaries(dictionaries: Sequence[tuple[Bytes, Ints]]) -> tuple[Bytes, Ints, list[Ints]]:
    """Return the union of sorted dictionaries, and the positions of each one's terms in it."""
    (term_bytes, term_offsets), *others = dictionaries
    positions = [np.arange(len(term_offsets) - 1)]
    for other_bytes, other_offsets in others:
        size = len(term_offsets) + len(other_offsets) - 2
        places, other_places = (np.empty(len(offsets) - 1, np.int64) for offsets in (term_offsets, other_offsets))
        merged = np.empty(len(term_bytes) + len(other_bytes), np.uint8)
        merged_offsets = np.zeros(size + 1, np.int64)
        count = _merge_packed(
            term_bytes, term_offsets, other_bytes, other_offsets, places, other_places, merged, merged_offsets
        )
        positions = [*(places[own] for own in positions), other_places]
        term_offsets = merged_offsets[: count + 1]
        term_bytes = merged[: term_offsets[-1]]
    return term_bytes, term_offsets, positions


def term_at(term_bytes: Bytes, term_offsets: Ints, position: int) -> str:
    """Return the term at a position."""
    return term_bytes[term_offsets[position] : term_offsets[position + 1]].tobytes().decode()


@inlined()
def _compare(a: Bytes, b: Bytes, as_prefix: bool) -> int:
    """Return −1, 0 or 1 if a is before, equal to or after b. With `as_prefix`, an a that begins with b is equal."""
    for i in range(min(len(a), len(b))):
        if a[i] != b[i]:
            return -1 if a[i] < b[i] else 1
    if len(a) == len(b) or (as_prefix and len(a) > len(b)):
        return 0
    return -1 if len(a) < len(b) else 1


@compiled()
def _lower_bound(term_bytes: Bytes, term_offsets: Ints, wanted: Bytes, past_prefix: bool) -> int:
    """Return the first position whose term is not before `wanted` (with `past_prefix`: nor begins with it)."""
    return _lower_bound_between(term_bytes, term_offsets, wanted, past_prefix, 0, len(term_offsets) - 1)


@inlined()
def _lower_bound_between(
    term_bytes: Bytes, term_offsets: Ints, wanted: Bytes, past_prefix: bool, low: int, high: int
) -> int:
    """As `_lower_bound`, for a position that is known to be in low:high + 1."""
    while low < high:
        middle = (low + high) // 2
        order = _compare(term_bytes[term_offsets[middle] : term_offsets[middle + 1]], wanted, past_prefix)
        if order < 0 or (past_prefix and order == 0):
            low = middle + 1
        else:
            high = middle
    return low


@compiled()
def _read_beginnings(term_bytes: Bytes, term_offsets: Ints, keys: NDArray[np.uint64]) -> None:
    """Write the first eight bytes of each term as one number, in the order of terms."""
    for i in range(len(keys)):
        key = np.uint64(0)
        for at in range(term_offsets[i], term_offsets[i] + 8):
            byte = np.uint64(term_bytes[at]) if at < term_offsets[i + 1] else np.uint64(0)
            key = key << np.uint64(8) | byte
        keys[i] = key


@compiled()
def _find_packed(
    term_bytes: Bytes, term_offsets: Ints, wanted: Bytes, wanted_offsets: Ints, keys: NDArray[np.uint64],
    order: Ints, positions: Ints,
) -> None:  # fmt: skip
    """Write the position of each term, one after the other by their beginnings.

    A search begins where the last term with another beginning would be, and looks ahead in ever larger steps.
    """
    size = len(term_offsets) - 1
    at = 0
    begin = 0
    key = np.uint64(0)
    for i in order:
        positions[i] = -1
        if keys[i] != key:
            begin = at
            key = keys[i]
        term = wanted[wanted_offsets[i] : wanted_offsets[i + 1]]
        low = begin
        high = begin
        step = 1
        while high < size and _compare(term_bytes[term_offsets[high] : term_offsets[high + 1]], term, False) < 0:
            low = high + 1
            high = min(high + step, size)
            step = 2 * step
        at = _lower_bound_between(term_bytes, term_offsets, term, False, low, high)
        if at < size and _compare(term_bytes[term_offsets[at] : term_offsets[at + 1]], term, False) == 0:
            positions[i] = at


@compiled()
def _merge_packed(
    a_bytes: Bytes, a_offsets: Ints, b_bytes: Bytes, b_offsets: Ints, a_places: Ints, b_places: Ints,
    merged: Bytes, merged_offsets: Ints,
) -> int:  # fmt: skip
    """Write the union of two sorted dictionaries and the positions of each one's terms; return its number of terms."""
    i = j = n = end = 0
    while i < len(a_places) or j < len(b_places):
        order = -1 if j == len(b_places) else 1
        if i < len(a_places) and j < len(b_places):
            a = a_bytes[a_offsets[i] : a_offsets[i + 1]]
            order = _compare(a, b_bytes[b_offsets[j] : b_offsets[j + 1]], False)
        if order <= 0:
            for at in range(a_offsets[i], a_offsets[i + 1]):
                merged[end] = a_bytes[at]
                end += 1
            a_places[i] = n
            i += 1
        else:
            for at in range(b_offsets[j], b_offsets[j + 1]):
                merged[end] = b_bytes[at]
                end += 1
        if order >= 0:
            b_places[j] = n
            j += 1
        n += 1
        merged_offsets[n] = end
    return n


def edit_distance(one: str, other: str) -> int:
    """Return the optimal string alignment distance of two words."""
    first, second = code_points(one), code_points(other)
    return _compute_distance(first, second, np.empty((3, len(second) + 1), np.int64))


def code_points(word: str) -> Ints32:
    """Return the code point of each character."""
    return np.frombuffer(word.encode("utf-32-le", "surrogatepass"), np.int32)


def sign_terms(term_bytes: Bytes, term_offsets: Ints) -> tuple[Ints32, NDArray[np.uint64]]:
    """Return the length of each term in characters, and a mask of its characters: bit (code point modulo 64) is set."""
    n = len(term_offsets) - 1
    lengths, masks = np.empty(n, np.int32), np.empty(n, np.uint64)
    _sign_terms(term_bytes, term_offsets, np.empty(MAX_TERM_LETTERS, np.int32), lengths, masks)
    return lengths, masks


@compiled()
def _sign_terms(
    term_bytes: Bytes, term_offsets: Ints, letters: Ints32, lengths: Ints32, masks: NDArray[np.uint64]
) -> None:
    for t in range(len(lengths)):
        lengths[t] = _decode(term_bytes[term_offsets[t] : term_offsets[t + 1]], letters)
        masks[t] = _letter_mask(letters[: min(lengths[t], MAX_TERM_LETTERS)])


def find_near_terms(
    term_bytes: Bytes, term_offsets: Ints, lengths: Array, masks: Array, first: int, last: int, word: Array,
    max_edits: int, tail: int, open_end: bool,
) -> Array:  # fmt: skip
    """Return the near terms in first:last of a dictionary, with the result of `_align` for each: int64 (3, n).

    lengths, masks: see sign_terms. word: code points. tail: number of its last letters that a term may lack.
    open_end: the term may continue after the word.
    """
    near = np.empty((3, max(last - first, 0)), np.int64)
    letters, table = np.empty(MAX_TERM_LETTERS, np.int32), np.empty((3, len(word) + 1), np.int64)
    n = _scan_terms(
        term_bytes, term_offsets, lengths, masks, first, last, word, max_edits, tail, open_end, letters, table, near
    )
    return near[:, :n].copy()


@compiled()
def _scan_terms(
    term_bytes: Bytes, term_offsets: Ints, lengths: Ints32, masks: NDArray[np.uint64], first: int,
    last: int, word: Ints32, max_edits: int, tail: int, open_end: bool, letters: Ints32, table: Matrix[np.int64],
    near: Matrix[np.int64],
) -> int:  # fmt: skip
    """Write the result of `find_near_terms`; return the number of terms."""
    found = 0
    mask = _letter_mask(word)
    shortest = len(word) - tail - max_edits
    longest = MAX_TERM_LETTERS if open_end else min(len(word) + max_edits, MAX_TERM_LETTERS)
    for t in range(first, last):
        if lengths[t] < shortest or lengths[t] > longest:
            continue
        if not open_end and not _at_most(masks[t] & ~mask, max_edits):
            continue
        if tail == 0 and not _at_most(mask & ~masks[t], max_edits):
            continue
        n = _decode(term_bytes[term_offsets[t] : term_offsets[t + 1]], letters)
        distance, end = _align(letters, n, word, table, tail, open_end)
        if distance <= max_edits:
            near[0, found], near[1, found], near[2, found] = t, distance, end
            found += 1
    return found


@compiled()
def _compute_distance(one: Ints32, other: Ints32, table: Matrix[np.int64]) -> int:
    return _align(one, len(one), other, table, 0, False)[0]


@inlined()
def _align(term: Array, n: int, word: Array, table: Array, tail: int, open_end: bool) -> tuple[int, int]:
    """Return the edit distance of the first n letters of a term and a word, and how many of these match the word.

    With a tail, up to that many last letters of the word may be missing; with an open end, the term may continue.
    """
    m = len(word)
    best = n + m
    end = n
    for j in range(m + 1):
        table[0, j] = j
    for i in range(1, n + 1):
        row, before, earlier = table[i % 3], table[(i - 1) % 3], table[(i - 2) % 3]
        row[0] = i
        for j in range(1, m + 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (term[i - 1] != word[j - 1]))
            if i > 1 and j > 1 and term[i - 1] == word[j - 2] and term[i - 2] == word[j - 1]:
                cost = min(cost, earlier[j - 2] + 1)
            row[j] = cost
        if open_end and row[m] <= best:
            best = row[m]
            end = i
    last = table[n % 3]
    for j in range(max(m - tail, 0), m + 1):
        if last[j] < best:
            best = last[j]
            end = n
    return best, end


@inlined()
def _decode(utf8: Bytes, letters: Array) -> int:
    """Write the code points of a term into `letters`, as many as fit; return its number of code points."""
    n = 0
    for byte in utf8:
        if byte & 0xC0 == 0x80:
            if n <= len(letters):
                letters[n - 1] = letters[n - 1] << 6 | byte & 0x3F
            continue
        if n < len(letters):
            letters[n] = byte if byte < 0x80 else byte & (0x1F if byte < 0xE0 else 0x0F if byte < 0xF0 else 0x07)
        n += 1
    return n


@inlined()
def _letter_mask(letters: Array) -> np.uint64:
    mask = np.uint64(0)
    for letter in letters:
        mask |= np.uint64(1) << np.uint64(letter & 63)
    return mask


@inlined()
def _at_most(bits: np.uint64, count: int) -> bool:
    """Return whether at most `count` bits are set."""
    for _ in range(count):
        if not bits:
            return True
        bits &= bits - np.uint64(1)
    return not bits
