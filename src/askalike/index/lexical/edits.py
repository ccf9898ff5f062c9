"""Words that differ by a few letters: inserted, deleted, substituted, or transposed with a neighbour.

The distance is that of optimal string alignment (Damerau 1964; Boytsov 2011). The whole dictionary is scanned: the
lengths and the letters of its terms rule out nearly all of them.
"""

import numpy as np
from numpy.typing import NDArray

from askalike.index.lexical.terms import Bytes, Offsets
from askalike.index.rows import Array
from askalike.native.compiled import Matrix, compiled, inlined

Letters = NDArray[np.int32]
"""Code points."""
MAX_TERM_LETTERS = 48
"""Longer terms are not used as corrections."""


def edit_distance(one: str, other: str) -> int:
    """Return the optimal string alignment distance of two words."""
    first, second = code_points(one), code_points(other)
    return _compute_distance(first, second, np.empty((3, len(second) + 1), np.int64))


def code_points(word: str) -> NDArray[np.int32]:
    """Return the code point of each character."""
    return np.frombuffer(word.encode("utf-32-le", "surrogatepass"), np.int32)


def sign_terms(term_bytes: Bytes, term_offsets: Offsets) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Return the length of each term in characters, and a mask of its characters: bit (code point modulo 64) is set."""
    n = len(term_offsets) - 1
    lengths, masks = np.empty(n, np.int32), np.empty(n, np.uint64)
    _sign_terms(term_bytes, term_offsets, np.empty(MAX_TERM_LETTERS, np.int32), lengths, masks)
    return lengths, masks


@compiled()
def _sign_terms(
    term_bytes: Bytes, term_offsets: Offsets, letters: Letters, lengths: NDArray[np.int32], masks: NDArray[np.uint64]
) -> None:
    for t in range(len(lengths)):
        lengths[t] = _decode(term_bytes[term_offsets[t] : term_offsets[t + 1]], letters)
        masks[t] = _letter_mask(letters[: min(lengths[t], MAX_TERM_LETTERS)])


def find_near_terms(
    term_bytes: Bytes, term_offsets: Offsets, lengths: Array, masks: Array, first: int, last: int, word: Array,
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
    term_bytes: Bytes, term_offsets: Offsets, lengths: NDArray[np.int32], masks: NDArray[np.uint64], first: int,
    last: int, word: Letters, max_edits: int, tail: int, open_end: bool, letters: Letters, table: Matrix[np.int64],
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
def _compute_distance(one: Letters, other: Letters, table: Matrix[np.int64]) -> int:
    return _align(one, len(one), other, table, 0, False)[0]


@inlined()
def _align(term: Array, n: int, word: Array, table: Array, tail: int, open_end: bool) -> tuple[int, int]:
    """Return the edit distance of the first n letters of a term and a word, and how many of these match the word.

    With a tail, up to that many last letters of the word may be missing; with an open end, the term may continue.
    """
    m = len(word)
    best, end = n + m, n
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
            best, end = row[m], i
    last = table[n % 3]
    for j in range(max(m - tail, 0), m + 1):
        if last[j] < best:
            best, end = last[j], n
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
