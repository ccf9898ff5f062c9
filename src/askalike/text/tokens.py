"""Numbers the tokens of texts, divided at white space, and caches each with its number.

Words repeat: each token is analysed once, and machine code then reads the result by the number of the token. A
dictionary of the words of `str.split` took 59 instead of 23 µs to number those of ten texts of 70 words, 173 with their
starts; for 44,000 titles it took 76 instead of 31 ms, and 152 with starts (processor time, the lowest of nine).
"""

import secrets
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, count, islice
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from askalike.core.arrays import Ints
from askalike.native.compiled import Matrix, compiled, inlined

SpanColumns = tuple[Sequence[str], Ints]
"""The terms of a text in order, and (2, terms): the start and end of each."""

MIN_SLOTS = 1 << 12
MAX_MEAN_LETTERS = 16
"""Letters for which a cache has room, with the space after a token, per token of its capacity."""
HALF = np.uint64(32)


class Tokens(NamedTuple):
    """The tokens of some texts, concatenated."""

    numbers: Ints
    starts: Ints
    """The start of each in its text, in characters."""
    ends: Ints
    """The index of each text's first token, with one more entry than texts."""


def number_distinct(values: Ints) -> tuple[Ints, Ints]:
    """Return the distinct values in order of occurrence, and for each value its index in these."""
    distinct, places = np.empty((2, len(values)), np.int64)
    slots = np.full(1 << (2 * len(values)).bit_length(), -1, np.int64)
    count = _find_distinct(values, slots, distinct, places)
    return distinct[:count], places


class NumberedTerms(NamedTuple):
    """The terms of some texts as numbers of their names."""

    names: Sequence[str]
    """The distinct terms."""
    numbers: Ints
    """The index of each text's terms in `names`, in order, concatenated."""
    ends: Ints
    """The index of each text's first term, with one more entry than texts."""

    @classmethod
    def joined(cls, parts: Sequence[Self], rows: Sequence[int]) -> Self:
        """Return the terms of the texts of several parts. rows: the place of each text in the result, part by part."""
        bases = accumulate((len(part.names) for part in parts), initial=0)
        numbers = np.concatenate([part.numbers + base for part, base in zip(parts, bases, strict=False)])
        counts = np.concatenate([np.diff(part.ends) for part in parts])
        order = np.argsort(rows)
        ends = np.append(0, np.cumsum(counts[order]))
        starts = (np.cumsum(counts) - counts)[order]
        at = np.arange(len(numbers)) + np.repeat(starts - ends[:-1], counts[order])
        return cls([name for part in parts for name in part.names], numbers[at], ends)


class GrowingArray:
    """Numbers to which others are added; `values` that were read before stay as they are."""

    def __init__(self, dtype: DTypeLike, *first: int) -> None:
        self._buffer = np.array(first, dtype)
        self.values = self._buffer

    def extend(self, numbers: ArrayLike) -> None:
        """Add numbers at the end."""
        added = np.asarray(numbers, self._buffer.dtype)
        count = len(self.values)
        size = count + len(added)
        if size > len(self._buffer):
            self._buffer = np.empty(2 * size, added.dtype)
            self._buffer[:count] = self.values
        self._buffer[count:size] = added
        self.values = self._buffer[:size]


class HashedTokens(NamedTuple):
    """Tokens in a text, with a hash table of these."""

    letters: NDArray[np.uint32]
    """The characters of the text; after each token there is white space."""
    starts: Ints
    """The index of the first letter of each token, by its number."""
    slots: Ints
    """2^n numbers, at least half of them −1 for none."""
    key: NDArray[np.uint64]
    """See `_random_key`."""


class TokenTable:
    """Token → number. A hash only says where a token may be; its letters are compared. Not thread-safe."""

    def __init__(self, learn: Callable[[Sequence[str]], None]) -> None:
        """learn: called with new tokens, in the order of numbers."""
        self._learn = learn
        self.tokens: list[str] = []
        """The tokens by their numbers."""
        self._letters, self._starts = GrowingArray(np.uint32), GrowingArray(np.int64)
        self._known = HashedTokens(self._letters.values, self._starts.values, _empty_slots(0), _random_key())

    def number(self, texts: Sequence[str]) -> Tokens:
        """Return the tokens of the texts; new ones get numbers."""
        joined = " ".join([*texts, ""])
        letters = _letters(joined)
        text_ends = np.array([*accumulate(map(len, texts), initial=0)], np.int64)
        text_ends += np.arange(len(text_ends))
        most = len(joined) // 2 + 1
        (numbers, starts), unknown = np.empty((2, most), np.int64), np.empty((3, most), np.int64)
        ends = np.zeros(len(text_ends), np.int64)
        n_unknown = _number_tokens(letters, text_ends, self._known, numbers, starts, ends, unknown)
        if n_unknown:
            at, first, last = unknown[:, :n_unknown]
            alike = np.empty(n_unknown, np.int64)
            _insert(0, HashedTokens(letters, first, _empty_slots(n_unknown), self._known.key), alike)
            new = np.flatnonzero(alike == np.arange(n_unknown))
            numbers[at] = len(self.tokens) + np.searchsorted(new, alike)
            spans = zip(first[new].tolist(), last[new].tolist(), strict=True)
            self._add([joined[start:end] for start, end in spans])
        return Tokens(numbers[: ends[-1]], starts[: ends[-1]], ends)

    def has_room(self, capacity: int) -> bool:
        """Return whether there are at most as many tokens, and no more letters than these usually have."""
        return len(self.tokens) <= capacity and len(self._letters.values) <= MAX_MEAN_LETTERS * capacity

    def _add(self, tokens: Sequence[str]) -> None:
        """Number tokens that were not in the table."""
        first = len(self.tokens)
        slots = self._known.slots
        lengths = [len(token) + 1 for token in tokens]
        self.tokens += tokens
        self._starts.extend(len(self._letters.values) + np.cumsum([0, *lengths[:-1]]))
        self._letters.extend(_letters(" ".join([*tokens, ""])))
        self._learn(tokens)
        if len(slots) < 2 * len(self.tokens):
            slots = _empty_slots(len(self.tokens))
            first = 0
        self._known = HashedTokens(self._letters.values, self._starts.values, slots, self._known.key)
        _insert(first, self._known, np.empty(len(self.tokens), np.int64))


def _random_key() -> NDArray[np.uint64]:
    """Return two random numbers for hashes, the second one odd, so that nobody can choose tokens that share a slot."""
    return np.frombuffer(secrets.token_bytes(16), np.uint64) | np.array([0, 1], np.uint64)


def _letters(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _empty_slots(count: int) -> Ints:
    """Return the empty slots of a hash table for `count` tokens."""
    return np.full(max(MIN_SLOTS, 1 << (2 * count).bit_length()), -1, np.int64)


class TermTable:
    """Numbers and finds the terms of texts; each must be within one token. It caches the tokens with their terms."""

    def __init__(self, split: Callable[[str], SpanColumns], capacity: int) -> None:
        """split: returns the terms of some tokens with white space between them. capacity: in tokens."""
        self._split, self._capacity = split, capacity
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._new: list[str] = []
        self._table = TokenTable(self._new.extend)
        self._is_full = False
        self._ids, self._names = defaultdict[str, int](count().__next__), list[str]()
        self._words, self._word_ends = GrowingArray(np.int64), GrowingArray(np.int64, 0)

    def find(self, texts: Sequence[str], names: Iterable[str]) -> list[list[tuple[str, int, int]]]:
        """Return, for each text, the words with one of the names, each with its start and end in the text."""
        with self._lock:
            tokens = self._number_tokens(texts)
            ids: Mapping[int, str] = {self._ids[name]: name for name in names if name in self._ids}
            words = self._words.values
            word_ends = self._word_ends.values
            wanted = np.array([*ids], np.int64)
            counts = np.zeros(len(texts), np.int64)
            columns = np.empty((3, 0), np.int64)
            size = len(tokens.numbers)
            while ids and size > columns.shape[1]:  # a token may have many words
                columns = np.empty((3, size), np.int64)
                size = _find_words(tokens, words, word_ends, wanted, columns, counts)
        found, starts, ends = columns[:, :size].tolist()
        spans = zip(map(ids.__getitem__, found), starts, ends, strict=True)
        return [[*islice(spans, count)] for count in counts.tolist()]

    def number(self, texts: Sequence[str]) -> NumberedTerms:
        """Return the terms of the texts."""
        with self._lock:
            tokens = self._number_tokens(texts)
            words, word_ends = self._words.values, self._word_ends.values
            ends = np.zeros(len(texts) + 1, np.int64)
            ids = np.empty(_count_words(tokens, word_ends, ends), np.int64)
            _list_words(tokens, words, word_ends, ids)
            distinct, places = number_distinct(ids)
            return NumberedTerms([self._names[n] for n in distinct.tolist()], places, ends)

    def _number_tokens(self, texts: Sequence[str]) -> Tokens:
        if self._is_full:
            self._clear()
        tokens = self._table.number(texts)
        if self._new:
            self._learn()
            self._is_full = not self._table.has_room(self._capacity)
        return tokens

    def _learn(self) -> None:
        """Find the words of the new tokens as one text, joined by white space."""
        begins = np.cumsum([0, *map(len, self._new)])
        begins += np.arange(len(begins))
        names, (starts, ends) = self._split(" ".join(self._new))
        ids = [*map(self._ids.__getitem__, names)]  # which numbers new ones
        self._names += [name for name in dict.fromkeys(names) if self._ids[name] >= len(self._names)]  # new ones
        tokens = np.searchsorted(begins, starts, "right") - 1
        words = np.column_stack((ids, starts - begins[tokens], ends - begins[tokens]))
        counts = np.bincount(tokens, minlength=len(self._new))
        self._word_ends.extend(self._word_ends.values[-1] + np.cumsum(counts))
        self._words.extend(words.ravel())
        self._new.clear()


@inlined()
def _is_space(character: np.uint32) -> bool:
    """Return the same as `str.isspace`."""
    if character < 0x1680:
        if character > 0x20:
            return bool(character == 0x85 or character == 0xA0)
        return bool(character == 0x20 or 0x09 <= character <= 0x0D or character >= 0x1C)
    if 0x2000 <= character <= 0x200A or 0x2028 <= character <= 0x2029:
        return True
    return bool(character == 0x1680 or character == 0x202F or character == 0x205F or character == 0x3000)


@compiled()
def _number_tokens(
    letters: NDArray[np.uint32], text_ends: Ints, known: HashedTokens, numbers: Ints, starts: Ints, ends: Ints,
    unknown: Matrix[np.int64],
) -> int:  # fmt: skip
    """Write each token's number and its start in its text; return the number of unknown ones.

    letters: of the texts, each with white space after it. text_ends: the start of each text in these, and of a further
    one. unknown: for each unknown token its index, and its start and end in `letters`.
    """
    n = n_unknown = 0
    for text in range(len(text_ends) - 1):
        i = text_ends[text]
        while i < text_ends[text + 1]:
            if _is_space(letters[i]):
                i += 1
            else:
                starts[n] = i
                numbers[n], i = _hash_token(letters, i, known)
                unknown[2, n] = i
                n += 1
        ends[text + 1] = n
    for n in range(ends[-1]):  # in loops of their own, in which the processor waits for several slots or tokens at once
        unknown[1, n] = known.slots[numbers[n]]
    for n in range(ends[-1]):
        unknown[0, n] = known.letters[known.starts[unknown[1, n]]] if unknown[1, n] >= 0 else 0
    for text in range(len(text_ends) - 1):
        for n in range(ends[text], ends[text + 1]):
            start, end = starts[n], unknown[2, n]
            number = unknown[1, n]
            if number >= 0:
                number = known.slots[_find_slot(letters, start, end, numbers[n], known)]
            numbers[n] = number
            starts[n] = start - text_ends[text]
            if number < 0:
                unknown[0, n_unknown], unknown[1, n_unknown], unknown[2, n_unknown] = n, start, end
                n_unknown += 1
    return n_unknown


@compiled()
def _insert(first: int, tokens: HashedTokens, alike: Ints) -> None:
    """Insert the tokens with the numbers from `first`; write for each the number of the first one that is equal."""
    for number in range(first, len(tokens.starts)):
        start = tokens.starts[number]
        slot, end = _hash_token(tokens.letters, start, tokens)
        slot = _find_slot(tokens.letters, start, end, slot, tokens)
        if tokens.slots[slot] < 0:
            tokens.slots[slot] = number
        alike[number] = tokens.slots[slot]


@inlined()
def _hash_token(letters: NDArray[np.uint32], start: int, tokens: HashedTokens) -> tuple[np.int64, int]:
    """Return the first slot that the token that starts in `letters` may have, and its end."""
    end = start
    hashed, factor = tokens.key[0], tokens.key[1]
    while not _is_space(letters[end]):
        hashed = (hashed ^ np.uint64(letters[end])) * factor
        end += 1
    return np.int64(hashed ^ (hashed >> HALF)) & (len(tokens.slots) - 1), end


@inlined()
def _find_slot(letters: NDArray[np.uint32], start: int, end: int, slot: np.int64, tokens: HashedTokens) -> np.int64:
    """Return the slot of a token of `letters`, an empty one if it is not in the table. slot: the first it may have."""
    while tokens.slots[slot] >= 0:
        i = start
        other = tokens.starts[tokens.slots[slot]]
        while i < end and letters[i] == tokens.letters[other]:
            i += 1
            other += 1
        if i == end and _is_space(tokens.letters[other]):
            break
        slot = (slot + 1) & (len(tokens.slots) - 1)
    return slot


@compiled()
def _find_distinct(numbers: Ints, slots: Ints, distinct: Ints, places: Ints) -> int:
    """Write the distinct numbers, and the index of each in these; return their number. slots: 2^n entries of −1."""
    n = 0
    last = len(slots) - 1
    for i in range(len(numbers)):
        slot = numbers[i] & last
        while slots[slot] >= 0 and distinct[slots[slot]] != numbers[i]:
            slot = (slot + 1) & last
        if slots[slot] < 0:
            slots[slot], distinct[n] = n, numbers[i]
            n += 1
        places[i] = slots[slot]
    return n


@compiled()
def _count_words(tokens: Tokens, word_ends: Ints, ends: Ints) -> int:
    """Write the index of each text's first word, and of its end; return the number of all words."""
    n = 0
    for text in range(len(tokens.ends) - 1):
        for i in range(tokens.ends[text], tokens.ends[text + 1]):
            n += word_ends[tokens.numbers[i] + 1] - word_ends[tokens.numbers[i]]
        ends[text + 1] = n
    return n


@compiled()
def _list_words(tokens: Tokens, words: Ints, word_ends: Ints, ids: Ints) -> None:
    """Write the id of each word of the tokens. words: id, start and end of each word of a token."""
    n = 0
    for i in range(len(tokens.numbers)):
        for w in range(word_ends[tokens.numbers[i]], word_ends[tokens.numbers[i] + 1]):
            ids[n] = words[3 * w]
            n += 1


@compiled()
def _find_words(
    tokens: Tokens, words: Ints, word_ends: Ints, wanted: Ints, out: Matrix[np.int64], counts: Ints
) -> int:  # fmt: skip
    """Write id, start and end of each wanted word, as many as fit, and their number in each text; return that of all.

    words: id, start and end of each word of a token.
    """
    n = 0
    for text in range(len(counts)):
        first = n
        for i in range(tokens.ends[text], tokens.ends[text + 1]):
            number, begin = tokens.numbers[i], tokens.starts[i]
            for w in range(word_ends[number], word_ends[number + 1]):
                for j in range(len(wanted)):
                    if words[3 * w] == wanted[j]:
                        if n < out.shape[1]:
                            out[0, n] = wanted[j]
                            out[1, n], out[2, n] = begin + words[3 * w + 1], begin + words[3 * w + 2]
                        n += 1
        counts[text] = n - first
    return n
