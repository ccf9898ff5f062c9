"""Iterables in chunks, and iterables whose progress is shown."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Protocol, TypeVar

T = TypeVar("T")


def chunks(items: Iterable[T], size: int = 1_000) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, the last one shorter; `itertools.batched` of Python 3.12, with lists."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


class ProgressTracker(Protocol):
    """Passes items through and shows the progress, as `rich.progress.Progress.track` does."""

    def __call__(self, sequence: Iterable[T], /, *, total: int, description: str) -> Iterable[T]:
        """Return the same items."""


def skip_tracking(sequence: Iterable[T], /, *, total: int, description: str) -> Iterable[T]:
    """Return the items without showing anything: the ProgressTracker for nobody watching."""
    return sequence
