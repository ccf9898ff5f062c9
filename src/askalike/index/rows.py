"""The rows of a segment: one per phrasing of a document, sorted by docid, some of them deleted."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Array
from askalike.native.compiled import compiled, inlined

NO_DELETIONS = np.empty(0, np.int32)
MAX_TITLES = 48
"""Maximum number of questions with the same title that come first."""


class Excluded(NamedTuple):
    """A document that a query must not find, or only one phrasing of it; None: all."""

    docid: int
    phrasing: int | None = None

    @staticmethod
    def to_numbers(excluded: "Excluded | None") -> tuple[int, int]:
        """Return a docid and a phrasing as compiled functions read them: −1 for none, and −1 for all phrasings."""
        if excluded is None:
            return -1, -1
        return excluded.docid, -1 if excluded.phrasing is None else excluded.phrasing


@dataclass(frozen=True, slots=True)
class DocAttributes:
    """What is known of a document in addition to its terms or vectors.

    title_keys: of its title and of each rephrasing, see `title_key`; empty if they are not looked up. tags, created_at,
    states: the fields that filters use, for indexes that apply filters themselves.
    """

    tags: Sequence[str] = ()
    created_at: str | None = None
    states: Sequence[str] = ()
    title_keys: Sequence[int] = ()

    def title_key(self, phrasing: int) -> int:
        """Return the key of a phrasing's title; 0 for none."""
        return self.title_keys[phrasing] if phrasing < len(self.title_keys) else 0

    def as_fields(self) -> Mapping[str, Any]:
        """Return the attributes that the document has, by name."""
        dated = {"created_at": self.created_at} if self.created_at else {}
        return dated | ({"tags": list(self.tags)} if self.tags else {}) | {"states": list(self.states)}


NO_ATTRIBUTES = DocAttributes()


class TitleRows(NamedTuple):
    """The rows of a segment by the keys of their titles. T rows have one."""

    keys: Array
    """uint64 (T), ascending: the key of the title, see `title_key`."""
    rows: Array
    """int32 (T): the row with that title."""

    @classmethod
    def of_keys(cls, keys: Array) -> Self:
        """Sort the rows. keys: uint64 (n), the key of each row's title, 0 for none."""
        order = np.argsort(keys, kind="stable")[np.count_nonzero(keys == 0) :]
        return cls(keys[order], order.astype(np.int32))

    def by_row(self, count: int) -> Array:
        """Return the key of each of `count` rows, 0 for none: uint64."""
        keys = np.zeros(count, np.uint64)
        keys[self.rows] = self.keys
        return keys

    def check_bounds(self, count: int) -> None:
        """Raise ValueError if the keys do not ascend, or lead outside `count` rows."""
        rows = self.rows
        if len(self.keys) != len(rows) or (len(rows) and not 0 <= rows.min() <= rows.max() < count):
            raise ValueError("its titles lead outside its rows")
        if bool((self.keys[1:] < self.keys[:-1]).any()):
            raise ValueError("the keys of its titles do not ascend")


@dataclass(frozen=True, eq=False)
class LiveRows(ABC):
    """A segment with the deletions made since it was written. Both indexes search such segments."""

    docids: Array
    """int64 (n): the docid of each row, ascending."""
    phrasings: Array
    """uint16 (n): 0 for a question's own text, m for its m-th rephrasing."""
    deleted: Array
    """int32: the positions of deleted rows, ascending."""
    titles: TitleRows

    @abstractmethod
    def with_deleted(self, deleted: Array) -> Self:
        """Return the same segment with these rows deleted (ascending; they include those deleted before)."""

    @abstractmethod
    def with_stored_deletions(self, arrays: Mapping[str, Array]) -> Self:
        """Return the same segment with the deletions of a file, see `deletion_arrays`; without any for no arrays."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the segment, without its deletions, into a new directory. A commit makes it durable."""

    def deletion_arrays(self) -> Mapping[str, Array]:
        """Return the arrays that the file of deletions holds."""
        return {"deleted": self.deleted}

    @cached_property
    def has_rephrasings(self) -> bool:
        """Whether a question may have several rows."""
        return bool(self.phrasings.any())

    @cached_property
    def live_mask(self) -> NDArray[np.bool_]:
        """bool (n): which rows are not deleted."""
        live = np.ones(len(self.docids), np.bool_)
        live[self.deleted] = False
        return live

    def mask_allowed(self, docids: Array | None) -> NDArray[np.bool_]:
        """Return a mask (n) of the live rows with one of these docids (ascending; None: any); empty if all are."""
        if docids is None:
            return self.live_mask if len(self.deleted) else np.empty(0, np.bool_)
        if not len(docids):
            return np.zeros(len(self.docids), np.bool_)
        at = np.searchsorted(docids, self.docids)
        at[at == len(docids)] = 0
        allowed = docids[at] == self.docids
        return allowed & self.live_mask if len(self.deleted) else allowed

    def find_rows(self, docids: Array, excluded: Excluded | None) -> tuple[Array, Array]:
        """Return (position in `docids`, row) of every live row of these docids that is not excluded.

        docids: int64 (m), in any order.
        """
        numbers = Excluded.to_numbers(excluded)
        live, (at, rows), count = self.mask_allowed(None), np.empty((2, 0), np.int64), len(docids)
        while count > len(at):  # a docid may have several rows
            at, rows = np.empty((2, count), np.int64)
            count = _find_rows(self.docids, self.phrasings, live, docids, *numbers, at, rows)
        return at[:count], rows[:count]


def find_titles(
    segments: Sequence[LiveRows], keys: Sequence[int], exclusions: Sequence[Excluded | None]
) -> Mapping[int, Sequence[int]]:
    """Return for each query with a title of the segments the docids with it, ascending, at most MAX_TITLES.

    keys: the key of each query's title, 0 for a query without one. exclusions: what each must not find.
    """
    wanted = np.array(keys, np.uint64)
    found = dict[int, set[int]]()
    for segment in segments:
        known, rows = segment.titles
        first, last = known.searchsorted(wanted), known.searchsorted(wanted, "right")
        for query in (first < last).nonzero()[0].tolist():
            excluded, phrasing = Excluded.to_numbers(exclusions[query])
            for row in rows[first[query] : last[query]].tolist():
                docid = int(segment.docids[row])
                is_live = not len(segment.deleted) or segment.live_mask[row]
                if is_live and (docid != excluded or (phrasing >= 0 and segment.phrasings[row] != phrasing)):
                    found.setdefault(query, set()).add(docid)
    return {query: sorted(docids)[:MAX_TITLES] for query, docids in found.items()}


def find_distinct(values: Array) -> Array:
    """Return the distinct values, ascending, like np.unique, which is slower and imports masked arrays first.

    A thread that calls np.unique just before another one has imported them fails with a RecursionError.
    """
    ordered = np.sort(values)
    is_new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]


def find_positions(docids: Array, wanted: Array) -> Array:
    """Return the position of each wanted docid among some docids in any order; −1 if it is not there."""
    if not len(docids):
        return np.full(len(wanted), -1)
    order = docids.argsort(kind="stable")
    at: Array = order[np.minimum(docids.searchsorted(wanted, sorter=order), len(docids) - 1)]
    at[docids[at] != wanted] = -1
    return at


@inlined()
def first_row(docids: NDArray[np.int64], docid: int) -> int:
    """Return the first row of a docid, or of the next higher one."""
    low = 0
    size = len(docids)
    while size > 0:
        half = size >> 1
        if docids[low + half] < docid:
            low += half + 1
            size -= half + 1
        else:
            size = half
    return low


@compiled()
def _find_rows(
    docids: NDArray[np.int64], phrasings: NDArray[np.uint16], live: NDArray[np.bool_], wanted: NDArray[np.int64],
    excluded_docid: int, excluded_phrasing: int, at: NDArray[np.int64], rows: NDArray[np.int64],
) -> int:  # fmt: skip
    """Write the position and the row of each live row of the wanted docids, as far as they fit; return their number."""
    n = 0
    for i in range(len(wanted)):
        row = first_row(docids, wanted[i])
        while row < len(docids) and docids[row] == wanted[i]:
            is_excluded = wanted[i] == excluded_docid and (excluded_phrasing < 0 or phrasings[row] == excluded_phrasing)
            if not is_excluded and (not len(live) or live[row]):
                if n < len(at):
                    at[n], rows[n] = i, row
                n += 1
            row += 1
    return n
