"""A ranker with an index of its own, which follows the archive."""

from abc import abstractmethod
from typing import Any, Generic, Self, TypeVar

from askalike.archive.view import View
from askalike.errors import NotFittedError
from askalike.index.commits import CommittedIndex
from askalike.rankers._numbered import Numbered
from askalike.rankers._ranker import Progress

Index = TypeVar("Index", bound=CommittedIndex[Any, Any, Any])


class Indexed(Numbered, Generic[Index]):
    """Ranking by one index a view."""

    _index: Index | None = None

    def index(self, view: View, progress: Progress | None = None) -> Self:
        """Opens the view's index and brings it up to the archive's last change."""
        change = view.change
        if self._index is None or self._view != view:
            self._view, self._index = view, self._open(view)
        else:
            self._index.refresh()
        if self._index.change < change:
            self._follow(view, self._index, change, progress)
        return self

    @abstractmethod
    def _open(self, view: View) -> Index:
        """The view's index as it is."""

    @abstractmethod
    def _follow(self, view: View, index: Index, change: int, progress: Progress | None) -> None:
        """Applies what has changed in the archive since the index's change number."""

    def _committed(self) -> Index:
        if self._index is None:
            raise NotFittedError(f"{self.name}: nothing is indexed yet; call index(view) first")
        return self._index
