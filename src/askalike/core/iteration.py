"""Iterables: in chunks, with progress reports, and a check against single strings; values computed on first access."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, Protocol, Self, TypeVar, overload

from askalike.core.errors import InputError
from askalike.core.types import Progress

T = TypeVar("T")


class lazy_property(cached_property[T]):
    """`cached_property` without its lock, which in Python 3.11 is shared by all instances, so that threads wait.

    Threads that read the attribute of one object at the same time may each compute it.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | T:
        if instance is None:
            return self
        value = instance.__dict__[str(self.attrname)] = self.func(instance)
        return value


class LazyShares(Mapping[str, float]):
    """Name → number, computed when it is first read: of many explanations only a few are shown in full."""

    def __init__(self, compute: Callable[[], Mapping[str, float]]) -> None:
        self._compute = compute

    @lazy_property
    def _shares(self) -> Mapping[str, float]:
        return self._compute()

    def __getitem__(self, name: str) -> float:
        return self._shares[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shares)

    def __len__(self) -> int:
        return len(self._shares)


def check_list(name: str, values: Iterable[T]) -> Iterable[T]:
    """Return the values; raise InputError for a single string, which would be iterated by letter."""
    if isinstance(values, str):
        raise InputError(f"{name}: expected a list of strings, and not one string, {values[:40]!r}")
    return values


def chunks(items: Iterable[T], size: int = 1_000) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, the last may be shorter; `itertools.batched` of Python 3.12 yields tuples."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def chunks_before_error(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`; an InputError of theirs is raised after those before it."""
    chunk: list[T] = []
    try:
        for item in items:
            chunk.append(item)
            if len(chunk) == size:
                full, chunk = chunk, []
                yield full
    except InputError:
        yield chunk
        raise
    yield chunk


def remaining_chunks(items: Collection[T], size: int, done: int, progress: Progress | None = None) -> Iterator[list[T]]:
    """Yield the chunks after the first `done`, and report the number of items after each."""
    for number, chunk in islice(enumerate(chunks(items, size), 1), done, None):
        yield chunk
        if progress:
            progress(min(number * size, len(items)), len(items))


class ProgressTracker(Protocol):
    """Yields items and shows the progress, as `rich.progress.Progress.track` does."""

    def __call__(self, sequence: Iterable[T], /, *, total: int, description: str) -> Iterable[T]:
        """Return the same items."""


def skip_tracking(sequence: Iterable[T], /, *, total: int, description: str) -> Iterable[T]:
    """Return the items without showing progress: the default ProgressTracker."""
    return sequence
