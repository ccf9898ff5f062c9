"""Writes to an index: new documents, deletions and merges of segments, all of which one commit makes visible."""

import os
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, Generic

import numpy as np

from askalike.core.arrays import Array
from askalike.core.files import fsync_path
from askalike.index.commits import ChangeWriter, CommittedIndex, CommittedSegment, LiveT
from askalike.index.rows import LiveRows, find_distinct

MERGE_FACTOR = 4
"""Number of segments of about the same size that are merged into one."""
SMALL_SEGMENTS = (4_096, 32_768)
"""Sizes, in documents, below which two segments suffice for a merge, since every segment makes searches slower.

Commits rewrite the segments below the first limit; a segment that has grown beyond it joins those below the second.
"""


class IndexWriter(ChangeWriter, ABC, Generic[LiveT]):
    """Collects changes to an index and commits them at once. Created by an index's `writer()`."""

    def __init__(self, index: CommittedIndex[LiveT, Any, Any, Any]) -> None:
        self._index = index
        self._deleted_docids = array("q")
        self._new_segments: list[CommittedSegment[LiveT]] = []
        self._name_count = 0

    @property
    def change(self) -> int:
        """The archive's change number up to which everything is in the index already."""
        return self._index.change

    @property
    def sent_docid(self) -> int:
        """0: an interrupted update of a local index starts over."""
        return 0

    @abstractmethod
    def _build_added(self) -> Sequence[LiveT]:
        """Return the documents added since the last call as segments."""

    @abstractmethod
    def _merge(self, segments: Sequence[LiveT]) -> Sequence[CommittedSegment[LiveT]]:
        """Store the live documents of several segments as one (or a few)."""

    def _merge_key(self, segment: LiveT) -> int:
        """Return the sort key of segments of about the same size when a merge is chosen."""
        return len(segment.docids) - len(segment.deleted)

    def _can_merge(self, segments: Sequence[LiveT]) -> bool:
        """Return whether these segments can become one."""
        return True

    def _complete(self, segment: LiveT) -> LiveT:
        """Return the segment with additional files that are written before it is committed; itself if it has them."""
        return segment

    def delete(self, docids: Iterable[int]) -> None:
        self._deleted_docids.extend(docids)

    def commit(self, change: int, change_date: str | None = None) -> None:
        deleted = find_distinct(np.array(self._deleted_docids, np.int64))
        remaining = (self._delete_documents(segment, deleted) for segment in self._index.segments)
        segments = [segment for segment in remaining if segment.live_count]
        self._flush()
        segments += self._new_segments
        while group := self._choose_merge(segments):
            segments = [s for s in segments if s not in group] + [*self._merge([segment.live for segment in group])]
        completed = [CommittedSegment(s.name, self._complete(s.live), s.deletions) for s in segments]
        self._index.commit(change, completed, change_date)
        self._new_segments, self._deleted_docids = [], array("q")

    def _choose_merge(self, segments: Sequence[CommittedSegment[LiveT]]) -> list[CommittedSegment[LiveT]]:
        """Return the segments to merge: one that is mostly deleted, or several of about the same size; else none."""
        for segment in segments:
            if segment.deleted_count > segment.live_count:
                return [segment]
        tiers: dict[int, list[CommittedSegment[LiveT]]] = {}
        for segment in sorted(segments, key=lambda s: self._merge_key(s.live)):
            tiers.setdefault(_size_tier(segment.live_count), []).append(segment)
        groups = []
        for size, tier in tiers.items():
            counts = range(len(tier), (2 if size < len(SMALL_SEGMENTS) else MERGE_FACTOR) - 1, -1)
            groups.append(next((tier[:n] for n in counts if self._can_merge([s.live for s in tier[:n]])), []))
        return min(filter(None, groups), key=lambda group: group[0].live_count, default=[])

    def _flush(self) -> None:
        self._new_segments += self._store(self._build_added())

    def _store(self, segments: Sequence[LiveT]) -> list[CommittedSegment[LiveT]]:
        return [self._index.store_segment(self._new_name(), segment) for segment in segments]

    def _delete_documents(self, segment: CommittedSegment[LiveT], docids: Array) -> CommittedSegment[LiveT]:
        """Return the segment without these docids (ascending); the same object if it has none of them."""
        deleted = _add_deletions(segment.live, docids)
        if len(deleted) == segment.deleted_count:
            return segment
        live = segment.live.with_deleted(deleted)
        if self._index.path is None:
            return CommittedSegment(segment.name, live)
        file = self._index.path / f"deleted-{self._new_name()}.npz"
        np.savez(file, allow_pickle=False, **live.deletion_arrays())
        fsync_path(file)
        return CommittedSegment(segment.name, live, file.name)

    def _new_name(self) -> str:
        """Return a name that no file of the directory has."""
        while True:
            self._name_count += 1
            name = f"{self._index.change}-{os.getpid()}-{self._name_count}"
            files = (name, f"deleted-{name}.npz")
            if self._index.path is None or not any((self._index.path / file).exists() for file in files):
                return name


def _size_tier(live_count: int) -> int:
    """Return the size tier of a segment: by the limits of SMALL_SEGMENTS, above these by the logarithm to base 8."""
    is_small = live_count < SMALL_SEGMENTS[-1]
    return bisect_right(SMALL_SEGMENTS, live_count) if is_small else live_count.bit_length() // 3


def _add_deletions(segment: LiveRows, docids: Array) -> Array:
    """Return the positions (int32, ascending) of a segment's deleted rows once these docids are deleted too."""
    dead = np.zeros(len(segment.docids), np.bool_)
    dead[segment.deleted] = True
    first, last = (np.searchsorted(segment.docids, docids, side) for side in ("left", "right"))
    for a, b in zip(first[last > first], last[last > first], strict=True):
        dead[a:b] = True
    return np.flatnonzero(dead).astype(np.int32)
