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
from askalike.index import hnsw
from askalike.index.commits import (
    CommittedIndex,
    Names,
    deletions_file,
    save_deletions,
    to_merge,
    without,
)
from askalike.index.segment import Array
from askalike.index.stored import Dense, Kind, Sparse, Storage, Stored, filled
from askalike.index.vector_search import Rows, VectorSearcher
from askalike.types import Vectors

FORMAT = 1
BYTES_PER_SEGMENT = 1 << 29  # a build holds at most so many in memory
KINDS = "parts.json"


@dataclass(frozen=True, slots=True)
class VectorLayout:
    """What an index was built for. fingerprint: of all that decides about vectors. storage: of dense parts.

    exact_up_to: a segment with more rows than this is searched through a graph (HNSW).
    """

    fingerprint: str
    storage: Storage = "f16"
    exact_up_to: int = 500_000


@dataclass(frozen=True)
class _Part:
    """A segment as the manifest names it."""

    name: str
    path: Path
    kinds: tuple[Kind, ...]
    numbers: Array
    """int64 (n): the number of the question (or answer) that each row belongs to."""
    phrasings: Array
    """uint16 (n): 0 for the question's own text, m for its m-th rephrasing."""
    stored: tuple[Stored, ...]
    deleted: Array
    deletions: str | None = None

    @property
    def size(self) -> int:
        """How many of its rows are live."""
        return len(self.numbers) - len(self.deleted)

    @property
    def dead(self) -> int:
        """How many are not."""
        return len(self.deleted)

    @cached_property
    def rows(self) -> Rows:
        """What is searched."""
        live = np.ones(len(self.numbers), np.bool_)
        live[self.deleted] = False
        graphs = tuple(hnsw.opened(self.path, at, kind) for at, kind in enumerate(self.kinds))
        return Rows(self.numbers, self.phrasings, self.stored, tuple(k.weight for k in self.kinds), live, graphs)


class VectorIndex(CommittedIndex[_Part, VectorSearcher, VectorLayout]):
    """An index of vectors in a directory. Any number of readers; one writer at a time."""

    FORMAT: ClassVar[int] = FORMAT

    @contextmanager
    def writing(self) -> Iterator["VectorWriter"]:
        """The writer. Raises SearchIndexError where another one is at work."""
        with self.locked():
            yield VectorWriter(self)

    def _searching(self) -> VectorSearcher:
        return VectorSearcher([p.rows for p in self._parts], self._parts[0].kinds if self._parts else ())

    def _opened(self, name: str, deletions: str | None) -> _Part:
        folder = self.path / name
        try:
            kinds = tuple(Kind(**k) for k in json.loads((folder / KINDS).read_text(encoding="utf-8")))
            stored = tuple(_load(folder, at, kind) for at, kind in enumerate(kinds))
            deleted = np.empty(0, np.int32)
            if deletions is not None:
                with np.load(self.path / deletions, allow_pickle=False) as file:
                    deleted = file["deleted"]
            numbers, phrasings = (_mapped(folder / f"{n}.npy") for n in ("numbers", "phrasings"))
            return _Part(name, folder, kinds, numbers, phrasings, stored, deleted, deletions)
        except (ValueError, TypeError, EOFError, BadZipFile):
            raise SearchIndexError(f"{folder}: damaged; delete {self.path}, it will be rebuilt") from None


class VectorWriter:
    """Collects changes and commits them at once."""

    def __init__(self, index: VectorIndex) -> None:
        self._index = index
        self._name = Names(index)
        self._gone: list[Array] = []
        self._waiting: list[tuple[Array, Array, tuple[Stored, ...]]] = []
        self._kinds: tuple[Kind, ...] = index._parts[0].kinds if index._parts else ()
        self._size_bytes = 0
        self._built: list[_Part] = []

    def delete(self, numbers: Iterable[int]) -> None:
        """Deletes all rows of these numbers."""
        self._gone.append(np.fromiter(numbers, np.int64))

    def add(self, numbers: Array, phrasings: Array, vectors: Vectors) -> None:
        """Adds one row for each (number, phrasing), replacing what the numbers had before the last commit.

        Numbers must rise, from call to call too; a number's phrasings come together. Rows without anything in any part
        are left out: they are like nothing. Raises SearchIndexError where the parts are not those of earlier rows.
        """
        numbers, phrasings = np.asarray(numbers, np.int64), np.asarray(phrasings, np.uint16)
        self._gone.append(numbers)
        kept = np.flatnonzero(np.any([filled(part) for part in vectors.parts], axis=0))
        if not len(kept):
            return
        kinds = tuple(Kind.of(part) for part in vectors.parts)
        if self._kinds and kinds != self._kinds:
            raise SearchIndexError(f"{self._index.path}: vectors of {kinds} do not go with those of {self._kinds}")
        self._kinds = kinds
        stored = tuple((Sparse if k.sparse else Dense).of(p, self._index.layout.storage).taken(kept)
                       for k, p in zip(kinds, vectors.parts, strict=True))  # fmt: skip
        self._waiting.append((numbers[kept], phrasings[kept], stored))
        self._size_bytes += sum(a.nbytes for s in stored for a in s.arrays().values())
        if self._size_bytes >= BYTES_PER_SEGMENT:
            self._flush()

    def commit(self, change: int) -> None:
        """Makes everything since the last commit visible at once, as the state of that change number."""
        gone = np.unique(np.concatenate([np.empty(0, np.int64), *self._gone]))
        parts = [p for p in (self._without(part, gone) for part in self._index._parts) if p.size]
        self._flush()
        parts += self._built
        while group := to_merge(parts, lambda part: part.size, _fitting):
            parts = [p for p in parts if p not in group] + [self._merge(group)]
        for part in parts:
            hnsw.ensure(part.path, part.kinds, part.stored, self._index.layout.exact_up_to)
        self._index.commit(change, parts)
        self._built, self._gone = [], []

    def _flush(self) -> None:
        if self._waiting:
            numbers, phrasings, stored = zip(*self._waiting, strict=True)
            joined = [type(rows[0]).joined(rows) for rows in zip(*stored, strict=True)]
            self._built.append(self._save(np.concatenate(numbers), np.concatenate(phrasings), joined))
            self._waiting, self._size_bytes = [], 0

    def _merge(self, group: Sequence[_Part]) -> _Part:
        kept = [np.flatnonzero(part.rows.live) for part in group]
        numbers = np.concatenate([p.numbers[k] for p, k in zip(group, kept, strict=True)])
        phrasings = np.concatenate([p.phrasings[k] for p, k in zip(group, kept, strict=True)])
        order = np.argsort(numbers, kind="stable")
        rows = [[s.taken(k) for s in p.stored] for p, k in zip(group, kept, strict=True)]
        joined = [type(column[0]).joined(column).taken(order) for column in zip(*rows, strict=True)]
        return self._save(numbers[order], phrasings[order], joined)

    def _save(self, numbers: Array, phrasings: Array, stored: Sequence[Stored]) -> _Part:
        name = self._name()
        folder = self._index.path / name
        folder.mkdir(parents=True)
        for file, array in {"numbers": numbers, "phrasings": phrasings}.items():
            np.save(folder / f"{file}.npy", array, allow_pickle=False)
        for at, part in enumerate(stored):
            for file, array in part.arrays().items():
                np.save(folder / f"{at}.{file}.npy", array, allow_pickle=False)
        (folder / KINDS).write_text(json.dumps([asdict(kind) for kind in self._kinds]), encoding="utf-8")
        return self._index._opened(name, None)

    def _without(self, part: _Part, gone: Array) -> _Part:
        """The part without the rows of these numbers; as it was where it holds none of them."""
        deleted = without(part.numbers, part.deleted, gone)
        if len(deleted) == part.dead:
            return part
        file = deletions_file(self._name())
        save_deletions(self._index.path / file, deleted=deleted)
        return _Part(part.name, part.path, part.kinds, part.numbers, part.phrasings, part.stored, deleted, file)


def _fitting(tier: Sequence[_Part], least: int) -> list[_Part]:
    return list(tier) if len(tier) >= least else []


def _load(folder: Path, at: int, kind: Kind) -> Stored:
    arrays = {f.name.split(".")[1]: _mapped(f) for f in folder.glob(f"{at}.*.npy")}
    if not arrays:
        raise FileNotFoundError(folder)
    try:
        return Sparse.load(kind.metric, arrays) if kind.sparse else Dense.load(kind.metric, arrays)
    except KeyError as missing:
        raise FileNotFoundError(folder / f"{at}.{missing}.npy") from None


def _mapped(path: Path) -> Array:
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
