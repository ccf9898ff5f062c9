"""One thing at a time: iterables in chunks, reports of progress, and values computed when they are first read."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import islice
from typing import Any, Protocol, Self, TypeVar, overload

from askalike.core.errors import InputError
from askalike.core.values import format_duration

T = TypeVar("T")
LogCallback = Callable[[str], None]
"""Called with a line of progress text."""
Progress = Callable[[int, int], None]
"""Called during work, with the number of rows done and the total."""
OpenBar = Callable[[str], AbstractContextManager[Progress | None]]
"""Opens a progress bar with a description; bars may be nested."""
REPORT_S = 10
"""The pause between two lines of progress."""


def check_list(name: str, values: Iterable[T]) -> Iterable[T]:
    """Return the values; raise InputError for a single value, as a string would be iterated by letter."""
    if not isinstance(values, Iterable):
        raise InputError(f"{name}: expected a list, and not one value, {values!r:.80}")
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


def remaining_chunks(items: Collection[T], size: int, done: int, progress: Progress | None) -> Iterator[list[T]]:
    """Yield the chunks after the first `done`, and report the number of items after each."""
    for number, chunk in islice(enumerate(chunks(items, size), 1), done, None):
        yield chunk
        if progress:
            progress(min(number * size, len(items)), len(items))


def log_progress(template: str, log: LogCallback) -> Progress:
    """Return a callback that logs what is done and the time left every REPORT_S. template: takes done and total."""
    reported = last = 0
    reported_at = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last, reported, reported_at
        now = time.monotonic()
        if done < last:  # another pass
            reported, reported_at = done, now
        elif now - reported_at >= REPORT_S and reported < done < total:
            left = format_duration((now - reported_at) * (total - done) / (done - reported))
            log(f"{template.format(done, total)}; about {left} left")
            reported, reported_at = done, now
        last = done

    return report


class ProgressTracker(Protocol):
    """Yields items and shows the progress, as `rich.progress.Progress.track` does."""

    def __call__(self, sequence: Iterable[T], /, *, total: int, description: str) -> Iterable[T]:
        """Return the same items."""


def skip_tracking(sequence: Iterable[T], /, *, total: int, description: str) -> Iterable[T]:
    """Return the items without showing progress: the default ProgressTracker."""
    return sequence


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
