"""The inverted index on disk; for the order of writes see commits.py.

Statistics are sums over the live documents of all segments, so that an incrementally updated index gives exactly the
same scores as one built from scratch.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from askalike.index.commits import CommittedIndex, CommittedSegment
from askalike.index.lexical.builder import SegmentBuilder, can_merge, merge_segments
from askalike.index.lexical.searcher import PostingsSearcher
from askalike.index.lexical.segment import LiveSegment, Segment
from askalike.index.rows import Array, DocAttributes
from askalike.index.writing import IndexWriter

BYTES_PER_TOKEN, BYTES_PER_MERGED_POSTING = 40, 64
"""Maximum bytes in memory per token when building a segment, and per posting when merging."""


@dataclass(frozen=True, slots=True)
class LexicalLayout:
    """The settings that an index was built with. fingerprint: a digest of what determines terms. scale: see Segment."""

    fingerprint: str
    exact_lengths: bool = False
    scale: int = 1


class LexicalIndex(CommittedIndex[LiveSegment, PostingsSearcher, LexicalLayout]):
    """An inverted index in a directory."""

    FORMAT: ClassVar[int] = 2

    @contextmanager
    def writer(self, change: int | None = None) -> Iterator["LexicalWriter"]:
        """Hold the writer's lock and yield the writer. Raises SearchIndexError if another writer is active.

        change: the archive's change number after the update; a local index needs it only in `commit`.
        """
        with self.lock_writer():
            yield LexicalWriter(self)

    def _make_searcher(self, segments: Sequence[CommittedSegment[LiveSegment]]) -> PostingsSearcher:
        return PostingsSearcher([segment.live for segment in segments], self.layout.scale)

    def _load_segment(self, folder: Path, deletions: Mapping[str, Array]) -> LiveSegment:
        segment = Segment.open(folder)
        if not deletions:
            return LiveSegment.from_segment(segment)
        return LiveSegment.from_segment(segment, deletions["deleted"], deletions["changed"])


class LexicalWriter(IndexWriter[LiveSegment]):
    """Adds questions (or answers) as lists of terms."""

    def __init__(self, index: LexicalIndex) -> None:
        super().__init__(index)
        self._layout = index.layout
        self._memory_bytes = index.memory_bytes
        self._builder = self._make_builder()

    def add(
        self, docid: int, phrasings: Sequence[tuple[int, Sequence[str]]], attributes: DocAttributes | None = None
    ) -> None:
        """Add a question as (phrasing, terms), its own text being phrasing 0; it replaces the docid's earlier document.

        Docids must ascend from call to call. attributes: not stored, as the archive itself applies filters.
        """
        self.delete((docid,))
        for phrasing, terms in phrasings:
            self._builder.add(docid, phrasing, terms)
        if self._builder.token_count * BYTES_PER_TOKEN >= self._memory_bytes:
            self._flush()

    def _write_added(self) -> Sequence[str]:
        builder, self._builder = self._builder, self._make_builder()
        return self._save(builder.build()) if len(builder) else ()

    def _write_merged(self, segments: Sequence[LiveSegment]) -> Sequence[str]:
        masks, layout = [live.live_mask for live in segments], self._layout
        parts = [live.segment for live in segments]
        return self._save(merge_segments(parts, masks, layout.exact_lengths, layout.scale))

    def _merge_key(self, segment: LiveSegment) -> int:
        return len(segment.segment.code_tf)

    def _can_merge(self, segments: Sequence[LiveSegment]) -> bool:
        postings = sum(len(live.segment.codes) for live in segments)
        fits = postings * BYTES_PER_MERGED_POSTING <= self._memory_bytes
        return fits and can_merge([live.segment for live in segments])

    def _make_builder(self) -> SegmentBuilder:
        return SegmentBuilder(self._layout.exact_lengths, self._layout.scale)

    def _save(self, segments: Sequence[Segment]) -> list[str]:
        names = []
        for segment in segments:
            names.append(self._new_name())
            segment.save(self._index.path / names[-1])
        return names
