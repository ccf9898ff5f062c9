"""The inverted index on disk: immutable segments, deletions beside them, and a manifest that names what counts.

A commit writes new files, then replaces the manifest in one rename: whoever opens the index sees the state before or
after it, never between, whatever is killed when. Files that no manifest names are removed by the next commit; who has
mapped them keeps them. Statistics are sums over the live documents of all segments, so that an index changed step by
step scores exactly as one built afresh.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
from numba import njit

from askalike.errors import IndexBusyError, SearchIndexError
from askalike.index.build import SegmentBuilder, fit_together, merged
from askalike.index.search import LiveSegment, Searcher
from askalike.index.segment import Array, Segment

FORMAT = 2
MANIFEST = "manifest.json"
TOKENS_PER_SEGMENT = 1 << 26  # a build holds at most so many tokens in memory (256 MiB)
FAN = 4  # as many segments of about one size become one
NOTHING = (0, 0)  # the stamp of an index that is not there
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
        return len(self.live.segment.numbers) - len(self.live.deleted)


@dataclass(slots=True)
class PostingsIndex:
    """An inverted index in a directory. Any number of readers; one writer at a time."""

    path: Path
    layout: Layout
    change: int = 0
    """The archive's change number that the index has followed to."""
    _parts: list[_Part] = field(default_factory=list)
    _searcher: Searcher | None = None
    _stamp: tuple[int, int] = NOTHING

    @classmethod
    def open(cls, path: Path, layout: Layout) -> Self:
        """The index in `path`, empty if there is none yet.

        Raises SearchIndexError where it was written by another version, or for another layout.
        """
        index = cls(path, layout)
        index.refresh()
        return index

    def refresh(self) -> bool:
        """Reads the manifest again if another process has committed; returns whether it had."""
        for _ in range(5):
            try:
                stamp = self._stat()
                if stamp == self._stamp:
                    return False
                self._read(stamp)
            except FileNotFoundError:  # a commit has come between the manifest and the files it names
                continue
            self._stamp = stamp
            return True
        raise SearchIndexError(f"{self.path}: files that its manifest names are missing; delete it, it will be rebuilt")

    @property
    def searcher(self) -> Searcher:
        """Searches the state last read or committed."""
        if self._searcher is None:
            self._searcher = Searcher([p.live for p in self._parts], self.layout.scale)
        return self._searcher

    @contextmanager
    def writing(self) -> Iterator["IndexWriter"]:
        """The writer. Raises SearchIndexError where another one is at work."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with open(self.path / "lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.refresh()
                try:
                    yield IndexWriter(self)
                finally:
                    self._sweep()
        except BlockingIOError:
            raise IndexBusyError(
                f"{self.path}: another process is writing this index; wait until it has finished and repeat",
                searchable=self.change > 0,
            ) from None
        except OSError as error:
            raise SearchIndexError(
                f"{self.path}: cannot be written ({error.strerror or error}); free some space or change the "
                "directory's permissions and repeat, the last committed state is safe"
            ) from None

    def _stat(self) -> tuple[int, int]:
        try:
            stat = (self.path / MANIFEST).stat()
        except FileNotFoundError:
            return NOTHING
        return stat.st_ino, stat.st_mtime_ns

    def _read(self, stamp: tuple[int, int]) -> None:
        if stamp == NOTHING:  # a new index, or one that was thrown away
            self._parts, self.change, self._searcher = [], 0, None
            return
        manifest = _manifest(self.path / MANIFEST)
        if manifest.get("format") != FORMAT:
            raise SearchIndexError(
                f"{self.path}: index format {manifest.get('format')}, this askalike reads {FORMAT}; "
                f"rebuild it: askalike index {_archive_of(self.path)} --rebuild"
            )
        for key, wanted in _described(self.layout).items():
            if manifest.get(key) != wanted:
                raise SearchIndexError(
                    f"{self.path}: built with another analyzer or other settings ({key} differs); "
                    f"rebuild it: askalike index {_archive_of(self.path)} --rebuild"
                )
        kept = {(p.name, p.deletions): p for p in self._parts}
        self._parts = [
            kept.get((name, deletions)) or _opened(self.path, name, deletions)
            for name, deletions in manifest["segments"]
        ]
        self.change = manifest["change"]
        self._searcher = None

    def _commit(self, change: int, parts: Sequence[_Part]) -> None:
        segments = [[p.name, p.deletions] for p in parts]
        manifest = {"format": FORMAT, **_described(self.layout), "change": change, "segments": segments}
        temporary = self.path / f"{MANIFEST}.new"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path / MANIFEST)
        self._parts, self.change, self._searcher = list(parts), change, None
        self._stamp = self._stat()
        _sync(self.path)

    def _sweep(self) -> None:
        """Removes what neither the manifest names nor a reader can still come to ask for."""
        named = {p.name for p in self._parts} | {p.deletions for p in self._parts} | {MANIFEST, "lock"}
        for entry in self.path.iterdir():
            if entry.name not in named:
                shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)


class IndexWriter:
    """Collects changes and commits them at once."""

    def __init__(self, index: PostingsIndex) -> None:
        self._index = index
        self._builder = SegmentBuilder(index.layout.exact_lengths, index.layout.scale)
        self._built: list[_Part] = []
        self._gone: list[int] = []
        self._sequence = 0

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
        while group := _to_merge(parts):
            parts = [p for p in parts if p not in group] + self._merge(group)
        self._index._commit(change, parts)
        self._built, self._gone = [], []

    def _flush(self) -> None:
        if len(self._builder):
            self._built += self._save(self._builder.segments())
            self._builder = SegmentBuilder(self._index.layout.exact_lengths, self._index.layout.scale)

    def _merge(self, group: Sequence[_Part]) -> list[_Part]:
        masks = [p.live.live if len(p.live.deleted) else np.ones(p.size, np.bool_) for p in group]
        layout = self._index.layout
        segments = merged([p.live.segment for p in group], masks, layout.exact_lengths, layout.scale)
        return self._save(segments)

    def _save(self, segments: Sequence[Segment]) -> list[_Part]:
        parts = []
        for segment in segments:
            name = self._name()
            segment.save(self._index.path / name)
            parts.append(_opened(self._index.path, name, None))
        _sync(self._index.path)
        return parts

    def _name(self) -> str:
        """A name that nothing in the directory has."""
        while True:
            self._sequence += 1
            name = f"{self._index.change}-{os.getpid()}-{self._sequence}"
            if not any((self._index.path / taken).exists() for taken in (name, _deletions(name))):
                return name


def _to_merge(parts: Sequence[_Part]) -> list[_Part]:
    """Segments that are better one: FAN of about the same size, or one that is more than half deleted."""
    for part in parts:
        if len(part.live.deleted) > part.size:
            return [part]
    tiers: dict[int, list[_Part]] = {}
    for part in sorted(parts, key=lambda part: len(part.live.segment.code_tf)):
        tiers.setdefault(part.size.bit_length() // 3, []).append(part)
    crowded = [group for tier in tiers.values() if (group := _fitting(tier))]
    return min(crowded, key=lambda group: group[0].size, default=[])


def _fitting(tier: Sequence[_Part]) -> list[_Part]:
    """As many of the parts as can be one segment, at least FAN; none if there are not so many."""
    for size in range(len(tier), FAN - 1, -1):
        if fit_together([part.live.segment for part in tier[:size]]):
            return list(tier[:size])
    return []


def _without(path: Path, part: _Part, gone: Array, name: str) -> _Part:
    """The part without the documents of these numbers; as it was where it holds none of them."""
    segment = part.live.segment
    dead = np.zeros(len(segment.numbers), np.bool_)
    dead[part.live.deleted] = True
    first, last = (np.searchsorted(segment.numbers, gone, side) for side in ("left", "right"))
    for a, b in zip(first[last > first], last[last > first], strict=True):
        dead[a:b] = True
    deleted = np.flatnonzero(dead).astype(np.int32)
    if len(deleted) == len(part.live.deleted):
        return part
    changed = _lost(segment.starts, segment.docs, segment.codes, segment.code_tf, dead & (segment.phrasings == 0))
    name = _deletions(name)
    with open(path / name, "wb") as file:
        np.savez(file, deleted=deleted, changed=changed)
        file.flush()
        os.fsync(file.fileno())
    return _Part(part.name, LiveSegment(segment, deleted, changed), name)


def _deletions(name: str) -> str:
    return f"deleted-{name}.npz"


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


def _opened(path: Path, name: str, deletions: str | None) -> _Part:
    try:
        segment = Segment.open(path / name)
        if deletions is None:
            return _Part(name, LiveSegment(segment, *NONE))
        with np.load(path / deletions, allow_pickle=False) as file:
            return _Part(name, LiveSegment(segment, file["deleted"], file["changed"]), deletions)
    except (ValueError, EOFError, BadZipFile):
        raise SearchIndexError(f"{path / name}: damaged; delete {path}, it will be rebuilt") from None


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise SearchIndexError(f"{path}: not an index's manifest; delete {path.parent}, it will be rebuilt")
    return manifest


def _described(layout: Layout) -> dict[str, Any]:
    return {"fingerprint": layout.fingerprint, "exact_lengths": layout.exact_lengths, "scale": layout.scale}


def _archive_of(path: Path) -> Path:
    return path.parent.parent


def _sync(directory: Path) -> None:
    """Makes the directory's entries durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
