"""A sorted term dictionary in two flat arrays, which can be opened without being read; terms of several fields.

The fields of a document have one dictionary. Terms of the first field are stored as they are; those of any other begin
with the mark of that field. To the index, a word in another field is thus just another term.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from askalike.native.compiled import compiled, inlined

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
MARKS = ("", "\x1c", "\x1d", "\x1e")
"""The mark of each field. Analyzers take these characters for white space, so that no term begins with one."""
_FIELD_OF_MARK = {mark: field for field, mark in enumerate(MARKS)}


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


def move_term(term: str, stored_fields: Sequence[int]) -> str:
    """Return the term that stands for the same word in the field that its field is stored as, see Segment."""
    field = field_of(term)
    own = stored_fields[field] if field < len(stored_fields) else field
    return term if own == field else MARKS[own] + term[1:]


def fields_of_terms(term_bytes: Bytes, term_offsets: Offsets, field_count: int) -> NDArray[np.uint8]:
    """Return the number of the field of each term of a dictionary."""
    lengths, first = np.diff(term_offsets), np.append(term_bytes, np.uint8(0))[term_offsets[:-1]]
    fields = first - np.uint8(ord(MARKS[1]) - 1)
    return np.where((lengths > 0) & (fields < field_count), fields, 0).astype(np.uint8)


def pack_terms(terms: Sequence[str]) -> tuple[Bytes, Offsets]:
    """Return the concatenated UTF-8 bytes of all terms, and the offset of each (one offset more than terms)."""
    encoded = [t.encode() for t in terms]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(b) for b in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def select_terms(term_bytes: Bytes, term_offsets: Offsets, keep: NDArray[np.bool_]) -> tuple[Bytes, Offsets]:
    """Return the dictionary of some terms. keep: bool (n)."""
    lengths = np.diff(term_offsets)
    return term_bytes[np.repeat(keep, lengths)], np.append(0, np.cumsum(lengths[keep]))


def copy_terms(
    term_bytes: Bytes, term_offsets: Offsets, terms: range, field: int, new_field: int
) -> tuple[Bytes, Offsets]:
    """Return the dictionary of the words of some terms, which are all in one field, in another field."""
    offsets = term_offsets[terms.start : terms.stop + 1] - term_offsets[terms.start]
    own = term_bytes[term_offsets[terms.start] : term_offsets[terms.stop]]
    if field:
        own, offsets = np.delete(own, offsets[:-1]), offsets - np.arange(len(offsets))
    if new_field:
        own = np.insert(own, offsets[:-1], ord(MARKS[new_field]))
        offsets = offsets + np.arange(len(offsets))
    return own, offsets


def find_terms(term_bytes: Bytes, term_offsets: Offsets, terms: Sequence[str]) -> NDArray[np.int64]:
    """Return the position of each term in a sorted dictionary, −1 for a missing term."""
    positions = np.empty(len(terms), np.int64)
    _find_packed(term_bytes, term_offsets, *pack_terms(terms), positions)
    return positions


def find_prefix_range(term_bytes: Bytes, term_offsets: Offsets, prefix: str) -> range:
    """Return the positions of the terms that begin with a prefix, which are adjacent in a sorted dictionary."""
    wanted, _ = pack_terms([prefix])
    return range(*(_lower_bound(term_bytes, term_offsets, wanted, past_prefix) for past_prefix in (False, True)))


def find_field_range(term_bytes: Bytes, term_offsets: Offsets, field: int, field_count: int) -> range:
    """Return the positions of the terms of a field, which are adjacent: those of the first field are last."""
    if field:
        return find_prefix_range(term_bytes, term_offsets, MARKS[field])
    first = find_prefix_range(term_bytes, term_offsets, MARKS[field_count - 1]).stop if field_count > 1 else 0
    return range(first, len(term_offsets) - 1)


def merge_dictionaries(dictionaries: Sequence[tuple[Bytes, Offsets]]) -> tuple[Bytes, Offsets, list[Offsets]]:
    """Return the union of sorted dictionaries, and the positions of each one's terms in it."""
    (term_bytes, term_offsets), *others = dictionaries
    positions = [np.arange(len(term_offsets) - 1)]
    for other_bytes, other_offsets in others:
        size = len(term_offsets) + len(other_offsets) - 2
        places, other_places = (np.empty(len(offsets) - 1, np.int64) for offsets in (term_offsets, other_offsets))
        merged, merged_offsets = np.empty(len(term_bytes) + len(other_bytes), np.uint8), np.zeros(size + 1, np.int64)
        count = _merge_packed(
            term_bytes, term_offsets, other_bytes, other_offsets, places, other_places, merged, merged_offsets
        )
        positions = [*(places[own] for own in positions), other_places]
        term_offsets = merged_offsets[: count + 1]
        term_bytes = merged[: term_offsets[-1]]
    return term_bytes, term_offsets, positions


def term_at(term_bytes: Bytes, term_offsets: Offsets, position: int) -> str:
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
def _lower_bound(term_bytes: Bytes, term_offsets: Offsets, wanted: Bytes, past_prefix: bool) -> int:
    """Return the first position whose term is not before `wanted` (with `past_prefix`: nor begins with it)."""
    low, high = 0, len(term_offsets) - 1
    while low < high:
        middle = (low + high) // 2
        order = _compare(term_bytes[term_offsets[middle] : term_offsets[middle + 1]], wanted, past_prefix)
        if order < 0 or (past_prefix and order == 0):
            low = middle + 1
        else:
            high = middle
    return low


@compiled()
def _find_packed(
    term_bytes: Bytes, term_offsets: Offsets, wanted: Bytes, wanted_offsets: Offsets, positions: Offsets
) -> None:
    size = len(term_offsets) - 1
    for i in range(len(positions)):
        positions[i] = -1
        term = wanted[wanted_offsets[i] : wanted_offsets[i + 1]]
        at = _lower_bound(term_bytes, term_offsets, term, False)
        if at < size and _compare(term_bytes[term_offsets[at] : term_offsets[at + 1]], term, False) == 0:
            positions[i] = at


@compiled()
def _merge_packed(
    a_bytes: Bytes, a_offsets: Offsets, b_bytes: Bytes, b_offsets: Offsets, a_places: Offsets, b_places: Offsets,
    merged: Bytes, merged_offsets: Offsets,
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
