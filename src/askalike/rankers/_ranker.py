"""What a ranker is: its settings and what it has learned. Opened on a view of an archive, it gives a `Searcher`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from askalike.rankers._searcher import Searcher
from askalike.store import View
from askalike.types import Progress


class Ranker(ABC):
    """Settings and what was learned. A ranker holds no archive: `build` writes its index of one, `open` reads it."""

    name: str
    """The name it was asked for by."""

    @classmethod
    @abstractmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> "Ranker":
        """The ranker of that name with these settings. Raises SettingsError, naming every setting that is wrong.

        archive: the directory of the archive whose `models/` hold trained rankers.
        """

    @property
    @abstractmethod
    def values(self) -> Mapping[str, Any]:
        """All its settings, the defaults included: `rankers.create(name, values)` makes the same ranker."""

    @property
    def fingerprint(self) -> str:
        """A digest of what it has learned; empty for a ranker that has learned nothing."""
        return ""

    @property
    def trained_until(self) -> str | None:
        """The ISO date of the newest text or link in its training data; None if it is untrained.

        A replay refuses a ranker that has learned from later than the moment it is asked at.
        """
        return None

    def fit(self, view: View) -> Self:
        """Learn from the view's texts and links, and return itself. A ranker with nothing to learn does nothing."""
        return self

    def build(self, view: View, progress: Progress | None = None) -> None:  # noqa: B027 (not every ranker has an index)
        """Write the view's index, or apply what has changed in the archive since it was written.

        Raises IndexBusyError where another process is writing it.
        """

    @abstractmethod
    def open(self, view: View) -> Searcher:
        """Open the view's index as it was last committed."""

    def index_paths(self, view: View) -> Sequence[Path]:
        """The directories of its indexes of a view; empty for a ranker without one."""
        return ()


@runtime_checkable
class Tunable(Protocol):
    """A ranker that declares which of its settings are worth trying, the defaults first."""

    @property
    def grids(self) -> Sequence[Mapping[str, Sequence[Any]]]:
        """Setting → values; several grids are searched one after the other."""
