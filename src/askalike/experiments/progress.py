"""How an experiment shows how far it is: whoever runs it may open a bar for each thing it does."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from askalike.store.tracking import ProgressTracker, T
from askalike.types import Progress

OpenBar = Callable[[str], AbstractContextManager[Progress | None]]
"""Opens a bar, given what is being done; bars may lie within each other."""

REPORT_EVERY = 500


@contextmanager
def no_bar(description: str) -> Iterator[None]:
    """A Watch that shows nothing."""
    yield None


def track_with_bars(open_bar: OpenBar) -> ProgressTracker:
    """A Track that shows its items in the bars of a Watch."""

    def track(sequence: Iterable[T], /, *, total: int, description: str) -> Iterable[T]:
        with open_bar(description) as report:
            for done, item in enumerate(sequence, 1):
                yield item
                if report and (done % REPORT_EVERY == 0 or done == total):
                    report(done, total)

    return track
