"""The inverted index on disk: see commits.py for what is written when.

Statistics are sums over the live documents of all segments, so that an index changed step by step scores exactly as
one built afresh.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from zipfile import BadZipFile

import numpy as np
from numba import njit

from askalike.errors import SearchIndexError
from askalike.index.commits import (
    MANIFEST,
    CommittedIndex,
    FileNamer,
    add_deletions,
    deletions_filename,
    save_deletions,
    select_merge,
)
from askalike.index.lexical.builder import SegmentBuilder, can_merge, merge_segments
from askalike.index.lexical.searcher import LiveSegment, PostingsSearcher
from askalike.index.lexical.segment import Array, Segment

__all__ = ["FORMAT", "MANIFEST", "NO_DELETIONS", "PostingsIndex", "PostingsLayout", "PostingsWriter"]

FORMAT = 2
TOKENS_PER_SEGMENT = 1 << 26  # a build holds at most so many tokens in memory (256 MiB)
NO_DELETIONS = np.empty(0, np.int32), np.empty((0, 3), np.int64)


@dataclass(frozen=True, slots=True)
class PostingsLayout:
    """What an index was built for. fingerprint: of all that decides about terms. scale: see Segment."""

    fingerprint: str
    exact_lengths: bool = False
    scale: int = 1


@dataclass(slots=True)
class _PostingsSegment:
    """A segment as the manifest names it."""

    name: str
    live_segment: LiveSegment
    deletions: str | None = None

    @property
    def live_count(self) -> int:
        """How many of its documents are live."""
        return len(self.live_segment.segment.numbers) - self.deleted_count

    @property
    def deleted_count(self) -> int:
        """How many are not."""
        return len(self.live_segment.deleted_docs)


class PostingsIndex(CommittedIndex[_PostingsSegment, PostingsSearcher, PostingsLayout]):
    """An inverted index in a directory. Any number of readers; one writer at a time."""

    FORMAT: ClassVar[int] = FORMAT

    @contextmanager
    def writer(self) -> Iterator["PostingsWriter"]:
        """The writer. Raises SearchIndexError where another one is at work."""
        with self.lock_writer():
            yield PostingsWriter(self)

    def _make_searcher(self) -> PostingsSearcher:
        return PostingsSearcher([p.live_segment for p in self._segments], self.layout.scale)

    def _open_segment(self, name: str, deletions: str | None) -> _PostingsSegment:
        try:
            segment = Segment.open(self.path / name)
            if deletions is None:
                return _PostingsSegment(name, LiveSegment(segment, *NO_DELETIONS))
            with np.load(self.path / deletions, allow_pickle=False) as file:
                return _PostingsSegment(name, LiveSegment(segment, file["deleted"], file["changed"]), deletions)
        except (ValueError, EOFError, BadZipFile):
            raise SearchIndexError(f"{self.path / name}: damaged; delete {self.path}, it will be rebuilt") from None


class PostingsWriter:
    """Collects changes and commits them at once."""

    def __init__(self, index: PostingsIndex) -> None:
        self._index = index
        self._builder = SegmentBuilder(index.layout.exact_lengths, index.layout.scale)
        self._new_segments: list[_PostingsSegment] = []
        self._deleted_docids: list[int] = []
        self._make_name = FileNamer(index)

    def delete(self, docids: Iterable[int]) -> None:
        """Deletes all documents of these numbers."""
        self._deleted_docids.extend(docids)

    def add(self, docid: int, phrasings: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Adds a question as (phrasing, terms), its own text being phrasing 0; replaces what it had before.

        Numbers must rise from call to call.
        """
        self._deleted_docids.append(docid)
        for phrasing, terms in phrasings:
            self._builder.add(docid, phrasing, terms)
        if self._builder.token_count >= TOKENS_PER_SEGMENT:
            self._flush()

    def commit(self, change: int) -> None:
        """Makes everything since the last commit visible at once, as the state of that change number."""
        gone = np.unique(np.array(self._deleted_docids, np.int64))
        parts = [
            p
            for p in (_delete_documents(self._index.path, p, gone, self._make_name()) for p in self._index._segments)
            if p.live_count
        ]
        self._flush()
        parts += self._new_segments
        while group := select_merge(parts, lambda part: len(part.live_segment.segment.code_tf), _select_mergeable):
            parts = [p for p in parts if p not in group] + self._merge(group)
        self._index.commit(change, parts)
        self._new_segments, self._deleted_docids = [], []

    def _flush(self) -> None:
        if len(self._builder):
            self._new_segments += self._save(self._builder.build())
            self._builder = SegmentBuilder(self._index.layout.exact_lengths, self._index.layout.scale)

    def _merge(self, group: Sequence[_PostingsSegment]) -> list[_PostingsSegment]:
        masks = [p.live_segment.live_mask if p.deleted_count else np.ones(p.live_count, np.bool_) for p in group]
        layout = self._index.layout
        segments = merge_segments([p.live_segment.segment for p in group], masks, layout.exact_lengths, layout.scale)
        return self._save(segments)

    def _save(self, segments: Sequence[Segment]) -> list[_PostingsSegment]:
        parts = []
        for segment in segments:
            name = self._make_name()
            segment.save(self._index.path / name)
            parts.append(self._index._open_segment(name, None))
        return parts


def _select_mergeable(tier: Sequence[_PostingsSegment], min_count: int) -> list[_PostingsSegment]:
    """As many of the parts as can be one segment, at least so many; none if there are not."""
    for size in range(len(tier), min_count - 1, -1):
        if can_merge([part.live_segment.segment for part in tier[:size]]):
            return list(tier[:size])
    return []


def _delete_documents(path: Path, segment_entry: _PostingsSegment, docids: Array, name: str) -> _PostingsSegment:
    """The part without the documents of these numbers; as it was where it holds none of them."""
    segment = segment_entry.live_segment.segment
    deleted = add_deletions(segment.numbers, segment_entry.live_segment.deleted_docs, docids)
    if len(deleted) == segment_entry.deleted_count:
        return segment_entry
    dead = np.zeros(len(segment.numbers), np.bool_)
    dead[deleted] = True
    changed = _sum_deleted_statistics(
        segment.starts, segment.docs, segment.codes, segment.code_tf, dead & (segment.phrasings == 0)
    )
    save_deletions(path / deletions_filename(name), deleted=deleted, changed=changed)
    return _PostingsSegment(segment_entry.name, LiveSegment(segment, deleted, changed), deletions_filename(name))


@njit(cache=True)
def _sum_deleted_statistics(starts: Array, docs: Array, codes: Array, code_tf: Array, deleted_mask: Array) -> Array:
    """(term, documents, occurrences) that the dead documents take from each term's statistics."""
    rows = np.zeros((len(starts) - 1, 3), np.int64)
    n = 0
    for v in range(len(starts) - 1):
        df = ttf = 0
        for i in range(starts[v], starts[v + 1]):
            if deleted_mask[docs[i]]:
                df += 1
                ttf += code_tf[codes[i]]
        if df:
            rows[n, 0], rows[n, 1], rows[n, 2] = v, df, ttf
            n += 1
    return rows[:n].copy()
