"""How long work shows how far it is: a function that items pass through, such as rich's `Progress.track`."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

T = TypeVar("T")


class ProgressTracker(Protocol):
    """Passes items through and shows how far they are: `track(items, total=…, description=…)`."""

    def __call__(self, sequence: Iterable[T], /, *, total: int, description: str) -> Iterable[T]:
        """The same items."""


def skip_tracking(sequence: Iterable[T], /, *, total: int, description: str) -> Iterable[T]:
    """A Track that shows nothing."""
    return sequence
