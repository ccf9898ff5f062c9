"""A ranker with its own index, which is kept in sync with the archive."""

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from askalike.core.errors import NotFittedError
from askalike.core.types import Progress
from askalike.index.commits import CommittedIndex
from askalike.rankers._ranker import Ranker
from askalike.store import View

if TYPE_CHECKING:
    from askalike.opensearch.connection import OpenSearchConnection
    from askalike.opensearch.index import OpenSearchIndex

_opening = Lock()
"""Held while an index is opened, so that threads that share a ranker get the same one."""
IndexT = TypeVar("IndexT", bound="CommittedIndex[Any, Any, Any, Any] | OpenSearchIndex[Any, Any]")


class IndexedRanker(Ranker, Generic[IndexT]):
    """Ranking with one index per view, in the archive's directory or in the view's cluster.

    The last opened index is kept open, since checking it for changes is faster than opening it.
    """

    _opened: tuple[tuple[str | None, Path, str], IndexT] | None = None

    @abstractmethod
    def _index_name(self, view: View) -> str:
        """Return the name of its directory: the type of its content, and a digest of all settings that determine it."""

    @abstractmethod
    def _open_index(self, path: Path) -> IndexT:
        """Return the index in a directory as last committed."""

    @abstractmethod
    def _open_cluster_index(self, cluster: "OpenSearchConnection", name: str, view: View) -> IndexT:
        """Return the index of that name in a cluster. Raises SettingsError if clusters do not support the ranker."""

    @abstractmethod
    def _apply_changes(self, view: View, index: IndexT, change: int, progress: Progress | None) -> None:
        """Apply to the index the archive's changes after its own change number, up to `change`."""

    def build(self, view: View, progress: Progress | None = None) -> None:
        change = view.change
        index = self._current_index(view)
        if change and isinstance(index, CommittedIndex) and _follows_another_archive(index, view):
            self.start_over(view)
            index.refresh()
        while index.change < change:
            with index.write_lock():
                if index.change < change:
                    self._apply_changes(view, index, view.change, progress)

    def index_paths(self, view: View) -> Sequence[Path]:
        """Return the directory of the view's index; views up to a date, or of one group, have their own."""
        return () if view.engine else (view.path / "index" / self._index_name_of(view),)

    def start_over(self, view: View) -> None:
        """See Ranker.start_over. In a cluster the current index is searched until the new one is complete."""
        if view.engine:
            index: Any = self._open(view)
            index.start_over()
        else:
            super().start_over(view)

    def indexes(
        self, view: View, *, refresh: bool = True
    ) -> "Sequence[CommittedIndex[Any, Any, Any, Any] | OpenSearchIndex[Any, Any]]":
        """See Ranker.indexes."""
        return (self._current_index(view) if refresh else self._open(view),)

    def _built_index(self, view: View) -> IndexT:
        """Return the view's index for a search. Raises NotFittedError if it was never built."""
        index = self._current_index(view)
        if not index.change and view.change:
            raise NotFittedError(f"{self.name}: not indexed yet; call build(view) first")
        return index

    def _current_index(self, view: View) -> IndexT:
        """Return the view's index as last committed."""
        index = self._open(view)
        index.refresh()
        return index

    def _open(self, view: View) -> IndexT:
        """Return the view's index without checking for new commits."""
        name = self._index_name_of(view)
        place = (view.engine, view.path, name)
        with _opening:
            opened = self._opened
            if opened is None or opened[0] != place:
                self._opened = opened = place, self._open_at(view, name)
        return opened[1]

    def _open_at(self, view: View, name: str) -> IndexT:
        if not view.engine:
            return self._open_index(view.path / "index" / name)
        from askalike.opensearch.connection import connect
        from askalike.opensearch.names import index_name

        full_name = index_name(view.path, view.change_date(1), name)
        return self._open_cluster_index(connect(view.engine), full_name, view)

    def _index_name_of(self, view: View) -> str:
        name = self._index_name(view)
        if not view.before and not view.group:
            return name
        return f"{name}-{hashlib.sha256(f'{view.before} {view.group}'.encode()).hexdigest()[:8]}"


def _follows_another_archive(index: CommittedIndex[Any, Any, Any, Any], view: View) -> bool:
    """Return whether an index is up to a change that the archive does not have, as its database was replaced since."""
    date = index.change_date
    return date is not None and date != view.change_date(index.change)
