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
from askalike.index.build import SegmentBuilder, fit_together, merged
from askalike.index.commits import (
    MANIFEST,
    CommittedIndex,
    Names,
    deletions_file,
    save_deletions,
    to_merge,
    without,
)
from askalike.index.search import LiveSegment, Searcher
from askalike.index.segment import Array, Segment

__all__ = ["FORMAT", "MANIFEST", "NONE", "IndexWriter", "Layout", "PostingsIndex"]

FORMAT = 2
TOKENS_PER_SEGMENT = 1 << 26  # a build holds at most so many tokens in memory (256 MiB)
NONE = np.empty(0, np.int32), np.empty((0, 3), np.int64)


@dataclass(frozen=True, slots=True)
class Layout:
    """What an index was built for. fingerprint: of all that decides about terms. scale: see Segment."""

    fingerprint: str
    exact_lengths: bool = False
    scale: int = 1


@dataclass(slots=True)
class _Part:
    """A segment as the manifest names it."""

    name: str
    live: LiveSegment
    deletions: str | None = None

    @property
    def size(self) -> int:
        """How many of its documents are live."""
        return len(self.live.segment.numbers) - self.dead

    @property
    def dead(self) -> int:
        """How many are not."""
        return len(self.live.deleted)


class PostingsIndex(CommittedIndex[_Part, Searcher, Layout]):
    """An inverted index in a directory. Any number of readers; one writer at a time."""

    FORMAT: ClassVar[int] = FORMAT

    @contextmanager
    def writing(self) -> Iterator["IndexWriter"]:
        """The writer. Raises SearchIndexError where another one is at work."""
        with self.locked():
            yield IndexWriter(self)

    def _searching(self) -> Searcher:
        return Searcher([p.live for p in self._parts], self.layout.scale)

    def _opened(self, name: str, deletions: str | None) -> _Part:
        try:
            segment = Segment.open(self.path / name)
            if deletions is None:
                return _Part(name, LiveSegment(segment, *NONE))
            with np.load(self.path / deletions, allow_pickle=False) as file:
                return _Part(name, LiveSegment(segment, file["deleted"], file["changed"]), deletions)
        except (ValueError, EOFError, BadZipFile):
            raise SearchIndexError(f"{self.path / name}: damaged; delete {self.path}, it will be rebuilt") from None


class IndexWriter:
    """Collects changes and commits them at once."""

    def __init__(self, index: PostingsIndex) -> None:
        self._index = index
        self._builder = SegmentBuilder(index.layout.exact_lengths, index.layout.scale)
        self._built: list[_Part] = []
        self._gone: list[int] = []
        self._name = Names(index)

    def delete(self, numbers: Iterable[int]) -> None:
        """Deletes all documents of these numbers."""
        self._gone.extend(numbers)

    def add(self, number: int, phrasings: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Adds a question as (phrasing, terms), its own text being phrasing 0; replaces what it had before.

        Numbers must rise from call to call.
        """
        self._gone.append(number)
        for phrasing, terms in phrasings:
            self._builder.add(number, phrasing, terms)
        if self._builder.tokens >= TOKENS_PER_SEGMENT:
            self._flush()

    def commit(self, change: int) -> None:
        """Makes everything since the last commit visible at once, as the state of that change number."""
        gone = np.unique(np.array(self._gone, np.int64))
        parts = [p for p in (_without(self._index.path, p, gone, self._name()) for p in self._index._parts) if p.size]
        self._flush()
        parts += self._built
        while group := to_merge(parts, lambda part: len(part.live.segment.code_tf), _fitting):
            parts = [p for p in parts if p not in group] + self._merge(group)
        self._index.commit(change, parts)
        self._built, self._gone = [], []

    def _flush(self) -> None:
        if len(self._builder):
            self._built += self._save(self._builder.segments())
            self._builder = SegmentBuilder(self._index.layout.exact_lengths, self._index.layout.scale)

    def _merge(self, group: Sequence[_Part]) -> list[_Part]:
        masks = [p.live.live if p.dead else np.ones(p.size, np.bool_) for p in group]
        layout = self._index.layout
        segments = merged([p.live.segment for p in group], masks, layout.exact_lengths, layout.scale)
        return self._save(segments)

    def _save(self, segments: Sequence[Segment]) -> list[_Part]:
        parts = []
        for segment in segments:
            name = self._name()
            segment.save(self._index.path / name)
            parts.append(self._index._opened(name, None))
        return parts


def _fitting(tier: Sequence[_Part], least: int) -> list[_Part]:
    """As many of the parts as can be one segment, at least so many; none if there are not."""
    for size in range(len(tier), least - 1, -1):
        if fit_together([part.live.segment for part in tier[:size]]):
            return list(tier[:size])
    return []


def _without(path: Path, part: _Part, gone: Array, name: str) -> _Part:
    """The part without the documents of these numbers; as it was where it holds none of them."""
    segment = part.live.segment
    deleted = without(segment.numbers, part.live.deleted, gone)
    if len(deleted) == part.dead:
        return part
    dead = np.zeros(len(segment.numbers), np.bool_)
    dead[deleted] = True
    changed = _lost(segment.starts, segment.docs, segment.codes, segment.code_tf, dead & (segment.phrasings == 0))
    save_deletions(path / deletions_file(name), deleted=deleted, changed=changed)
    return _Part(part.name, LiveSegment(segment, deleted, changed), deletions_file(name))


@njit(cache=True)
def _lost(starts: Array, docs: Array, codes: Array, code_tf: Array, dead: Array) -> Array:
    """(term, documents, occurrences) that the dead documents take from each term's statistics."""
    rows = np.zeros((len(starts) - 1, 3), np.int64)
    n = 0
    for v in range(len(starts) - 1):
        df = ttf = 0
        for i in range(starts[v], starts[v + 1]):
            if dead[docs[i]]:
                df += 1
                ttf += code_tf[codes[i]]
        if df:
            rows[n, 0], rows[n, 1], rows[n, 2] = v, df, ttf
            n += 1
    return rows[:n].copy()
