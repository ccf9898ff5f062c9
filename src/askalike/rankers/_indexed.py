"""A ranker with an index of its own, which follows the archive."""

from abc import abstractmethod
from typing import Any, Generic, Self, TypeVar

from askalike.errors import NotFittedError
from askalike.index.commits import CommittedIndex
from askalike.rankers._numbered import DocidRanker
from askalike.store.view import View
from askalike.types import Progress

IndexT = TypeVar("IndexT", bound=CommittedIndex[Any, Any, Any])


class IndexedRanker(DocidRanker, Generic[IndexT]):
    """Ranking by one index a view."""

    _index: IndexT | None = None

    def build(self, view: View, progress: Progress | None = None) -> Self:
        """Opens the view's index and brings it up to the archive's last change."""
        change = view.change
        if self._index is None or self._view != view:
            self._view, self._index = view, self._open_index(view)
        else:
            self._index.refresh()
        if self._index.change < change:
            self._apply_changes(view, self._index, change, progress)
        return self

    @abstractmethod
    def _open_index(self, view: View) -> IndexT:
        """The view's index as it is."""

    @abstractmethod
    def _apply_changes(self, view: View, index: IndexT, change: int, progress: Progress | None) -> None:
        """Applies what has changed in the archive since the index's change number."""

    def _require_index(self) -> IndexT:
        if self._index is None:
            raise NotFittedError(f"{self.name}: nothing is indexed yet; call index(view) first")
        return self._index
