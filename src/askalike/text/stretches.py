"""Numbers the stretches between white space of texts, and remembers each with its number.

Words repeat: what is known of a stretch is found out once, and read by machine code from then on, under its number.
"""

import threading
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.compiled import compiled, inner

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]

MIN_SLOTS = 1 << 12
HASH_START, HASH_FACTOR = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a
MIX_FACTOR = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
ZERO, ONE = np.uint64(0), np.uint64(1)


class Stretches(NamedTuple):
    """The stretches of some texts, of each text after the other."""

    numbers: Ints
    starts: Ints
    """The character of its text at which each begins."""
    ends: Ints
    """Where the stretches of each text begin, one more than texts."""

    def distinct(self) -> tuple[Ints, Ints]:
        """Return each number once, ascending, and for each stretch the place of its number among them."""
        ordered = np.sort(self.numbers)
        numbers = ordered[np.flatnonzero(np.diff(ordered, prepend=-1))]
        return numbers, np.searchsorted(numbers, self.numbers)


class StretchTable:
    """Stretch → number, by a hash of 64 bits. Not safe to share between threads without a lock."""

    def __init__(self, learn: Callable[[str], None]) -> None:
        """learn: called with each new stretch, in the order of their numbers."""
        self._learn = learn
        self.stretches: list[str] = []
        """The stretches by their numbers."""
        self._keys, self._numbers = np.zeros(MIN_SLOTS, np.uint64), np.zeros(MIN_SLOTS, np.int64)

    def __len__(self) -> int:
        return len(self.stretches)

    def number(self, texts: Sequence[str]) -> Stretches:
        """Return the stretches of the texts; new ones get numbers."""
        joined = "".join(texts)
        characters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass") or bytes(4), np.uint32)[: len(joined)]
        text_ends = np.cumsum([0, *map(len, texts)])
        numbers, starts, lengths = np.empty((3, len(joined) // 2 + len(texts) + 1), np.int64)
        keys, ends = np.empty(len(numbers), np.uint64), np.zeros(len(texts) + 1, np.int64)
        _number_stretches(characters, text_ends, self._keys, self._numbers, numbers, starts, lengths, keys, ends)
        count = int(ends[-1])
        unknown = np.flatnonzero(numbers[:count] < 0)
        if len(unknown):
            begins = starts + np.repeat(text_ends, np.diff(ends, append=len(starts)))
            spans = zip(*(column[unknown].tolist() for column in (keys, begins, lengths)), strict=True)
            numbers[unknown] = self._add((key, joined[start : start + length]) for key, start, length in spans)
        return Stretches(numbers[:count], starts[:count], ends)

    def _add(self, stretches: Iterable[tuple[int, str]]) -> list[int]:
        """Return the numbers of stretches that were not in the table, given with their keys."""
        first, new, numbers = len(self.stretches), dict[int, int](), []
        for key, stretch in stretches:
            number = new.get(key)
            if number is None:
                number = new[key] = first + len(new)
                self._learn(stretch)
                self.stretches.append(stretch)
            numbers.append(number)
        size = len(self._keys)
        while size < 2 * len(self.stretches):
            size *= 2
        if size > len(self._keys):
            old = self._keys.nonzero()[0]
            keys, values = self._keys[old], self._numbers[old]
            self._keys, self._numbers = np.zeros(size, np.uint64), np.zeros(size, np.int64)
            _insert(keys, values, self._keys, self._numbers)
        _insert(np.array([*new], np.uint64), np.array([*new.values()], np.int64), self._keys, self._numbers)
        return numbers


class SpanFinder:
    """Finds words in texts by their names, where each word lies within one stretch. It remembers the stretches."""

    def __init__(self, split: Callable[[str], Iterable[tuple[str, int, int]]], capacity: int) -> None:
        """split: the words of a stretch by their starts, each with name, start and end. capacity: of stretches."""
        self._split, self._capacity = split, capacity
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._table = StretchTable(self._learn)
        self._ids: dict[str, int] = {}
        self._words, self._word_ends = array("q"), array("q", [0])

    def find(self, texts: Sequence[str], names: Iterable[str]) -> list[list[tuple[str, int, int]]]:
        """Return for each text the words with one of the names, each with its start and end in the text."""
        with self._lock:  # within it no view of an array outlives the call, as such an array cannot grow
            return self._find(texts, names)

    def _find(self, texts: Sequence[str], names: Iterable[str]) -> list[list[tuple[str, int, int]]]:
        if len(self._table) > self._capacity:
            self._clear()
        stretches = self._table.number(texts)
        ids: Mapping[int, str] = {self._ids[name]: name for name in names if name in self._ids}
        found: list[list[tuple[str, int, int]]] = [[] for _ in texts]
        if not ids:
            return found
        words, word_ends = as_array(self._words).reshape(-1, 3), as_array(self._word_ends)
        numbers = stretches.numbers
        out = np.empty((int((word_ends[numbers + 1] - word_ends[numbers]).sum()), 4), np.int64)
        count = _find_words(
            numbers, stretches.starts, stretches.ends, words.ravel(), word_ends, np.array([*ids], np.int64), out.ravel()
        )
        for text, word, start, end in out[:count].tolist():
            found[text].append((ids[word], start, end))
        return found

    def _learn(self, stretch: str) -> None:
        for name, start, end in self._split(stretch):
            self._words.extend((self._ids.setdefault(name, len(self._ids)), start, end))
        self._word_ends.append(len(self._words) // 3)


def as_array(values: "array[Any]") -> NDArray[Any]:
    """Return the same values without a copy."""
    return np.frombuffer(values, values.typecode) if values else np.empty(0, values.typecode)


@inner()
def _is_space(character: np.uint32) -> bool:
    """Return what `str.isspace` returns."""
    if character < 0x1680:
        if character > 0x20:
            return bool(character == 0x85 or character == 0xA0)
        return bool(character == 0x20 or 0x09 <= character <= 0x0D or character >= 0x1C)
    if 0x2000 <= character <= 0x200A or 0x2028 <= character <= 0x2029:
        return True
    return bool(character == 0x1680 or character == 0x202F or character == 0x205F or character == 0x3000)


@compiled()
def _number_stretches(
    characters: NDArray[np.uint32], text_ends: Ints, table: Keys, values: Ints, numbers: Ints, starts: Ints,
    lengths: Ints, keys: Keys, ends: Ints,
) -> None:  # fmt: skip
    """Write each stretch's number, −1 for an unknown one, its start in its text, its length and its key."""
    n = 0
    slots = np.uint64(len(table) - 1)
    for text in range(len(text_ends) - 1):
        first, last = text_ends[text], text_ends[text + 1]
        i = first
        while i < last:
            if _is_space(characters[i]):
                i += 1
                continue
            start = i
            key = HASH_START
            while i < last and not _is_space(characters[i]):
                key = (key ^ np.uint64(characters[i])) * HASH_FACTOR
                i += 1
            key = (key ^ (key >> HALF)) * MIX_FACTOR
            key = max(key ^ (key >> HALF), ONE)
            slot = key & slots
            while table[slot] != key and table[slot] != ZERO:
                slot = (slot + ONE) & slots
            numbers[n] = values[slot] if table[slot] == key else -1
            starts[n], lengths[n], keys[n] = start - first, i - start, key
            n += 1
        ends[text + 1] = n


@compiled()
def _insert(keys: Keys, numbers: Ints, table: Keys, values: Ints) -> None:
    slots = np.uint64(len(table) - 1)
    for i in range(len(keys)):
        slot = keys[i] & slots
        while table[slot] != ZERO:
            slot = (slot + ONE) & slots
        table[slot], values[slot] = keys[i], numbers[i]


@compiled()
def _find_words(
    numbers: Ints, starts: Ints, ends: Ints, words: Ints, word_ends: Ints, wanted: Ints, out: Ints
) -> int:  # fmt: skip
    """Write text, word, start and end of each wanted word in a row; return how many. words: id, start, end of each."""
    n = 0
    for text in range(len(ends) - 1):
        for i in range(ends[text], ends[text + 1]):
            for w in range(word_ends[numbers[i]], word_ends[numbers[i] + 1]):
                for j in range(len(wanted)):
                    if words[3 * w] == wanted[j]:
                        out[4 * n], out[4 * n + 1] = text, wanted[j]
                        out[4 * n + 2], out[4 * n + 3] = starts[i] + words[3 * w + 1], starts[i] + words[3 * w + 2]
                        n += 1
    return n
