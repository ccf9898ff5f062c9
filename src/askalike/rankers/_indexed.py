"""A ranker with its own index, which follows the archive."""

import hashlib
import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from askalike.core.errors import NotFittedError, UnusableIndexError
from askalike.core.iteration import Progress
from askalike.index.commits import remove_index
from askalike.index.engine import ArchiveIndex, FollowingWriter, IndexEngine, IndexLocation, open_engine
from askalike.rankers._ranker import Ranker
from askalike.store import Snapshot

log = logging.getLogger(__name__)
_opening = Lock()
"""Held while an index is opened, so that threads that share a ranker get the same one."""
SearcherT = TypeVar("SearcherT")
WriterT = TypeVar("WriterT", bound=FollowingWriter)


class IndexedRanker(Ranker, Generic[SearcherT, WriterT]):
    """Ranking with one index per view, in the archive's directory or in the view's engine.

    The last opened index is kept open, since checking it for changes is faster than opening it.
    """

    _opened: tuple[tuple[str | None, Path, str], ArchiveIndex[SearcherT, WriterT]] | None = None

    @abstractmethod
    def _index_name(self, view: Snapshot) -> str:
        """Return the type of the index's content, and a digest of all settings that determine it."""

    @abstractmethod
    def _open_index(
        self, engine: IndexEngine, location: IndexLocation, view: Snapshot
    ) -> ArchiveIndex[SearcherT, WriterT]:
        """Return the index. Raises SettingsError if the engine does not support the ranker."""

    @abstractmethod
    def _write_documents(self, view: Snapshot, writer: WriterT) -> Iterator[int]:
        """Write the documents that the index lacks; yield the number of documents so far, now and then."""

    def build(self, view: Snapshot, progress: Progress | None = None) -> None:
        change = view.change
        if not change:  # an empty archive, or a view of what is committed
            return
        index = self._cached_index(view)
        try:
            index.refresh()
        except UnusableIndexError as error:
            _log_rebuild(error)
            index.start_rebuild()
        if (date := index.change_date) and date != view.change_date(index.change):  # the database was replaced since
            index.start_rebuild()
        while index.change < change:
            with index.write_lock():
                if index.change < change:
                    self._apply_changes(view, index, view.change, progress)

    def _apply_changes(
        self, view: Snapshot, index: ArchiveIndex[SearcherT, WriterT], change: int, progress: Progress | None
    ) -> None:
        view.require_in_place()
        with index.writer(change) as writer:
            view.require_in_place()  # from now on the index notices for itself
            with self._record_progress(view, writer) as record:
                writer.delete(view.deleted_docids(writer.change))
                total = view.count_changed(writer.change) if progress else 0
                for done in self._write_documents(view, writer):
                    record(done)
                    if progress:
                        progress(done, total)
                writer.commit(change, view.change_date(change))

    def _record_progress(self, view: Snapshot, writer: WriterT) -> AbstractContextManager[Callable[[int], None]]:
        """Return the context of an update, which records why it fails; its function takes the number of documents."""
        return nullcontext(lambda done: None)

    def index_paths(self, view: Snapshot) -> Sequence[Path]:
        """Return the directory of the view's index; views up to a date, or of one group, have their own."""
        return () if view.engine else (_locate(view, self._full_name(view)).folder,)

    def start_rebuild(self, view: Snapshot) -> None:
        """See Ranker.start_rebuild. An engine may search the current index until the new one is complete."""
        if view.engine:
            self._cached_index(view).start_rebuild()
        else:
            super().start_rebuild(view)

    def indexes(self, view: Snapshot, *, refresh: bool = True) -> Sequence[ArchiveIndex[Any, Any]]:
        """See Ranker.indexes."""
        return (self._current_index(view) if refresh else self._cached_index(view),)

    def _built_index(self, view: Snapshot) -> ArchiveIndex[SearcherT, WriterT]:
        """Return the view's index for a search. Raises NotFittedError if it was never built."""
        index = self._current_index(view)
        if not index.change and view.change:
            raise NotFittedError(f"{self.name}: not indexed yet; call build(view) first")
        return index

    def _current_index(self, view: Snapshot) -> ArchiveIndex[SearcherT, WriterT]:
        """Return the view's index as last committed; as it was before if the last commit is damaged or has vanished."""
        index = self._cached_index(view)
        index.refresh(keep=True)
        return index

    def _cached_index(self, view: Snapshot) -> ArchiveIndex[SearcherT, WriterT]:
        """Return the view's index without checking for new commits; an unusable one is removed, to be built again."""
        name = self._full_name(view)
        key = (view.engine, view.path, name)
        with _opening:
            opened = self._opened
            if opened is None or opened[0] != key:
                engine = open_engine(view.engine)
                location = _locate(view, name, view.change_date(1))
                try:
                    index = self._open_index(engine, location, view)
                except UnusableIndexError as error:
                    _log_rebuild(error)
                    remove_index(error.path)
                    index = self._open_index(engine, location, view)
                self._opened = opened = key, index
        return opened[1]

    def _full_name(self, view: Snapshot) -> str:
        name = self._index_name(view)
        if not view.before and not view.group:
            return name
        return f"{name}-{hashlib.sha256(f'{view.before} {view.group}'.encode()).hexdigest()[:32]}"


def _locate(view: Snapshot, name: str, created_at: str | None = None) -> IndexLocation:
    return IndexLocation(view.path, created_at, name)


def _log_rebuild(error: UnusableIndexError) -> None:
    log.warning("%s: %s; rebuilding it", error.path, error.problem)
