"""Commits to an index: immutable segments, deletions from them, and in a directory a manifest of the current files.

A commit writes new files and then replaces the manifest in one rename, so that readers see the state before or after it
and never a mixture, even if a process is killed. The next commit removes files that are not in the manifest; a reader
that has mapped them can continue to read. An index in memory has the same states without files.
"""

import errno
import json
import logging
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from askalike.core.arrays import Array
from askalike.core.errors import UnusableIndexError
from askalike.core.files import PARTIAL_SUFFIX, fsync_folder, fsync_path
from askalike.index.files import (
    LOCK,
    MANIFEST,
    UNREADABLE,
    VERIFIED_FILE,
    ChecksumError,
    Checksums,
    compute_checksum,
    hold_lock,
    read_manifest,
    remember_verified,
    verify_files,
    write_manifest,
)
from askalike.index.rows import LiveRows

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

DEFAULT_MEMORY = 2 << 30
"""Default memory limit of a build, in bytes."""
NO_MANIFEST = (0, 0)
"""The stamp of an index without a manifest."""
READ_ATTEMPTS = 5
"""Attempts to read a state: another commit may remove files between reading the manifest and opening them."""
log = logging.getLogger(__name__)
_write_locks: dict[Path, Lock] = {}
"""Directory of an index → lock, held while a thread of this process updates the index."""

LiveT = TypeVar("LiveT", bound=LiveRows)
SearcherT = TypeVar("SearcherT")
LayoutT = TypeVar("LayoutT", bound="DataclassInstance")
WriterT = TypeVar("WriterT", bound="ChangeWriter")


class ChangeWriter(Protocol):
    """Collects changes to an index, all of which one commit makes visible."""

    def delete(self, docids: Iterable[int]) -> None:
        """Delete all documents of these docids."""

    def commit(self, change: int, change_date: str | None = None) -> None:
        """Make everything since the last commit visible at once, as the state of that change number."""


@dataclass(frozen=True, eq=False)
class CommittedSegment(Generic[LiveT]):
    """A segment as listed in the manifest: its directory, and the file of its deletions (None without any)."""

    name: str
    live: LiveT
    deletions: str | None = None

    @property
    def live_count(self) -> int:
        """The number of live rows."""
        return len(self.live.docids) - len(self.live.deleted)

    @property
    def deleted_count(self) -> int:
        """The number of deleted rows."""
        return len(self.live.deleted)


@dataclass(eq=False)
class CommittedState(Generic[LiveT, SearcherT]):
    """The content of an index after a commit. The next commit creates a new one: threads never see a mixture.

    stamp: of the manifest. change: the archive's change number up to which the index is synchronised. searcher: None
    until requested. checksums: of the files.
    """

    stamp: tuple[int, int] = NO_MANIFEST
    change: int = 0
    change_date: str | None = None
    segments: Sequence[CommittedSegment[LiveT]] = ()
    searcher: SearcherT | None = None
    checksums: Checksums = field(default_factory=dict)


class CommittedIndex(ABC, Generic[LiveT, SearcherT, LayoutT, WriterT]):
    """An index in a directory, or in memory. It has any number of readers, and one writer at a time."""

    FORMAT: ClassVar[int]
    """The version of the files. Directories of another version are refused."""
    OLDER_FORMATS: ClassVar[Sequence[int]] = ()
    """Earlier versions that are read, too."""
    LAYOUT: ClassVar[type[Any]]
    """The class of the layout."""

    def __init__(self, path: Path | None, layout: LayoutT | None = None) -> None:
        """path: None for an index in memory. layout: by default that of `LAYOUT`."""
        self.path = path
        self.layout: LayoutT = layout or self.LAYOUT()
        self.memory_bytes = DEFAULT_MEMORY
        """Approximate memory limit of a build in bytes, in addition to the program itself."""
        self._manifest = os.fspath(path / MANIFEST) if path else ""  # checked by every search, faster than a Path
        self._state: CommittedState[LiveT, SearcherT] = CommittedState()
        self._kept_stamp: tuple[int, int] | None = None
        """The stamp of an unusable manifest, instead of which searches use the state before."""
        self._replacing_state = Lock()  # so that no thread replaces a newer state with an older one
        self._is_in_place: Callable[[], bool] = lambda: True
        self._write_lock = _write_locks.setdefault(path, Lock()) if path else Lock()

    @classmethod
    def create(cls, path: Path | None = None, layout: LayoutT | None = None) -> Self:
        """Return a new index: in memory, or in a directory. An index that is there already is opened."""
        return cls(None, layout) if path is None else cls.open(path, layout)

    @classmethod
    def open(cls, path: Path, layout: LayoutT | None = None) -> Self:
        """Open the index in a directory, which is empty if there is none yet.

        Raises UnusableIndexError if it is damaged, or was written by another version or with another layout.
        """
        index = cls(path, layout)
        index.refresh()
        return index

    def delete(self, docids: Iterable[int]) -> None:
        """Delete documents, in one commit."""
        with self.write_lock(), self.writer() as writer:
            writer.delete(docids)
            writer.commit(self.change + 1)

    @property
    def searcher(self) -> SearcherT:
        """The searcher of the state last read or committed."""
        state = self._state  # another thread may read a newer one in the meantime
        if state.searcher is None:
            state.searcher = self._make_searcher(state.segments)
        return state.searcher

    @property
    def change(self) -> int:
        """The archive's change number up to which the index is synchronised."""
        return self._state.change

    @property
    def change_date(self) -> str | None:
        """The time of that change, which differs between archives; None if it was not stored."""
        return self._state.change_date

    @property
    def segments(self) -> Sequence[CommittedSegment[LiveT]]:
        """The segments of the state last read or committed."""
        return self._state.segments

    @abstractmethod
    def _load_segment(self, folder: Path) -> LiveT:
        """Map a segment's files, without its deletions.

        Raises FileNotFoundError for a missing file, and one of UNREADABLE for a damaged one.
        """

    @abstractmethod
    def _make_searcher(self, segments: Sequence[CommittedSegment[LiveT]]) -> SearcherT:
        """Return a searcher of these segments."""

    @abstractmethod
    def _make_writer(self) -> WriterT:
        """Return a new writer."""

    def open_segment(
        self, name: str, deletions: str | None = None, opened: CommittedSegment[LiveT] | None = None
    ) -> CommittedSegment[LiveT]:
        """Open the segment of that name. opened: the same one with other deletions, whose files are not read again.

        Raises FileNotFoundError, and UnusableIndexError for a damaged segment.
        """
        try:
            arrays: dict[str, Array] = {}
            if deletions is not None:
                with np.load(self.folder / deletions, allow_pickle=False) as file:
                    arrays = dict(file)
            live = opened.live if opened else self._load_segment(self.folder / name)
            return CommittedSegment(name, live.with_stored_deletions(arrays) if opened or arrays else live, deletions)
        except UNREADABLE as error:
            raise UnusableIndexError(self.folder, f"damaged ({name}: {error})") from None

    def store_segment(self, name: str, segment: LiveT) -> CommittedSegment[LiveT]:
        """Write a new segment into a directory and map its files; in memory it stays as it is."""
        if self.path is None:
            return CommittedSegment(name, segment)
        self._require_in_place()
        segment.save(self.path / name)
        return self.open_segment(name)

    @property
    def folder(self) -> Path:
        """The directory. Raises ValueError for an index in memory, which has no files."""
        if self.path is None:
            raise ValueError("an index in memory has no directory")
        return self.path

    def refresh(self, *, keep: bool = False) -> bool:
        """Read the manifest again if another process has committed; return whether it has.

        keep: for a search, which continues with the last state if the files have vanished or are damaged; a line is
        logged. Otherwise an index whose files have vanished is empty, and UnusableIndexError is raised for damage.
        """
        if self.path is None or (stamp := self._stat_manifest()) == self._state.stamp or stamp == self._kept_stamp:
            return False
        with self._replacing_state:
            try:
                if keep and self._state.change and stamp == NO_MANIFEST:
                    raise UnusableIndexError(self.path, "its files have vanished")
                return self._read_newest_state()
            except UnusableIndexError as error:
                if not keep or not self._state.change:
                    raise
                self._kept_stamp = stamp
                log.warning("%s: %s; searches use the state before until it is rebuilt", error.path, error.problem)
                return False

    def _read_newest_state(self) -> bool:
        """Replace the state if the manifest describes a newer one; return whether it did."""
        for _ in range(READ_ATTEMPTS):
            try:
                stamp = self._stat_manifest()
                if stamp == self._state.stamp:
                    return False
                self._state = self._read_state(stamp)
            except FileNotFoundError:  # another commit happened between reading the manifest and opening its files
                continue
            return True
        raise UnusableIndexError(self.folder, "damaged (files that its manifest names are missing)")

    @contextmanager
    def write_lock(self) -> Iterator[None]:
        """Wait while another thread updates the index. A second process is refused instead, see `lock_files`."""
        with self._write_lock:
            self.refresh()
            yield

    @contextmanager
    def writer(self, change: int | None = None) -> Iterator[WriterT]:
        """Yield a writer. Raises IndexBusyError if another writer is active, SearchIndexError for I/O errors.

        change: the archive's change number after the update; an index of segments needs it only in `commit`.
        """
        with self.lock_files():
            yield self._make_writer()

    @contextmanager
    def lock_files(self) -> Iterator[None]:
        """Hold the lock of the directory, if there is one, against writers in other processes.

        Raises IndexBusyError if another writer holds it, UnwritableIndexError for I/O errors, such as that of a folder
        which was removed, moved or replaced in the meantime.
        """
        if self.path is None:
            yield
            return
        with hold_lock(self.path) as self._is_in_place:
            self.refresh()
            self._remove_unreferenced()  # leftovers of a killed build
            try:
                yield
            finally:
                with suppress(UnusableIndexError, FileNotFoundError):
                    self._require_in_place()  # otherwise another archive's index may be there
                    self.refresh()  # a commit that failed may have replaced the manifest already
                    self._remove_unreferenced()

    def _require_in_place(self) -> None:
        if not self._is_in_place():
            raise FileNotFoundError(errno.ENOENT, "it was removed, moved or replaced in the meantime")

    def commit(self, change: int, segments: Sequence[CommittedSegment[LiveT]], change_date: str | None = None) -> None:
        """Commit these segments, whose files are written, as the state of that change number. For the writer only."""
        with self._replacing_state:
            state: CommittedState[LiveT, SearcherT] = CommittedState(NO_MANIFEST, change, change_date, tuple(segments))
            self._state = state if self.path is None else self._write_state(self.path, state)

    def start_rebuild(self) -> None:
        """Remove everything, so that the next writer builds the index from scratch.

        Raises IndexBusyError if a writer is active, SearchIndexError for I/O errors.
        """
        if self.path is None:
            self._state = CommittedState()
        else:
            remove_index(self.path)
            self.refresh()

    def _write_state(self, path: Path, state: CommittedState[LiveT, SearcherT]) -> CommittedState[LiveT, SearcherT]:
        """Make the segments' files durable, and then the manifest that names them; return the state with its stamp."""
        committed = {segment.name for segment in self.segments}
        for segment in state.segments:
            if segment.name not in committed:
                fsync_folder(path / segment.name)
        fsync_path(path)
        known = self._state.checksums
        files = {name for segment in state.segments for name in _list_files(path, segment)}
        checksums = {name: known[name] if name in known else compute_checksum(path / name) for name in sorted(files)}
        names = [[segment.name, segment.deletions] for segment in state.segments]
        content = {"format": self.FORMAT, **asdict(self.layout), "change": state.change}
        content |= {"change_date": state.change_date, "segments": names, "checksums": checksums}
        self._require_in_place()
        write_manifest(path, content)
        remember_verified(path, checksums, files - known.keys())
        return replace(state, stamp=self._stat_manifest(), checksums=checksums)

    def _stat_manifest(self) -> tuple[int, int]:
        try:
            stat = os.stat(self._manifest)
        except FileNotFoundError:
            return NO_MANIFEST
        return stat.st_ino, stat.st_mtime_ns

    def _read_state(self, stamp: tuple[int, int]) -> CommittedState[LiveT, SearcherT]:
        if stamp == NO_MANIFEST:  # a new index, or one that was deleted
            return CommittedState()
        manifest = self._load_manifest()
        checksums: Checksums = manifest["checksums"]
        known = self._state.checksums
        try:
            new = {name: checksum for name, checksum in checksums.items() if known.get(name) != checksum}
            verify_files(self.folder, new, all_known=checksums)
        except ChecksumError as error:
            raise UnusableIndexError(self.folder, f"damaged ({error})") from None
        opened = {s.name: s for s in self.segments if new.keys().isdisjoint(_segment_files(s, known))}
        segments = tuple(
            own if own and own.deletions == deletions else self.open_segment(name, deletions, own)
            for name, deletions, own in ((*names, opened.get(names[0])) for names in manifest["segments"])
        )
        return CommittedState(stamp, manifest["change"], manifest["change_date"], segments, checksums=checksums)

    def _load_manifest(self) -> dict[str, Any]:
        """Return the manifest. Raises UnusableIndexError if it is damaged, or of other settings or versions."""
        manifest = read_manifest(self.folder)
        if manifest["format"] not in (self.FORMAT, *self.OLDER_FORMATS):
            problem = f"format {manifest['format']}, but this askalike reads {self.FORMAT}"
            raise UnusableIndexError(self.folder, problem)
        for key, expected in json.loads(json.dumps(asdict(self.layout))).items():
            if manifest.get(key) != expected:
                problem = f"built with another analyzer or other settings ({key} differs)"
                raise UnusableIndexError(self.folder, problem)
        return manifest

    def _remove_unreferenced(self) -> None:
        """Remove the files that are not in the manifest and that no reader can still open."""
        segments = self.segments
        names = {segment.name for segment in segments} | {segment.deletions for segment in segments}
        _remove_all_but(self.folder, names | {MANIFEST, LOCK, VERIFIED_FILE})


def _segment_files(segment: CommittedSegment[Any], names: Iterable[str]) -> set[str]:
    """Return those of the names that belong to a segment."""
    return {name for name in names if name == segment.deletions or name.startswith(f"{segment.name}/")}


def _list_files(path: Path, segment: CommittedSegment[Any]) -> Iterator[str]:
    """Yield the names of a segment's complete files."""
    for entry in os.scandir(path / segment.name):
        if not entry.name.endswith(PARTIAL_SUFFIX):
            yield f"{segment.name}/{entry.name}"
    if segment.deletions is not None:
        yield segment.deletions


def remove_index(path: Path) -> None:
    """Remove the index in a directory, if there is one, with the directory.

    Raises IndexBusyError if a writer is active, SearchIndexError for I/O errors.
    """
    if path.exists():
        with hold_lock(path):
            (path / MANIFEST).unlink(missing_ok=True)  # first, so that it never names removed files
            _remove_all_but(path, {LOCK})
            (path / LOCK).unlink()
            with suppress(OSError):  # a reader may just remember there which files are intact
                path.rmdir()


def _remove_all_but(path: Path, names: Set[str | None]) -> None:
    for entry in path.iterdir():
        if entry.name not in names:
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)
