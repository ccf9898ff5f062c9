"""Vectors of documents on disk: see commits.py for what is written when. Search is exact, see vector_search.py.

A segment holds vectors by rising number, as arrays that are mapped into memory. Each row is stored for itself, so that
an index changed step by step answers exactly as one built afresh.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar
from zipfile import BadZipFile

import numpy as np

from askalike.errors import SearchIndexError
from askalike.index.commits import (
    CommittedIndex,
    FileNamer,
    add_deletions,
    deletions_filename,
    save_deletions,
    select_merge,
)
from askalike.index.lexical.segment import Array
from askalike.index.vectors import graph
from askalike.index.vectors.searcher import LiveVectorSegment, VectorSearcher
from askalike.index.vectors.stored import DensePart, PartSchema, SparsePart, Storage, StoredPart, nonzero_rows
from askalike.types import Vectors

FORMAT = 1
BYTES_PER_SEGMENT = 1 << 29  # a build holds at most so many in memory
SCHEMA_FILE = "parts.json"


@dataclass(frozen=True, slots=True)
class VectorLayout:
    """What an index was built for. fingerprint: of all that decides about vectors. storage: of dense parts.

    exact_up_to: a segment with more rows than this is searched through a graph (HNSW).
    """

    fingerprint: str
    storage: Storage = "f16"
    exact_up_to: int = 500_000


@dataclass(frozen=True)
class _VectorSegment:
    """A segment as the manifest names it."""

    name: str
    path: Path
    schemas: tuple[PartSchema, ...]
    docids: Array
    """int64 (n): the number of the question (or answer) that each row belongs to."""
    phrasings: Array
    """uint16 (n): 0 for the question's own text, m for its m-th rephrasing."""
    parts: tuple[StoredPart, ...]
    deleted_rows: Array
    deletions: str | None = None

    @property
    def live_count(self) -> int:
        """How many of its rows are live."""
        return len(self.docids) - len(self.deleted_rows)

    @property
    def deleted_count(self) -> int:
        """How many are not."""
        return len(self.deleted_rows)

    @cached_property
    def live_segment(self) -> LiveVectorSegment:
        """What is searched."""
        live = np.ones(len(self.docids), np.bool_)
        live[self.deleted_rows] = False
        graphs = tuple(graph.open_graph(self.path, at, kind) for at, kind in enumerate(self.schemas))
        return LiveVectorSegment(
            self.docids, self.phrasings, self.parts, tuple(k.weight for k in self.schemas), live, graphs
        )


class VectorIndex(CommittedIndex[_VectorSegment, VectorSearcher, VectorLayout]):
    """An index of vectors in a directory. Any number of readers; one writer at a time."""

    FORMAT: ClassVar[int] = FORMAT

    @contextmanager
    def writer(self) -> Iterator["VectorWriter"]:
        """The writer. Raises SearchIndexError where another one is at work."""
        with self.lock_writer():
            yield VectorWriter(self)

    def _make_searcher(self) -> VectorSearcher:
        return VectorSearcher(
            [p.live_segment for p in self._segments], self._segments[0].schemas if self._segments else ()
        )

    def _open_segment(self, name: str, deletions: str | None) -> _VectorSegment:
        folder = self.path / name
        try:
            kinds = tuple(PartSchema(**k) for k in json.loads((folder / SCHEMA_FILE).read_text(encoding="utf-8")))
            stored = tuple(_load_part(folder, at, kind) for at, kind in enumerate(kinds))
            deleted = np.empty(0, np.int32)
            if deletions is not None:
                with np.load(self.path / deletions, allow_pickle=False) as file:
                    deleted = file["deleted"]
            numbers, phrasings = (_map_array(folder / f"{n}.npy") for n in ("numbers", "phrasings"))
            return _VectorSegment(name, folder, kinds, numbers, phrasings, stored, deleted, deletions)
        except (ValueError, TypeError, EOFError, BadZipFile):
            raise SearchIndexError(f"{folder}: damaged; delete {self.path}, it will be rebuilt") from None


class VectorWriter:
    """Collects changes and commits them at once."""

    def __init__(self, index: VectorIndex) -> None:
        self._index = index
        self._make_name = FileNamer(index)
        self._deleted_docids: list[Array] = []
        self._buffer: list[tuple[Array, Array, tuple[StoredPart, ...]]] = []
        self._schemas: tuple[PartSchema, ...] = index._segments[0].schemas if index._segments else ()
        self._buffer_bytes = 0
        self._new_segments: list[_VectorSegment] = []

    def delete(self, docids: Iterable[int]) -> None:
        """Deletes all rows of these numbers."""
        self._deleted_docids.append(np.fromiter(docids, np.int64))

    def add(self, docids: Array, phrasings: Array, vectors: Vectors) -> None:
        """Adds one row for each (number, phrasing), replacing what the numbers had before the last commit.

        Numbers must rise, from call to call too; a number's phrasings come together. Rows without anything in any part
        are left out: they are like nothing. Raises SearchIndexError where the parts are not those of earlier rows.
        """
        docids, phrasings = np.asarray(docids, np.int64), np.asarray(phrasings, np.uint16)
        self._deleted_docids.append(docids)
        kept = np.flatnonzero(np.any([nonzero_rows(part) for part in vectors.parts], axis=0))
        if not len(kept):
            return
        kinds = tuple(PartSchema.from_part(part) for part in vectors.parts)
        if self._schemas and kinds != self._schemas:
            raise SearchIndexError(f"{self._index.path}: vectors of {kinds} do not go with those of {self._schemas}")
        self._schemas = kinds
        stored = tuple((SparsePart if k.sparse else DensePart).from_part(p, self._index.layout.storage).take(kept)
                       for k, p in zip(kinds, vectors.parts, strict=True))  # fmt: skip
        self._buffer.append((docids[kept], phrasings[kept], stored))
        self._buffer_bytes += sum(a.nbytes for s in stored for a in s.arrays().values())
        if self._buffer_bytes >= BYTES_PER_SEGMENT:
            self._flush()

    def commit(self, change: int) -> None:
        """Makes everything since the last commit visible at once, as the state of that change number."""
        gone = np.unique(np.concatenate([np.empty(0, np.int64), *self._deleted_docids]))
        parts = [p for p in (self._delete_documents(part, gone) for part in self._index._segments) if p.live_count]
        self._flush()
        parts += self._new_segments
        while group := select_merge(parts, lambda part: part.live_count, _select_mergeable):
            parts = [p for p in parts if p not in group] + [self._merge(group)]
        for part in parts:
            graph.build_missing_graphs(part.path, part.schemas, part.parts, self._index.layout.exact_up_to)
        self._index.commit(change, parts)
        self._new_segments, self._deleted_docids = [], []

    def _flush(self) -> None:
        if self._buffer:
            numbers, phrasings, stored = zip(*self._buffer, strict=True)
            joined = [type(rows[0]).concatenate(rows) for rows in zip(*stored, strict=True)]
            self._new_segments.append(self._save(np.concatenate(numbers), np.concatenate(phrasings), joined))
            self._buffer, self._buffer_bytes = [], 0

    def _merge(self, group: Sequence[_VectorSegment]) -> _VectorSegment:
        kept = [np.flatnonzero(part.live_segment.live_mask) for part in group]
        numbers = np.concatenate([p.docids[k] for p, k in zip(group, kept, strict=True)])
        phrasings = np.concatenate([p.phrasings[k] for p, k in zip(group, kept, strict=True)])
        order = np.argsort(numbers, kind="stable")
        rows = [[s.take(k) for s in p.parts] for p, k in zip(group, kept, strict=True)]
        joined = [type(column[0]).concatenate(column).take(order) for column in zip(*rows, strict=True)]
        return self._save(numbers[order], phrasings[order], joined)

    def _save(self, docids: Array, phrasings: Array, parts: Sequence[StoredPart]) -> _VectorSegment:
        name = self._make_name()
        folder = self._index.path / name
        folder.mkdir(parents=True)
        for file, array in {"numbers": docids, "phrasings": phrasings}.items():
            np.save(folder / f"{file}.npy", array, allow_pickle=False)
        for at, part in enumerate(parts):
            for file, array in part.arrays().items():
                np.save(folder / f"{at}.{file}.npy", array, allow_pickle=False)
        (folder / SCHEMA_FILE).write_text(json.dumps([asdict(kind) for kind in self._schemas]), encoding="utf-8")
        return self._index._open_segment(name, None)

    def _delete_documents(self, segment: _VectorSegment, docids: Array) -> _VectorSegment:
        """The part without the rows of these numbers; as it was where it holds none of them."""
        deleted = add_deletions(segment.docids, segment.deleted_rows, docids)
        if len(deleted) == segment.deleted_count:
            return segment
        file = deletions_filename(self._make_name())
        save_deletions(self._index.path / file, deleted=deleted)
        return _VectorSegment(
            segment.name, segment.path, segment.schemas, segment.docids, segment.phrasings, segment.parts, deleted, file
        )


def _select_mergeable(tier: Sequence[_VectorSegment], min_count: int) -> list[_VectorSegment]:
    return list(tier) if len(tier) >= min_count else []


def _load_part(folder: Path, part_index: int, schema: PartSchema) -> StoredPart:
    arrays = {f.name.split(".")[1]: _map_array(f) for f in folder.glob(f"{part_index}.*.npy")}
    if not arrays:
        raise FileNotFoundError(folder)
    try:
        return (
            SparsePart.from_arrays(schema.metric, arrays)
            if schema.sparse
            else DensePart.from_arrays(schema.metric, arrays)
        )
    except KeyError as missing:
        raise FileNotFoundError(folder / f"{part_index}.{missing}.npy") from None


def _map_array(path: Path) -> Array:
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
