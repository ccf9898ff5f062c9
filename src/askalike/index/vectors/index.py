"""The index of vectors on disk; for the order of writes see commits.py.

A segment contains vectors by ascending docid, as memory-mapped arrays. Each row is stored independently of the others,
so that an incrementally updated index gives exactly the same results as one built from scratch.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from askalike.core.errors import SearchIndexError
from askalike.core.types import Vectors
from askalike.index.commits import CommittedIndex, CommittedSegment
from askalike.index.rows import Array, DocAttributes
from askalike.index.vectors.codes import build_codes
from askalike.index.vectors.merging import merge_segments
from askalike.index.vectors.parts import DensePart, PartSchema, SparsePart, Storage, StoredPart, nonzero_rows
from askalike.index.vectors.searcher import VectorSearcher
from askalike.index.vectors.segment import VectorSegment, write_segment
from askalike.index.writing import IndexWriter

WAITING_SHARE = 0.25
"""Maximum share of a build's memory for vectors waiting to be written; writing them takes the same amount again."""


@dataclass(frozen=True, slots=True)
class VectorLayout:
    """The settings that an index was built with.

    fingerprint: a digest of everything that determines the vectors. storage: the number type of dense parts.
    """

    fingerprint: str
    storage: Storage = "f16"


@dataclass(frozen=True, slots=True)
class PendingVectors:
    """Documents that are not committed yet: n rows by ascending docid."""

    docids: Array
    phrasings: Array
    vectors: Vectors


class VectorIndex(CommittedIndex[VectorSegment, VectorSearcher, VectorLayout]):
    """An index of vectors in a directory."""

    FORMAT: ClassVar[int] = 1

    @property
    def schemas(self) -> tuple[PartSchema, ...]:
        """The schemas of the vectors' parts; empty if the index is."""
        return _schemas_of(self.segments)

    def search_with(self, pending: "PendingVectors | None", gone: Sequence[int]) -> VectorSearcher:
        """Return a searcher of the committed documents plus pending ones, without some docids.

        gone: docids whose committed rows are ignored, such as those of `pending`.
        """
        docids = np.array(sorted(gone), np.int64)
        segments = self.segments  # read once: another thread may read a newer state in the meantime
        live, committed_schemas = [_without(segment.live, docids) for segment in segments], _schemas_of(segments)
        rows = _rows_to_store(pending.vectors) if pending else np.empty(0, np.int64)
        if pending is None or not len(rows):
            return VectorSearcher(live, committed_schemas)
        schemas = tuple(PartSchema.from_part(part) for part in pending.vectors.parts)
        stored = _store_rows(pending.vectors, rows, self.layout.storage)
        docids, phrasings, nothing = pending.docids[rows], pending.phrasings[rows], np.empty(0, np.int32)
        segment = VectorSegment(docids, phrasings, nothing, self.path / "pending", schemas, stored)
        return VectorSearcher([*live, segment], committed_schemas or schemas)

    @contextmanager
    def writer(self, change: int | None = None) -> Iterator["VectorWriter"]:
        """Hold the writer's lock and yield the writer. Raises SearchIndexError if another writer is active.

        change: the archive's change number after the update; a local index needs it only in `commit`.
        """
        with self.lock_writer():
            yield VectorWriter(self)

    def _make_searcher(self, segments: Sequence[CommittedSegment[VectorSegment]]) -> VectorSearcher:
        for segment in segments:
            segment.live.look_for_codes()
        return VectorSearcher([segment.live for segment in segments], _schemas_of(segments))

    def _load_segment(self, folder: Path, deletions: Mapping[str, Array]) -> VectorSegment:
        return VectorSegment.open(folder, deletions["deleted"] if deletions else np.empty(0, np.int32))


class VectorWriter(IndexWriter[VectorSegment]):
    """Adds documents as vectors."""

    def __init__(self, index: VectorIndex) -> None:
        super().__init__(index)
        self._layout = index.layout
        self._schemas = index.schemas
        self._max_bytes = index.memory_bytes
        self._added: list[tuple[Array, Array, tuple[StoredPart, ...]]] = []
        self._added_bytes = 0

    def add(self, docids: Array, phrasings: Array, vectors: Vectors, attributes: Sequence[DocAttributes] = ()) -> None:
        """Add one row per (docid, phrasing); they replace the committed rows of the docids.

        Docids must ascend, also between calls, and a docid's phrasings must be adjacent. Rows that are zero in every
        part are left out. Raises SearchIndexError if the parts differ from those of earlier rows. attributes: not
        stored, as the archive itself applies filters.
        """
        docids, phrasings = np.asarray(docids, np.int64), np.asarray(phrasings, np.uint16)
        self.delete(docids.tolist())
        rows = _rows_to_store(vectors)
        if not len(rows):
            return
        schemas = tuple(PartSchema.from_part(part) for part in vectors.parts)
        if self._schemas and schemas != self._schemas:
            raise SearchIndexError(f"{self._index.path}: vectors of {schemas} do not match those of {self._schemas}")
        self._schemas = schemas
        parts = _store_rows(vectors, rows, self._layout.storage)
        self._added.append((docids[rows], phrasings[rows], parts))
        self._added_bytes += sum(array.nbytes for part in parts for array in part.arrays().values())
        if self._added_bytes >= self._max_bytes * WAITING_SHARE:
            self._flush()

    def _write_added(self) -> Sequence[str]:
        batches, self._added, self._added_bytes = self._added, [], 0
        return self._write(batches) if batches else ()

    def _write_merged(self, segments: Sequence[VectorSegment]) -> Sequence[str]:
        name = self._new_name()
        merge_segments(self._index.path / name, segments, self._schemas)
        return [name]

    def _can_merge(self, segments: Sequence[VectorSegment]) -> bool:
        """Dense rows are merged a few at a time; sparse rows have to fit into memory."""
        sparse = [part for segment in segments for part in segment.parts if isinstance(part, SparsePart)]
        return 2 * sum(array.nbytes for part in sparse for array in part.arrays().values()) <= self._max_bytes

    def _finish(self, segment: VectorSegment) -> None:
        build_codes(segment.folder, segment.schemas, segment.parts)

    def _write(self, batches: Sequence[tuple[Array, Array, tuple[StoredPart, ...]]]) -> Sequence[str]:
        """Write rows, given as (docids, phrasings, parts), as one segment by ascending docid; return its name."""
        docids, phrasings = (np.concatenate([batch[i] for batch in batches]) for i in range(2))
        columns = zip(*(parts for _, _, parts in batches), strict=True)
        parts: list[StoredPart] = [type(column[0]).concatenate(column) for column in columns]
        if np.any(docids[1:] < docids[:-1]):
            order = np.argsort(docids, kind="stable")
            docids, phrasings, parts = docids[order], phrasings[order], [part.take(order) for part in parts]
        name = self._new_name()
        write_segment(self._index.path / name, docids, phrasings, self._schemas, parts)
        return [name]


def _rows_to_store(vectors: Vectors) -> Array:
    """Return the rows that are not zero in every part; rows of zeros are similar to nothing."""
    return np.flatnonzero(np.any([nonzero_rows(part) for part in vectors.parts], axis=0))


def _store_rows(vectors: Vectors, rows: Array, storage: Storage) -> tuple[StoredPart, ...]:
    """Return some rows of vectors in the form in which a segment stores them."""
    parts = ((SparsePart if part.is_sparse else DensePart).from_part(part, storage) for part in vectors.parts)
    return tuple(part.take(rows) for part in parts)


def _schemas_of(segments: Sequence[CommittedSegment[VectorSegment]]) -> tuple[PartSchema, ...]:
    """Return the schemas of the vectors' parts; empty without segments."""
    return segments[0].live.schemas if segments else ()


def _without(segment: VectorSegment, docids: Array) -> VectorSegment:
    """Return the segment without the rows of these docids."""
    rows = np.flatnonzero(np.isin(segment.docids, docids))
    return segment.with_deleted(np.union1d(segment.deleted, rows).astype(np.int32)) if len(rows) else segment
