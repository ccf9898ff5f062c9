"""The index of vectors, in a directory or in memory; for the order of writes see commits.py.

A segment contains vectors by ascending docid, memory-mapped if there are files. Each row is stored independently of
the others, so that an incrementally updated index gives exactly the same results as one built from scratch.

Segments are merged in chunks of rows: an archive's vectors need not fit into memory. Mapped files count as a process's
memory, too, although the system can take them back. So each chunk's are released.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Array, Vectors
from askalike.core.errors import SearchIndexError
from askalike.core.filters import AllowedDocs
from askalike.core.hits import TopDocs
from askalike.index.commits import CommittedIndex, CommittedSegment, CommittedState
from askalike.index.files import create_arrays, release_pages
from askalike.index.rows import NO_ATTRIBUTES, DocAttributes, TitleRows, find_distinct
from askalike.index.vectors.codes import build_codes
from askalike.index.vectors.parts import DensePart, PartSchema, SparsePart, Storage, StoredPart, nonzero_rows
from askalike.index.vectors.searcher import (
    VectorQueries,
    VectorSearcher,
    VectorSegment,
    part_array,
    title_arrays,
    write_schemas,
)
from askalike.index.writing import IndexWriter

CHUNK_ROWS = 1 << 16
"""Rows copied at a time: 50 MB of 256 numbers."""
Rows = tuple[Array, Array, Array, tuple[StoredPart, ...]]
"""Docids, phrasings, the keys of titles (0 for none), and the parts of some rows."""
WAITING_SHARE = 0.25
"""Maximum share of a build's memory for vectors waiting to be written; writing them takes the same amount again."""


class RowOrigins(NamedTuple):
    """The source of each of n merged rows."""

    segments: NDArray[np.uint16]
    """(n): the index of its segment."""
    rows: NDArray[np.int64]
    """(n): its row in that segment."""


def merge_segments(folder: Path, segments: Sequence[VectorSegment], schemas: Sequence[PartSchema]) -> None:
    """Write the live rows of several segments into a new directory as one, by ascending docid."""
    live = [np.flatnonzero(segment.live_mask) for segment in segments]
    docids = np.concatenate([segment.docids[rows] for segment, rows in zip(segments, live, strict=True)])
    order = np.argsort(docids, kind="stable")
    places = np.repeat(np.arange(len(live), dtype=np.uint16), list(map(len, live)))
    origins = RowOrigins(places[order], np.concatenate(live)[order])
    columns = {"docids": [segment.docids for segment in segments], "phrasings": [s.phrasings for s in segments]}
    keys = [s.titles.by_row(len(s.docids))[rows] for s, rows in zip(segments, live, strict=True)]
    whole = dict(title_arrays(TitleRows.of_keys(np.concatenate(keys)[order])))
    for at, schema in enumerate(schemas):
        parts = [segment.parts[at] for segment in segments]
        if schema.sparse:
            whole |= {part_array(at, name): array for name, array in _merge_sparse(parts, live, order).items()}
            continue
        arrays = [part.arrays() for part in parts]
        columns |= {part_array(at, name): [own[name] for own in arrays] for name in arrays[0]}
    folder.mkdir()
    write_schemas(folder, schemas)
    kinds = {name: _merged_kind(own, len(docids)) for name, own in columns.items()}
    merged = create_arrays(folder, kinds | {name: (array.dtype, array.shape) for name, array in whole.items()})
    for name, array in whole.items():
        merged[name][...] = array
    for name, own in columns.items():
        _merge_columns(merged[name], own, origins)


def _merged_kind(columns: Sequence[Array], rows: int) -> "tuple[np.dtype[Any], tuple[int, ...]]":
    """Return the type and the shape of one array of all merged rows; empty arrays remain empty."""
    return columns[0].dtype, (rows if any(map(len, columns)) else 0, *columns[0].shape[1:])


def _merge_columns(merged: Array, columns: Sequence[Array], origins: RowOrigins) -> None:
    """Fill one array of all merged rows. columns: the array of each segment."""
    for start in range(0, len(merged), CHUNK_ROWS):
        segments, rows = (column[start : start + CHUNK_ROWS] for column in origins)
        for place in find_distinct(segments):
            chosen = segments == place
            merged[start : start + CHUNK_ROWS][chosen] = columns[place][rows[chosen]]
        release_pages([merged, *columns])


def _merge_sparse(parts: Sequence[StoredPart], live: Sequence[Array], order: NDArray[np.intp]) -> Mapping[str, Array]:
    chosen = [part.take(rows) for part, rows in zip(parts, live, strict=True)]
    return SparsePart.concatenate([part for part in chosen if isinstance(part, SparsePart)]).take(order).arrays()


@dataclass(frozen=True, slots=True)
class VectorLayout:
    """The settings that an index was built with.

    fingerprint: a digest of everything that determines the vectors. storage: the number type of dense parts.
    field_weights: the usual weights of the fields whose vectors are side by side in a row; empty for one.
    """

    fingerprint: str = ""
    storage: Storage = "f16"
    field_weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingVectors:
    """Documents that are not committed yet: n rows by ascending docid. title_keys: uint64 (n), 0 for none."""

    docids: Array
    phrasings: Array
    vectors: Vectors
    title_keys: Array


class VectorIndex(CommittedIndex[VectorSegment, VectorSearcher, VectorLayout, "VectorWriter"]):
    """An index of vectors: numbers (docids) with one vector for each phrasing. It knows neither texts nor an archive.

    >>> import numpy as np
    >>> from askalike.core.arrays import VectorPart, Vectors
    >>> index = VectorIndex.create()
    >>> index.add([7, 8], Vectors((VectorPart(np.eye(2, dtype=np.float32)),)))
    >>> [top] = index.search(Vectors((VectorPart(np.array([[0.6, 0.8]], np.float32)),)))
    >>> top.docids.tolist()
    [8, 7]
    """

    FORMAT: ClassVar[int] = 3
    LAYOUT = VectorLayout

    def add(self, docids: Sequence[int], vectors: Vectors) -> None:
        """Add one vector for each docid, ascending, in one commit; they replace earlier ones of the same docid.

        Raises SearchIndexError if the vectors' parts differ from those of earlier ones.
        """
        with self.write_lock(), self.writer() as writer:
            writer.add(np.array(docids, np.int64), np.zeros(len(docids), np.uint16), vectors)
            writer.commit(self.change + 1)

    def search(self, vectors: Vectors, k: int = 10, allowed: AllowedDocs | None = None) -> list[TopDocs]:
        """Return the k best documents of each query, a row of `vectors`: best first, ties by docid.

        A query of zeros finds nothing. allowed: the documents that may be found; None for all.
        """
        return self.searcher.search(VectorQueries(vectors, [None] * len(vectors)), k, allowed)

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
        live = [_without(segment.live, docids) for segment in segments]
        committed_schemas = _schemas_of(segments)
        rows = _rows_to_store(pending.vectors) if pending else np.empty(0, np.int64)
        if pending is None or not len(rows):
            return VectorSearcher(live, committed_schemas)
        schemas = tuple(PartSchema.from_part(part) for part in pending.vectors.parts)
        stored = _store_rows(pending.vectors, rows, self.layout.storage)
        docids = pending.docids[rows]
        phrasings = pending.phrasings[rows]
        nothing = np.empty(0, np.int32)
        titles = TitleRows.of_keys(pending.title_keys[rows])
        segment = VectorSegment(docids, phrasings, nothing, titles, None, schemas, stored)
        return VectorSearcher([*live, segment], committed_schemas or schemas)

    def _make_writer(self) -> "VectorWriter":
        return VectorWriter(self)

    def _read_state(self, stamp: tuple[int, int]) -> CommittedState[VectorSegment, VectorSearcher]:
        """See CommittedIndex; another process may have added codes to a segment that is open already."""
        state = super()._read_state(stamp)
        segments = [CommittedSegment(s.name, s.live.with_codes(), s.deletions) for s in state.segments]
        return replace(state, segments=segments)

    def _make_searcher(self, segments: Sequence[CommittedSegment[VectorSegment]]) -> VectorSearcher:
        return VectorSearcher([segment.live for segment in segments], _schemas_of(segments))

    def _load_segment(self, folder: Path) -> VectorSegment:
        return VectorSegment.open(folder)


class VectorWriter(IndexWriter[VectorSegment]):
    """Adds documents as vectors."""

    def __init__(self, index: VectorIndex) -> None:
        super().__init__(index)
        self._layout = index.layout
        self._schemas = index.schemas
        self._max_bytes = index.memory_bytes
        self._added: list[Rows] = []
        self._added_bytes = 0

    def add(self, docids: Array, phrasings: Array, vectors: Vectors, attributes: Sequence[DocAttributes] = ()) -> None:
        """Add one row per (docid, phrasing); they replace the committed rows of the docids.

        Docids must ascend, also between calls, and a docid's phrasings must be adjacent. Rows that are zero in every
        part are left out. Raises SearchIndexError if the parts differ from those of earlier rows. attributes: of
        these only the keys of titles are stored, as the archive itself applies filters.
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
        own = zip(attributes or [NO_ATTRIBUTES] * len(docids), phrasings.tolist(), strict=True)
        keys = np.array([attributes.title_key(phrasing) for attributes, phrasing in own], np.uint64)
        self._added.append((docids[rows], phrasings[rows], keys[rows], parts))
        self._added_bytes += sum(array.nbytes for part in parts for array in part.arrays().values())
        if self._added_bytes >= self._max_bytes * WAITING_SHARE:
            self._flush()

    def _build_added(self) -> Sequence[VectorSegment]:
        batches, self._added, self._added_bytes = self._added, [], 0
        return [self._join(batches)] if batches else ()

    def _merge(self, segments: Sequence[VectorSegment]) -> Sequence[CommittedSegment[VectorSegment]]:
        if self._index.path is None:
            live = [(segment, np.flatnonzero(segment.live_mask)) for segment in segments]
            rows = [
                (s.docids[at], s.phrasings[at], s.titles.by_row(len(s.docids))[at], tuple(p.take(at) for p in s.parts))
                for s, at in live
            ]
            return self._store([self._join(rows)])
        name = self._new_name()
        merge_segments(self._index.path / name, segments, self._schemas)
        return [self._index.open_segment(name)]

    def _can_merge(self, segments: Sequence[VectorSegment]) -> bool:
        """Dense rows are merged a few at a time; sparse rows have to fit into memory."""
        sparse = [part for segment in segments for part in segment.parts if isinstance(part, SparsePart)]
        return 2 * sum(array.nbytes for part in sparse for array in part.arrays().values()) <= self._max_bytes

    def _complete(self, segment: VectorSegment) -> VectorSegment:
        if segment.folder and not segment.codes:
            build_codes(segment.folder, segment.schemas, segment.parts, self._layout.field_weights)
        return segment.with_codes()

    def _join(self, batches: Sequence[Rows]) -> VectorSegment:
        """Return rows as one segment by ascending docid."""
        docids, phrasings, keys = (np.concatenate([batch[i] for batch in batches]) for i in range(3))
        columns = zip(*(parts for *_, parts in batches), strict=True)
        parts: list[StoredPart] = [type(column[0]).concatenate(column) for column in columns]
        if np.any(docids[1:] < docids[:-1]):
            order = np.argsort(docids, kind="stable")
            docids, phrasings, keys = docids[order], phrasings[order], keys[order]
            parts = [part.take(order) for part in parts]
        nothing = np.empty(0, np.int32)
        titles = TitleRows.of_keys(keys)
        return VectorSegment(docids, phrasings, nothing, titles, None, self._schemas, tuple(parts))


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
