"""What an index directory keeps to: immutable files, deletions beside them, and a manifest that names what counts.

A commit writes new files, then replaces the manifest in one rename: whoever opens the index sees the state before or
after it, never between, whatever is killed when. Files that no manifest names are removed by the next commit; who has
mapped them keeps them.
"""

import fcntl
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from askalike.errors import IndexBusyError, SearchIndexError
from askalike.files import fsync_folder, fsync_path
from askalike.index.lexical.segment import Array

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MANIFEST = "manifest.json"
MERGE_FACTOR = 4  # as many segments of about one size become one
SMALL_SEGMENT = (
    4_096  # documents: segments below it become one at once, as each costs every search what looking into it takes
)
NO_MANIFEST = (0, 0)  # the stamp of an index that is not there


class CommittedSegment(Protocol):
    """A segment as the manifest names it."""

    @property
    def name(self) -> str:
        """Its directory."""

    @property
    def deletions(self) -> str | None:
        """The file that says which of its documents were deleted since; None where none was."""

    @property
    def live_count(self) -> int:
        """How many of its documents are live."""

    @property
    def deleted_count(self) -> int:
        """How many are not."""


P = TypeVar("P", bound=CommittedSegment)
S = TypeVar("S")
L = TypeVar("L", bound="DataclassInstance")


class CommittedIndex(ABC, Generic[P, S, L]):
    """An index in a directory. Any number of readers; one writer at a time."""

    FORMAT: ClassVar[int]
    """The version of what is on disk; another one is refused."""

    def __init__(self, path: Path, layout: L) -> None:
        self.path = path
        self.layout = layout
        self.change = 0
        """The archive's change number that the index has followed to."""
        self._segments: list[P] = []
        self._searcher: S | None = None
        self._stamp = NO_MANIFEST

    @classmethod
    def open(cls, path: Path, layout: L) -> Self:
        """The index in `path`, empty if there is none yet.

        Raises SearchIndexError where it was written by another version, or for another layout.
        """
        index = cls(path, layout)
        index.refresh()
        return index

    @property
    def searcher(self) -> S:
        """Searches the state last read or committed."""
        if self._searcher is None:
            self._searcher = self._make_searcher()
        return self._searcher

    @abstractmethod
    def _open_segment(self, name: str, deletions: str | None) -> P:
        """The segment of that name. Raises FileNotFoundError, or SearchIndexError for a damaged one."""

    @abstractmethod
    def _make_searcher(self) -> S:
        """What searches the parts as they are."""

    def refresh(self) -> bool:
        """Reads the manifest again if another process has committed; returns whether it had."""
        for _ in range(5):
            try:
                stamp = self._stat_manifest()
                if stamp == self._stamp:
                    return False
                self._read_manifest(stamp)
            except FileNotFoundError:  # a commit has come between the manifest and the files it names
                continue
            self._stamp = stamp
            return True
        raise SearchIndexError(f"{self.path}: files that its manifest names are missing; delete it, it will be rebuilt")

    @contextmanager
    def lock_writer(self) -> Iterator[Self]:
        """Holds the writer's lock. Raises SearchIndexError where another one is at work."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with open(self.path / "lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.refresh()
                try:
                    yield self
                finally:
                    self._remove_unreferenced()
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

    def commit(self, change: int, committed_segments: Sequence[P]) -> None:
        """Makes these parts, whose files are written, the state of that change number. For the writer only."""
        known = {p.name for p in self._segments}
        for part in committed_segments:
            if part.name not in known:
                fsync_folder(self.path / part.name)
        fsync_path(self.path)
        segments = [[p.name, p.deletions] for p in committed_segments]
        manifest = {"format": self.FORMAT, **asdict(self.layout), "change": change, "segments": segments}
        temporary = self.path / f"{MANIFEST}.new"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path / MANIFEST)
        self._segments, self.change, self._searcher = list(committed_segments), change, None
        self._stamp = self._stat_manifest()
        fsync_path(self.path)

    def _stat_manifest(self) -> tuple[int, int]:
        try:
            stat = (self.path / MANIFEST).stat()
        except FileNotFoundError:
            return NO_MANIFEST
        return stat.st_ino, stat.st_mtime_ns

    def _read_manifest(self, stamp: tuple[int, int]) -> None:
        if stamp == NO_MANIFEST:  # a new index, or one that was thrown away
            self._segments, self.change, self._searcher = [], 0, None
            return
        manifest = _load_manifest(self.path / MANIFEST)
        self._check_manifest(manifest)
        kept = {(p.name, p.deletions): p for p in self._segments}
        self._segments = [
            kept.get((name, deletions)) or self._open_segment(name, deletions)
            for name, deletions in manifest["segments"]
        ]
        self.change, self._searcher = manifest["change"], None

    def _check_manifest(self, manifest: Mapping[str, Any]) -> None:
        rebuild = f"rebuild it: askalike index {self.path.parent.parent} --rebuild"
        if manifest.get("format") != self.FORMAT:
            raise SearchIndexError(
                f"{self.path}: index format {manifest.get('format')}, this askalike reads {self.FORMAT}; {rebuild}"
            )
        for key, wanted in asdict(self.layout).items():
            if manifest.get(key) != wanted:
                raise SearchIndexError(
                    f"{self.path}: built with another analyzer or other settings ({key} differs); {rebuild}"
                )

    def _remove_unreferenced(self) -> None:
        """Removes what neither the manifest names nor a reader can still come to ask for."""
        named = {p.name for p in self._segments} | {p.deletions for p in self._segments} | {MANIFEST, "lock"}
        for entry in self.path.iterdir():
            if entry.name not in named:
                shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)


class FileNamer:
    """New names for a writer's files: none that the directory has."""

    def __init__(self, index: CommittedIndex[Any, Any, Any]) -> None:
        self._index = index
        self._sequence = 0

    def __call__(self) -> str:
        """The next one."""
        while True:
            self._sequence += 1
            name = f"{self._index.change}-{os.getpid()}-{self._sequence}"
            if not any((self._index.path / taken).exists() for taken in (name, deletions_filename(name))):
                return name


def select_merge(
    segments: Sequence[P], sort_key: Callable[[P], int], select_mergeable: Callable[[Sequence[P], int], list[P]]
) -> list[P]:
    """Segments that are better one: FAN of about the same size, two small ones, or one that is more than half deleted.

    fitting: of parts of one size, in the given order, those to merge, at least so many; none where they are not to be.
    """
    for part in segments:
        if part.deleted_count > part.live_count:
            return [part]
    tiers: dict[int, list[P]] = {}
    for part in sorted(segments, key=sort_key):
        tiers.setdefault(0 if part.live_count < SMALL_SEGMENT else part.live_count.bit_length() // 3, []).append(part)
    crowded = [group for size, tier in tiers.items() if (group := select_mergeable(tier, MERGE_FACTOR if size else 2))]
    return min(crowded, key=lambda group: group[0].live_count, default=[])


def add_deletions(docids: Array, deleted: Array, deleted_docids: Array) -> Array:
    """The positions (int32, rising) of deleted documents once those of the numbers `gone` are deleted too."""
    dead = np.zeros(len(docids), np.bool_)
    dead[deleted] = True
    first, last = (np.searchsorted(docids, deleted_docids, side) for side in ("left", "right"))
    for a, b in zip(first[last > first], last[last > first], strict=True):
        dead[a:b] = True
    return np.flatnonzero(dead).astype(np.int32)


def deletions_filename(name: str) -> str:
    """The file of deletions of that name."""
    return f"deleted-{name}.npz"


def save_deletions(path: Path, **arrays: Array) -> None:
    """Writes arrays into one file, down to the disk."""
    with open(path, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
        file.flush()
        os.fsync(file.fileno())


def _load_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise SearchIndexError(f"{path}: not an index's manifest; delete {path.parent}, it will be rebuilt")
    return manifest
